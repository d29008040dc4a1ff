import { BoundedMap } from '../../core/bounded-map.ts';
import type { Columns } from '../../core/columns.ts';
import { NANO_DOLLARS } from '../../core/money.ts';
import type { PackedAttempts } from '../attempts.ts';
import type { LogRow } from '../log-columns.ts';
import { labelsOf } from '../log-labels.ts';

/** By what entries are told apart in figures, beside their workspace and the chosen keys of their metadata. */
export const DIMENSIONS = [
  'api_key_id',
  'user_id',
  'virtual_key',
  'provider',
  'model',
  'endpoint',
  'status',
  'failed_by',
  'error_code',
  'is_stream',
  'verdict',
  'cache_status',
] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export type Value = string | number | null;

/** What an entry of the log adds to the figures; `times` is -1 where it is taken away again. */
export type Fact = Readonly<Record<Dimension, Value>> & {
  readonly at: number;
  readonly times: number;
  readonly organisation_id: string | null;
  readonly workspace_id: string | null;
  /** The chosen keys that it has, as JSON. */
  readonly metadata: string | null;
  /** Billionths of a US dollar, as the ledger counts; null: the price or the usage is unknown. */
  readonly cost: number | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly total_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly reasoning_tokens: number | null;
  readonly request_bytes: number;
  readonly response_bytes: number;
  /** Microseconds, which the log rounds to. */
  readonly duration: number;
  readonly first_byte: number | null;
};

export const FACT_COLUMNS = [
  ...DIMENSIONS,
  'at',
  'times',
  'organisation_id',
  'workspace_id',
  'metadata',
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
] as const satisfies readonly (keyof Fact)[];

/** The columns of an entry that its fact is made of. */
export const FACT_SOURCES = [
  'id',
  'created_at',
  'organisation_id',
  'workspace_id',
  'api_key_id',
  'user_id',
  'virtual_key',
  'provider',
  'model',
  'path',
  'status',
  'failed_by',
  'error_code',
  'is_stream',
  'request_bytes',
  'response_bytes',
  'first_byte_ms',
  'duration_ms',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'cost',
  'metadata',
  'hook_results',
  'attempts',
] as const satisfies readonly (keyof LogRow)[];
export type Source = Pick<LogRow, (typeof FACT_SOURCES)[number]>;

type Column = readonly unknown[];

export const micros = (ms: unknown): number | null =>
  ms === null ? null : Math.max(0, Math.round(Number(ms) * 1_000));
export const nanos = (cost: unknown): number | null => (cost === null ? null : Math.round(Number(cost) * NANO_DOLLARS));

/** What is not taken from the log as it is. */
const MADE: Readonly<
  Record<string, { readonly from: (typeof FACT_SOURCES)[number]; readonly make: (cell: unknown) => unknown }>
> = {
  at: { from: 'created_at', make: (at) => at },
  endpoint: { from: 'path', make: (path) => endpointOf(path as string) },
  is_stream: { from: 'is_stream', make: Number },
  verdict: { from: 'hook_results', make: (results) => verdictOf(results as string | null) },
  cache_status: { from: 'attempts', make: (attempts) => cacheStatusOf(attempts as string | null) },
  cost: { from: 'cost', make: nanos },
  duration: { from: 'duration_ms', make: micros },
  first_byte: { from: 'first_byte_ms', make: micros },
};

/** Column by column, because what entries have in common is worked out once then. */
export function factColumns(
  columnOf: (name: (typeof FACT_SOURCES)[number]) => Column,
  keys: readonly string[],
  times: 1 | -1 = 1,
): Columns {
  return FACT_COLUMNS.map((name) => {
    if (name === 'times') return [times];
    if (name === 'metadata') return columnOf(name).map(remembering((text) => chosenOf(text as string | null, keys)));
    const made = MADE[name];
    return made ? columnOf(made.from).map(made.make) : columnOf(name as (typeof FACT_SOURCES)[number]);
  });
}

/** Most have the same metadata as others of their batch. */
function remembering<Made>(make: (cell: unknown) => Made): (cell: unknown) => Made {
  const made = new Map<unknown, Made>();
  return (cell) => {
    let known = made.get(cell);
    if (known === undefined) {
      known = make(cell);
      made.set(cell, known);
    }
    return known;
  };
}

function chosenOf(metadata: string | null, keys: readonly string[]): string | null {
  if (metadata === null || keys.length === 0) return null;
  const labels = new Map(labelsOf({ metadata }));
  const chosen = keys.flatMap((key): [string, string][] => (labels.has(key) ? [[key, labels.get(key)!]] : []));
  return chosen.length > 0 ? JSON.stringify(chosen) : null;
}

/** Stands for values that are too many to be told apart (`guard.ts`). */
export const OTHER = '(other)';

/** The value of a chosen key. */
export function chosenValue(metadata: string | null, key: string): string | null {
  if (metadata === null || metadata === OTHER) return metadata;
  return (JSON.parse(metadata) as [string, string][]).find(([name]) => name === key)?.[1] ?? null;
}

const LONGEST_ENDPOINT = 128;
/** Names of routes are words; what else stands in a path is an id, a slug or a model. */
const WORD = /^(?:v\d+[a-z]*|[a-z]+(?:[-_.][a-z]+)*)$/i;
const ACTION = /:([a-z]+)$/i;
export const ANY = '*';

/** The path without its query; an asterisk stands where calls name a thing of theirs. */
export function endpointOf(path: string): string {
  const known = endpoints.get(path);
  if (known !== undefined) return known;
  const end = path.indexOf('?');
  const plain = end < 0 ? path : path.slice(0, end);
  const shown = plain
    .split('/')
    .map((part) => (part === '' || WORD.test(part) ? part : `${ANY}${ACTION.exec(part)?.[0] ?? ''}`))
    .join('/')
    .slice(0, LONGEST_ENDPOINT);
  endpoints.set(path, shown);
  return shown;
}

/** Most calls have the same few paths. */
const endpoints = new BoundedMap<string, string>(1_000);

interface Judged {
  readonly verdict?: boolean | null;
  readonly deny?: boolean;
}

/** What guardrails came to; null where none looked. */
export function verdictOf(results: string | null): 'passed' | 'failed' | 'denied' | null {
  if (results === null) return null;
  if (!results.includes('"verdict":false')) return 'passed';
  const { before_request_hooks: before = [], after_request_hooks: after = [] } = JSON.parse(results) as {
    before_request_hooks?: readonly Judged[];
    after_request_hooks?: readonly Judged[];
  };
  const failed = [...before, ...after].filter(({ verdict }) => verdict === false);
  return failed.some(({ deny }) => deny) ? 'denied' : failed.length > 0 ? 'failed' : 'passed';
}

/** What the cache said last; null where none was asked. */
export function cacheStatusOf(attempts: string | null): string | null {
  // Nearly every call makes one attempt without a cache, which is packed as a list.
  if (attempts === null || attempts.startsWith('[') || !attempts.includes('"cache":')) return null;
  const packed = JSON.parse(attempts) as Exclude<PackedAttempts, readonly unknown[]>;
  return (packed.cache ?? packed.attempts?.findLast(({ cache }) => cache !== undefined)?.cache)?.[0] ?? null;
}
