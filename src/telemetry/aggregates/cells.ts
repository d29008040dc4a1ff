import { chosenValue, DIMENSIONS, type Dimension, type Fact, type Value } from './fact.ts';
import { addAll, bucketOf, count, type Histogram } from './histogram.ts';

/** Figures are kept by the minute, the hour and the day; the number is what the table calls it. */
export const GRAINS = [
  { name: 'minutes', ms: 60_000 },
  { name: 'hours', ms: 3_600_000 },
  { name: 'days', ms: 86_400_000 },
] as const;
export type GrainName = (typeof GRAINS)[number]['name'];

/** What is added up in a cell; whole numbers, so that sums are exact. */
export const SUMS = [
  'calls',
  'errors',
  'client_errors',
  'gateway_errors',
  'provider_errors',
  'unpriced',
  'cost',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'request_bytes',
  'response_bytes',
  'duration',
  'first_byte',
  'first_bytes',
] as const;
export type Sum = (typeof SUMS)[number];

/** What some entries amount to. */
export interface Amount {
  readonly sums: Record<Sum, number>;
  readonly durations: Histogram;
  readonly firstBytes: Histogram;
}

const noSums = () => Object.fromEntries(SUMS.map((name) => [name, 0])) as Record<Sum, number>;
export const nothing = (): Amount => ({ sums: noSums(), durations: new Map(), firstBytes: new Map() });

export const hasFailed = ({ status, failed_by }: Pick<Fact, 'status' | 'failed_by'>): boolean =>
  Number(status) >= 400 || failed_by !== null;

export const isUnpriced = ({ cost, provider }: Pick<Fact, 'cost' | 'provider'>): boolean =>
  cost === null && provider !== null;

export function addFact({ sums, durations, firstBytes }: Amount, fact: Fact): void {
  const { times } = fact;
  sums.calls += times;
  if (hasFailed(fact)) sums.errors += times;
  if (fact.failed_by === 'client') sums.client_errors += times;
  else if (fact.failed_by === 'gateway') sums.gateway_errors += times;
  else if (fact.failed_by === 'provider') sums.provider_errors += times;
  if (isUnpriced(fact)) sums.unpriced += times;
  sums.cost += times * (fact.cost ?? 0);
  sums.input_tokens += times * (fact.input_tokens ?? 0);
  sums.output_tokens += times * (fact.output_tokens ?? 0);
  sums.total_tokens += times * (fact.total_tokens ?? 0);
  sums.cached_tokens += times * (fact.cached_tokens ?? 0);
  sums.reasoning_tokens += times * (fact.reasoning_tokens ?? 0);
  sums.request_bytes += times * fact.request_bytes;
  sums.response_bytes += times * fact.response_bytes;
  sums.duration += times * fact.duration;
  count(durations, bucketOf(fact.duration), times);
  if (fact.first_byte === null) return;
  sums.first_byte += times * fact.first_byte;
  sums.first_bytes += times;
  count(firstBytes, bucketOf(fact.first_byte), times);
}

export function addAmount(amount: Amount, other: Amount): void {
  for (const name of SUMS) amount.sums[name] += other.sums[name];
  addAll(amount.durations, other.durations);
  addAll(amount.firstBytes, other.firstBytes);
}

/** All dimensions of an entry together; the finest there is. */
export const WHOLE = '*';
/** A workspace alone. */
export const TOTAL = '';
export type Cube = typeof WHOLE | typeof TOTAL | Dimension | `metadata.${string}`;

/**
 * What the entries of a cell have in common. Entries are counted as a whole, in their workspace, and once by each
 * dimension: nearly every question is about one of them, and is answered from few cells.
 */
export interface Kind {
  readonly cube: Cube;
  readonly organisationId: string | null;
  readonly workspaceId: string | null;
  /** Of the dimension of the cube; of all of them, and then the metadata, when it is the whole. */
  readonly values: readonly Value[];
}

export const METADATA_AT = DIMENSIONS.length;

export const wholeOf = (fact: Fact): Kind => ({
  cube: WHOLE,
  organisationId: fact.organisation_id,
  workspaceId: fact.workspace_id,
  values: [...DIMENSIONS.map((name) => fact[name]), fact.metadata],
});

/** The smaller cubes that a whole is counted in, too. */
export function partsOf({ organisationId, workspaceId, values }: Kind, keys: readonly string[]): Kind[] {
  const part = (cube: Cube, of: readonly Value[]): Kind => ({ cube, organisationId, workspaceId, values: of });
  const metadata = values[METADATA_AT] as string | null;
  return [
    part(TOTAL, []),
    ...DIMENSIONS.map((name, at) => part(name, [values[at]!])),
    ...keys.map((key) => part(`metadata.${key}`, [chosenValue(metadata, key)])),
  ];
}

export const textOfKind = ({ cube, organisationId, workspaceId, values }: Kind): string =>
  JSON.stringify([cube, organisationId, workspaceId, ...values]);

export function kindOf(text: string): Kind {
  const [cube, organisationId, workspaceId, ...values] = JSON.parse(text) as [Cube, string | null, string | null];
  return { cube, organisationId, workspaceId, values };
}

/** Entries of one kind in one minute. */
export interface Cell {
  /** Of its kind. */
  readonly text: string;
  readonly bucket: number;
  readonly amount: Amount;
}

/** Minutes of whole kinds, added to those there are. */
export function wholesOf(facts: Iterable<Fact>, cells = new Map<string, Cell>()): Map<string, Cell> {
  let last: Fact | null = null;
  let text = '';
  for (const fact of facts) {
    // Most calls are of the kind of the one before.
    if (last === null || !isSameKind(last, fact)) text = textOfKind(wholeOf(fact));
    last = fact;
    addFact(cellIn(cells, text, Math.floor(fact.at / GRAINS[0].ms)).amount, fact);
  }
  return cells;
}

const isSameKind = (one: Fact, other: Fact): boolean =>
  one.organisation_id === other.organisation_id &&
  one.workspace_id === other.workspace_id &&
  one.metadata === other.metadata &&
  DIMENSIONS.every((name) => one[name] === other[name]);

export function cellIn(cells: Map<string, Cell>, text: string, bucket: number): Cell {
  const key = `${bucket}${text}`;
  let cell = cells.get(key);
  if (!cell) {
    cell = { text, bucket, amount: nothing() };
    cells.set(key, cell);
  }
  return cell;
}

/** For each whole kind, its own text and those of the smaller cubes. */
export function textsOf(wholes: Iterable<Cell>, keys: readonly string[]): Map<string, readonly string[]> {
  const texts = new Map<string, readonly string[]>();
  for (const { text } of wholes)
    if (!texts.has(text)) texts.set(text, [text, ...partsOf(kindOf(text), keys).map(textOfKind)]);
  return texts;
}

/** The same cells and those of the smaller cubes, by the minute, the hour and the day. */
export function spread(wholes: Iterable<Cell>, texts: ReadonlyMap<string, readonly string[]>): Map<string, Cell>[] {
  const grains = GRAINS.map(() => new Map<string, Cell>());
  for (const { text, bucket, amount } of wholes)
    for (const each of texts.get(text)!) addAmount(cellIn(grains[0]!, each, bucket).amount, amount);
  for (let grain = 1; grain < GRAINS.length; grain++) {
    const scale = GRAINS[grain]!.ms / GRAINS[grain - 1]!.ms;
    for (const { text, bucket, amount } of grains[grain - 1]!.values())
      addAmount(cellIn(grains[grain]!, text, Math.floor(bucket / scale)).amount, amount);
  }
  return grains;
}
