import type { PackedHookResults } from '../core/hook-results.ts';
import {
  decisionsIn,
  type PackedAttempt,
  type PackedAttempts,
  type PackedCache,
  type PackedDecision,
} from './attempts.ts';
import type { LogRow } from './log-columns.ts';
import type { ShownBody, ShownExchange } from './packed-bodies.ts';

/** What a guardrail decided about an attempt. Times are milliseconds since the call came. */
export interface ShownDecision {
  readonly hook: 'input' | 'output';
  readonly id: string;
  readonly verdict: boolean | null;
  readonly deny: boolean;
  readonly started_ms: number;
  readonly duration_ms: number;
}

export interface ShownCache {
  readonly status: string;
  readonly started_ms: number;
  readonly duration_ms: number;
}

/** One attempt as `GET /v1/logs/{id}` shows it. */
export interface ShownAttempt {
  readonly target: string;
  readonly provider: string | null;
  readonly model: string | null;
  readonly virtual_key: string | null;
  readonly host: string | null;
  /** The provider was not asked. */
  readonly skipped: boolean;
  readonly reason: string | null;
  readonly started_ms: number;
  readonly connect_ms: number | null;
  readonly first_byte_ms: number | null;
  readonly ended_ms: number;
  readonly status: number | null;
  readonly error_code: string | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly total_tokens: number | null;
  readonly cost: number | null;
  readonly cache: ShownCache | null;
  readonly guardrails: readonly ShownDecision[];
  /** What went to the provider and what it answered, where it speaks another dialect than the client and bodies were kept. */
  readonly request: ShownBody | null;
  readonly response: ShownBody | null;
}

export interface ShownAttempts {
  readonly attempts: readonly ShownAttempt[];
  /** Of an answer that was kept: no provider was asked for it. */
  readonly cache: (ShownCache & { readonly target: string }) | null;
}

export function showAttempts(row: LogRow, exchanges: readonly ShownExchange[]): ShownAttempts {
  const { attempts, cache } = timesOf(row);
  // A target that was asked several times was asked the same; what it answered last is kept.
  const lastAsked = new Map(attempts.map(({ target, skipped }, at) => [skipped ? null : target, at]));
  const exchangeAt = new Map(exchanges.map((each) => [lastAsked.get(each.target), each]));
  const withBodies = attempts.map((attempt, at) => {
    const { request = null, response = null } = exchangeAt.get(at) ?? {};
    return { ...attempt, request, response };
  });
  return { attempts: withBodies, cache };
}

/** The same without bodies. */
export type TimedAttempt = Omit<ShownAttempt, 'request' | 'response'>;

export interface TimedAttempts {
  readonly attempts: readonly TimedAttempt[];
  readonly cache: ShownAttempts['cache'];
}

export function timesOf(row: LogRow): TimedAttempts {
  const packed = row.attempts === null ? {} : (JSON.parse(row.attempts) as PackedAttempts);
  if (isOnly(packed)) return { attempts: [onlyOf(packed, row)], cache: null };
  const { attempts = [], cache, target } = packed;
  return {
    attempts: attempts.map((attempt) => shown(attempt, row)),
    cache: cache && target !== undefined ? { target, ...shownCache(cache) } : null,
  };
}

type Only = Extract<PackedAttempts, readonly unknown[]>;

const isOnly = (packed: PackedAttempts): packed is Only => Array.isArray(packed);

function onlyOf([target, host, at, connect, first, status]: Only, row: LogRow): TimedAttempt {
  const { provider, model, virtual_key, duration_ms, error_code } = row;
  return {
    ...{ target, provider, model, virtual_key, host },
    skipped: false,
    reason: null,
    started_ms: at,
    connect_ms: connect,
    first_byte_ms: first,
    ended_ms: duration_ms,
    status: first === null ? null : (status ?? row.status),
    error_code,
    ...takenBy(row),
    cache: null,
    guardrails: row.hook_results === null ? NONE : decisionsOf(row.hook_results, row.created_at),
  };
}

const NONE: readonly ShownDecision[] = [];

/** What guardrails decided of a call as a whole. */
export function decisionsOf(results: string, openedAt: number): ShownDecision[] {
  const found = JSON.parse(results) as PackedHookResults;
  return [
    ...decisionsIn('input', found.before_request_hooks ?? [], openedAt),
    ...decisionsIn('output', found.after_request_hooks ?? [], openedAt),
  ].map(shownDecision);
}

function shown(packed: PackedAttempt, row: LogRow): TimedAttempt {
  const { target, usage, cache, guardrails = [] } = packed;
  const taken = {
    input_tokens: usage?.inputTokens ?? null,
    output_tokens: usage?.outputTokens ?? null,
    total_tokens: usage?.totalTokens ?? null,
    cost: packed.cost ?? null,
  };
  return {
    target,
    provider: packed.provider ?? null,
    model: packed.model ?? null,
    virtual_key: packed.virtual_key ?? null,
    host: packed.host ?? null,
    skipped: packed.unasked ?? false,
    reason: packed.reason ?? null,
    started_ms: packed.at,
    connect_ms: packed.connect ?? null,
    first_byte_ms: packed.first ?? null,
    ended_ms: packed.end ?? row.duration_ms,
    status: packed.status ?? null,
    error_code: packed.error ?? null,
    ...(packed.isLast && !packed.unasked ? takenBy(row) : taken),
    cache: cache ? shownCache(cache) : null,
    guardrails: guardrails.map(shownDecision),
  };
}

const takenBy = ({ input_tokens, output_tokens, total_tokens, cost }: LogRow) => ({
  ...{ input_tokens, output_tokens, total_tokens, cost },
});

const shownCache = ([status, at, ms]: PackedCache): ShownCache => ({ status, started_ms: at, duration_ms: ms });

const shownDecision = ({ at, ms, ...decision }: PackedDecision): ShownDecision => ({
  ...decision,
  started_ms: at,
  duration_ms: ms,
});
