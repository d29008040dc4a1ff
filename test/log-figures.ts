import { expect } from 'bun:test';
import { bucketOf, middleOf } from '../src/telemetry/aggregates/histogram.ts';
import type { LogGraphName } from '../src/telemetry/analytics/question.ts';
import type { LogRow } from '../src/telemetry/log-columns.ts';

/** What graphs and groups should say of these entries, found by looking at each of them. */

export type Entry = Omit<LogRow, 'metadata' | 'hook_results' | 'session_id' | 'attempt_count' | 'attempts'>;
type Entries = readonly Entry[];

const sum = (entries: Entries, column: 'cost' | 'duration_ms' | 'input_tokens' | 'request_bytes' | 'response_bytes') =>
  entries.reduce((total, entry) => total + Number(entry[column] ?? 0), 0);
const tokens = (entries: Entries, kind: string) => sum(entries, `${kind}_tokens` as 'input_tokens');
const failedOf = (entries: Entries) => entries.filter(({ status, failed_by }) => status >= 400 || failed_by !== null);
const usersOf = (entries: Entries) => new Set(entries.flatMap(({ user_id }) => user_id ?? []));
const unpriced = (entries: Entries) =>
  entries.filter(({ cost, provider }) => cost === null && provider !== null).length;

/** Sums of fractions differ behind the last digits that mean anything. */
export const close = (value: number | null) => (value === null ? null : expect.closeTo(value, 8));
export const share = (value: number, of: number) => close(of === 0 ? null : value / of);

export function occurrences(values: readonly number[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** The smallest value that at least so many hundredths of all do not exceed. */
const percentile = (inOrder: readonly number[], hundredths: number) =>
  inOrder[Math.ceil((hundredths * inOrder.length) / 100) - 1] ?? null;

/** What a histogram says in place of a duration; it is off by 1 % at most, and half a unit of the last digit shown. */
function near(value: number | null): number | null {
  if (value === null) return null;
  const shown = Number((middleOf(bucketOf(Math.round(value * 1_000))) / 1_000).toPrecision(4));
  expect(Math.abs(shown - value)).toBeLessThanOrEqual(value * 0.0106);
  return shown;
}

function durationsOf(values: readonly number[]) {
  const inOrder = values.toSorted((one, other) => one - other);
  const [p50, p90, p99] = [50, 90, 99].map((hundredths) => percentile(inOrder, hundredths));
  const total = values.reduce((one, other) => one + other, 0);
  const shown = { p50: near(p50!), p90: near(p90!), p99: near(p99!) };
  return { requests: values.length, avg: share(total, values.length), ...shown };
}

export const GRAPH_FIGURES: Readonly<Record<LogGraphName, (entries: Entries) => object>> = {
  all: (entries) => {
    const named = (name: string, values: readonly number[]) => {
      const { avg, p50, p90, p99 } = durationsOf(values);
      return { [`${name}_avg`]: avg, [`${name}_p50`]: p50, [`${name}_p90`]: p90, [`${name}_p99`]: p99 };
    };
    return {
      ...GRAPH_FIGURES['errors/rate'](entries),
      ...GRAPH_FIGURES['errors/origins'](entries),
      ...GRAPH_FIGURES.cost(entries),
      ...GRAPH_FIGURES.tokens(entries),
      ...GRAPH_FIGURES.bytes(entries),
      ...named(
        'latency',
        entries.map(({ duration_ms }) => duration_ms),
      ),
      ...named(
        'first_byte',
        entries.flatMap(({ first_byte_ms }) => first_byte_ms ?? []),
      ),
    };
  },
  requests: (entries) => ({ requests: entries.length }),
  cost: (entries) => ({
    requests: entries.length,
    cost: close(sum(entries, 'cost')),
    requests_without_cost: unpriced(entries),
  }),
  latency: (entries) => durationsOf(entries.map(({ duration_ms }) => duration_ms)),
  'first-byte': (entries) => durationsOf(entries.flatMap(({ first_byte_ms }) => first_byte_ms ?? [])),
  bytes: (entries) => ({
    requests: entries.length,
    request_bytes: sum(entries, 'request_bytes'),
    response_bytes: sum(entries, 'response_bytes'),
  }),
  tokens: (entries) => ({
    requests: entries.length,
    input_tokens: tokens(entries, 'input'),
    output_tokens: tokens(entries, 'output'),
    total_tokens: tokens(entries, 'total'),
    cached_tokens: tokens(entries, 'cached'),
    reasoning_tokens: tokens(entries, 'reasoning'),
  }),
  users: (entries) => ({ users: usersOf(entries).size }),
  'users/requests': (entries) => {
    const users = usersOf(entries).size;
    const requests = entries.filter(({ user_id }) => user_id !== null).length;
    return { users, requests, requests_per_user: share(requests, users) };
  },
  errors: (entries) => ({ errors: failedOf(entries).length }),
  'errors/rate': (entries) => {
    const [requests, errors] = [entries.length, failedOf(entries).length];
    return { requests, errors, error_rate: share(errors, requests) };
  },
  'errors/origins': (entries) => {
    const from = (origin: string) => entries.filter(({ failed_by }) => failed_by === origin).length;
    return {
      errors: failedOf(entries).length,
      client_errors: from('client'),
      gateway_errors: from('gateway'),
      provider_errors: from('provider'),
    };
  },
  'errors/status-codes': (entries) => ({
    errors: failedOf(entries).length,
    status_codes: occurrences(failedOf(entries).map(({ status }) => status)),
  }),
};

export const groupFigures = (entries: Entries) => ({
  requests: entries.length,
  errors: failedOf(entries).length,
  cost: close(sum(entries, 'cost')),
  requests_without_cost: unpriced(entries),
  input_tokens: tokens(entries, 'input'),
  output_tokens: tokens(entries, 'output'),
  total_tokens: tokens(entries, 'total'),
  avg_duration_ms: share(sum(entries, 'duration_ms'), entries.length),
});
