import type { Retry } from './plan.ts';

/** Waits grow 1, 2, 4, 8, 16 seconds. */
const FIRST_WAIT_MS = 1_000;
/** All waits of one call together; a provider that asks for more gets no retry. */
const LONGEST_WAIT_MS = 60_000;

const RETRY_AFTER = ['retry-after-ms', 'x-ms-retry-after-ms', 'retry-after'] as const;

/** How long to wait before attempt `attempt` (from 1) is repeated; null: not at all. */
export function waitBefore(
  { attempts, statuses, usesRetryAfter }: Retry,
  { attempt, status, headers, waitedMs, now }: Failed,
): number | null {
  if (attempt > attempts || !statuses.has(status)) return null;
  const asked = usesRetryAfter && headers ? retryAfterMs(headers, now) : null;
  const wait = asked ?? FIRST_WAIT_MS * 2 ** (attempt - 1);
  return waitedMs + wait > LONGEST_WAIT_MS ? null : wait;
}

interface Failed {
  readonly attempt: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly waitedMs: number;
  readonly now: number;
}

/** What the provider asks for: milliseconds, seconds or a date, in one of three headers. */
function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | null {
  for (const name of RETRY_AFTER) {
    const value = headers[name]?.trim();
    if (!value) continue;
    const number = Number(value);
    if (!Number.isNaN(number)) return Math.max(0, name === 'retry-after' ? number * 1_000 : number);
    const date = name === 'retry-after' ? Date.parse(value) : Number.NaN;
    if (!Number.isNaN(date)) return Math.max(0, date - now);
  }
  return null;
}
