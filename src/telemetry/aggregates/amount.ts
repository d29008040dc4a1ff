import type { Fact } from './fact.ts';
import { addAll, bucketOf, count, type Histogram, Spectrum } from './histogram.ts';

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

/** Written out: objects that are made of a list are much slower to add to. */
const noSums = (): Record<Sum, number> => ({
  calls: 0,
  errors: 0,
  client_errors: 0,
  gateway_errors: 0,
  provider_errors: 0,
  unpriced: 0,
  cost: 0,
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  request_bytes: 0,
  response_bytes: 0,
  duration: 0,
  first_byte: 0,
  first_bytes: 0,
});
export const nothing = (): Amount => ({ sums: noSums(), durations: new Map(), firstBytes: new Map() });

/** For those who add up much. */
export const nothingYet = (): Amount => ({ sums: noSums(), durations: new Spectrum(), firstBytes: new Spectrum() });

export const hasFailed = ({ status, failed_by }: Pick<Fact, 'status' | 'failed_by'>): boolean =>
  Number(status) >= 400 || failed_by !== null;

export const isUnpriced = ({ cost, provider }: Pick<Fact, 'cost' | 'provider'>): boolean =>
  cost === null && provider !== null;

/** What of an entry is added up. */
export type Countable = Pick<
  Fact,
  | ('at' | 'times' | 'status' | 'failed_by' | 'provider' | 'cost' | 'duration' | 'first_byte')
  | (`${'input' | 'output' | 'total' | 'cached' | 'reasoning'}_tokens` | `${'request' | 'response'}_bytes`)
>;

export function addFact({ sums, durations, firstBytes }: Amount, fact: Countable): void {
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

export const copyOf = ({ sums, durations, firstBytes }: Amount): Amount => ({
  sums: { ...sums },
  durations: new Map(durations),
  firstBytes: new Map(firstBytes),
});

export function addAmount(amount: Amount, other: Amount): void {
  for (const name of SUMS) amount.sums[name] += other.sums[name];
  addAll(amount.durations, other.durations);
  addAll(amount.firstBytes, other.firstBytes);
}
