import type { GrainName } from './cells.ts';

/** How far figures are kept; moments are milliseconds since the epoch. */
export interface State {
  /** From here on, every entry is counted. */
  readonly countedFrom: number;
  /** By a key of metadata, from here on. */
  readonly metadata: ReadonlyMap<string, number>;
  /** Cells from before are gone. */
  readonly prunedBefore: Readonly<Record<GrainName, number>>;
  /** Entries from before are gone from the log. */
  readonly logPrunedBefore: number;
  /** How often kinds were renamed or deleted; who remembers some has to look again. */
  readonly kindsChanged: number;
}

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
    metadata: new Map(metadata),
    prunedBefore: { minutes: of('pruned_minutes'), hours: of('pruned_hours'), days: of('pruned_days') },
    logPrunedBefore: of('log_pruned'),
    kindsChanged: of('kinds_changed'),
  };
}
