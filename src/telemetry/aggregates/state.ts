import { GRAINS, type GrainName, MINUTES } from './grains.ts';
import type { Layout } from './layout.ts';

/** How far figures are kept; moments are milliseconds since the epoch. */
export interface State {
  /** From here on, every entry is counted. */
  readonly countedFrom: number;
  /** What guardrails came to is counted from here on. */
  readonly guardrailsFrom: number;
  /** By a key of metadata, from here on. */
  readonly metadata: ReadonlyMap<string, number>;
  /** Cells from before are gone. */
  readonly prunedBefore: Readonly<Record<GrainName, number>>;
  /** Cells from before have been made of shorter ones, and are added to when an entry comes late. */
  readonly rolledBefore: Readonly<Record<GrainName, number>>;
  /** Digests of cells from here on have been made, and are added to with them. */
  readonly digestedFrom: Readonly<Record<GrainName, number>>;
  /** From this moment on digests may be made, and columns narrow: all nodes know both. */
  readonly digestsBegin: number;
  /** Entries from before are gone from the log. */
  readonly logPrunedBefore: number;
  /** How often kinds were renamed or deleted; who remembers some has to look again. */
  readonly kindsChanged: number;
  /** How chunks are written: nodes of the version before, which cannot read the newer way, may be at work for a while. */
  readonly layout: Layout;
}

export const digestsBegin = 'digests_begin';
export const digestedState = (grain: GrainName): string => `digested_${grain}`;
const METADATA = 'metadata.';
export const metadataState = (key: string): string => `${METADATA}${key}`;

export function stateIn(rows: readonly { readonly name: string; readonly value: number }[]): State {
  const values = new Map(rows.map(({ name, value }) => [name, Number(value)]));
  const of = (name: string) => values.get(name) ?? 0;
  const metadata = [...values].flatMap(([name, value]): [string, number][] =>
    name.startsWith(METADATA) ? [[name.slice(METADATA.length), value]] : [],
  );
  return {
    countedFrom: of('counted_from'),
    guardrailsFrom: of('guardrails_from'),
    metadata: new Map(metadata),
    prunedBefore: byGrain((name) => of(`pruned_${name}`)),
    rolledBefore: byGrain((name) => (name === 'minutes' ? Number.POSITIVE_INFINITY : of(`rolled_${name}`))),
    digestedFrom: byGrain((name) => values.get(digestedState(name)) ?? Number.POSITIVE_INFINITY),
    digestsBegin: of(digestsBegin),
    logPrunedBefore: of('log_pruned'),
    kindsChanged: of('kinds_changed'),
    layout: layoutAt(Date.now(), { inRunsFrom: of('in_runs_from'), narrowFrom: of(digestsBegin) }),
  };
}

const layoutAt = (
  now: number,
  { inRunsFrom, narrowFrom }: { readonly inRunsFrom: number; readonly narrowFrom: number },
) => (now < inRunsFrom ? 'plain' : now < narrowFrom ? 'in runs' : 'in narrow runs');

/** Of which shorter buckets one is made: the longest that were kept already when it began. */
export const finerThan = (grain: number, begins: number, { prunedBefore }: State): number =>
  Math.max(
    MINUTES,
    GRAINS.findLastIndex(({ name }, at) => at < grain && begins >= prunedBefore[name]),
  );

const byGrain = (momentOf: (name: GrainName) => number) =>
  Object.fromEntries(GRAINS.map(({ name }) => [name, momentOf(name)])) as Record<GrainName, number>;
