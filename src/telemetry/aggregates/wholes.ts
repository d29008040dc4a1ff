import { type Columns, cellAt } from '../../core/columns.ts';
import { type Amount, addFact, type Countable, nothing, SUMS } from './amount.ts';
import { COMBINED, CORE, CORE_DIMENSIONS, type Kind, type MetadataCube, metadataCube, TOTAL } from './cubes.ts';
import {
  chosenValue,
  DIMENSIONS,
  type Dimension,
  FACT_COLUMNS,
  type Fact,
  factColumns,
  type Source,
  type Value,
} from './fact.ts';
import { MINUTE_MS } from './grains.ts';
import { addPairs, pairsOf } from './histogram.ts';

/** Entries of one bucket that have everything in common. */
export interface Whole {
  /** What they have in common, as JSON: organisation, workspace, dimensions, metadata. */
  readonly text: string;
  readonly bucket: number;
  readonly amount: Amount;
}
export type Wholes = Map<string, Whole>;

const SHARED = [
  'organisation_id',
  'workspace_id',
  ...DIMENSIONS,
  'metadata',
] as const satisfies readonly (keyof Fact)[];
const AT = Object.fromEntries(FACT_COLUMNS.map((name, at) => [name, at])) as Record<keyof Fact, number>;

export function wholeIn(wholes: Wholes, text: string, bucket: number): Amount {
  const key = `${bucket}${text}`;
  let whole = wholes.get(key);
  if (!whole) {
    whole = { text, bucket, amount: nothing() };
    wholes.set(key, whole);
  }
  return whole.amount;
}

/**
 * Minutes of what is in these columns, added to those there are. Only columns in which entries differ are looked at for
 * each of them, and most calls are like the one before.
 */
export function wholesIn(columns: Columns, count: number, wholes: Wholes = new Map()): Wholes {
  const differing = SHARED.map((name) => columns[AT[name]]!).filter(isDiffering);
  const factAt = countableIn(columns);
  let [text, bucket] = ['', Number.NaN];
  let amount: Amount | null = null;
  for (let row = 0; row < count; row++) {
    const fact = factAt(row);
    const minute = Math.floor(fact.at / MINUTE_MS);
    let isAlike = row > 0;
    for (let at = 0; at < differing.length && isAlike; at++) isAlike = differing[at]![row] === differing[at]![row - 1];
    if (!isAlike) text = JSON.stringify(SHARED.map((name) => cellAt(columns[AT[name]]!, row)));
    if (!isAlike || minute !== bucket) amount = wholeIn(wholes, text, minute);
    bucket = minute;
    addFact(amount!, fact);
  }
  return wholes;
}

/** What is counted of each row. */
function countableIn(columns: Columns): (row: number) => Countable {
  const columnOf = <Name extends keyof Countable>(name: Name) => columns[AT[name]] as readonly Countable[Name][];
  const [at, times, cost, duration, first_byte] = [
    columnOf('at'),
    columnOf('times'),
    columnOf('cost'),
    columnOf('duration'),
    columnOf('first_byte'),
  ];
  const [input_tokens, output_tokens, total_tokens] = [
    columnOf('input_tokens'),
    columnOf('output_tokens'),
    columnOf('total_tokens'),
  ];
  const [cached_tokens, reasoning_tokens] = [columnOf('cached_tokens'), columnOf('reasoning_tokens')];
  const [request_bytes, response_bytes] = [columnOf('request_bytes'), columnOf('response_bytes')];
  const [status, failed_by, provider] = [columnOf('status'), columnOf('failed_by'), columnOf('provider')];
  return (row) => ({
    at: cellAt(at, row),
    times: cellAt(times, row),
    status: cellAt(status, row),
    failed_by: cellAt(failed_by, row),
    provider: cellAt(provider, row),
    cost: cellAt(cost, row),
    input_tokens: cellAt(input_tokens, row),
    output_tokens: cellAt(output_tokens, row),
    total_tokens: cellAt(total_tokens, row),
    cached_tokens: cellAt(cached_tokens, row),
    reasoning_tokens: cellAt(reasoning_tokens, row),
    request_bytes: cellAt(request_bytes, row),
    response_bytes: cellAt(response_bytes, row),
    duration: cellAt(duration, row),
    first_byte: cellAt(first_byte, row),
  });
}

const isDiffering = (column: readonly unknown[]): boolean => column.some((cell) => cell !== column[0]);

export const wholesOf = (
  rows: readonly Source[],
  keys: readonly string[],
  times: 1 | -1 = 1,
  wholes?: Wholes,
): Wholes =>
  wholesIn(
    factColumns((name) => rows.map((row) => row[name]), keys, times),
    rows.length,
    wholes,
  );

type PackedWhole = readonly [
  shared: unknown[],
  bucket: number,
  durations: number[],
  firstBytes: number[],
  ...sums: number[],
];

/** What they share is put in as it is, and not as a text within the text: PostgreSQL cannot hold all of it (`plainText`). */
export function packWholes(wholes: Wholes): string {
  let packed = '';
  for (const { text, bucket, amount } of wholes.values()) {
    packed += `${packed === '' ? '[' : ','}[${text},${bucket},${pairsOf(amount.durations)},${pairsOf(amount.firstBytes)}`;
    for (const name of SUMS) packed += `,${amount.sums[name]}`;
    packed += ']';
  }
  return `${packed || '['}]`;
}

export function unpackWholes(packed: string, wholes: Wholes = new Map()): Wholes {
  for (const [shared, bucket, durations, firstBytes, ...sums] of JSON.parse(packed) as PackedWhole[]) {
    const amount = wholeIn(wholes, JSON.stringify(shared), bucket);
    for (let at = 0; at < SUMS.length; at++) amount.sums[SUMS[at]!] += sums[at]!;
    addPairs(amount.durations, durations);
    addPairs(amount.firstBytes, firstBytes);
  }
  return wholes;
}

/** What entries have in common, taken apart. */
export interface Shared {
  readonly organisationId: string | null;
  readonly workspaceId: string | null;
  readonly values: Readonly<Record<Dimension, Value>>;
  readonly metadata: string | null;
}

export function sharedIn(text: string): Shared {
  const [organisationId, workspaceId, ...values] = JSON.parse(text) as [string | null, string | null, ...Value[]];
  return {
    organisationId,
    workspaceId,
    values: Object.fromEntries(DIMENSIONS.map((name, at) => [name, values[at]!])) as Record<Dimension, Value>,
    metadata: values[DIMENSIONS.length] as string | null,
  };
}

export const sharedValue = ({ values, metadata }: Shared, name: Dimension | MetadataCube): Value =>
  name.startsWith('metadata.') ? chosenValue(metadata, name.slice('metadata.'.length)) : values[name as Dimension];

/** The kinds that entries count for. */
export interface Kinds {
  readonly total: Kind;
  readonly core: Kind;
  readonly combined: Kind;
  readonly user: Kind;
  readonly metadata: readonly Kind[];
  /** Those of the core. */
  readonly dimensions: () => readonly Kind[];
}

export function kindsOf({ organisationId, workspaceId, values, metadata }: Shared, keys: readonly string[]): Kinds {
  const of = (cube: Kind['cube'], own: readonly Value[]): Kind => ({ cube, organisationId, workspaceId, values: own });
  return {
    total: of(TOTAL, []),
    core: of(
      CORE,
      CORE_DIMENSIONS.map((name) => values[name]),
    ),
    combined: of(COMBINED, [metadata]),
    user: of('user_id', [values.user_id]),
    dimensions: () => CORE_DIMENSIONS.map((name) => of(name, [values[name]])),
    metadata: keys.map((key) => of(metadataCube(key), [chosenValue(metadata, key)])),
  };
}
