import type { LogRow } from '../../src/telemetry/log-columns.ts';
import { type LogTarget, openLogStore } from '../../src/telemetry/log-store.ts';

const DAY_MS = 86_400_000;
/** Over how long entries are spread, up to now. */
export const DAYS = 30;
const BATCH = 10_000;

const WORKSPACES = 20;
const KEYS_EACH = 10;
const USERS = 500;
const PROVIDERS = ['openai', 'anthropic', 'google', 'mistral', 'groq', 'cohere', 'bedrock', 'azure-openai'];
const MODELS_EACH = 5;
const PATHS = ['/v1/chat/completions', '/v1/chat/completions', '/v1/embeddings', '/v1/messages'];
const FAILURES = [
  { status: 429, failed_by: 'provider', error_code: 'upstream_rate_limited' },
  { status: 400, failed_by: 'client', error_code: 'invalid_request' },
  { status: 502, failed_by: 'provider', error_code: 'upstream_error' },
] as const;

/** Whole numbers below a bound, the same ones each time. */
function numbers(seed: number) {
  let state = seed;
  return (bound: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

export interface Filling {
  readonly target: LogTarget;
  readonly organisationId: string;
  /** How many entries there are already, and how many there shall be. */
  readonly from: number;
  readonly until: number;
}

/**
 * Entries of a month, written by the gateway's own writer: tables, indexes and figures are what they would be. Keys
 * belong to a workspace and mostly call the same few models, as applications do.
 */
export async function fillLog({ target, organisationId, from, until }: Filling): Promise<void> {
  const store = await openLogStore(target, 'writer');
  const below = numbers(from + 1);
  const now = Date.now();
  const count = until - from;
  const stepMs = (DAYS * DAY_MS) / count;
  const beganAt = now - DAYS * DAY_MS;
  for (let at = 0; at < count; at += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, count - at) }, (_, index) =>
      entry(organisationId, Math.floor(beganAt + (at + index) * stepMs), below),
    );
    await store.insert({ rows, bodies: rows.map(() => null) });
    while (await store.tend());
  }
  await store.close();
}

function entry(organisationId: string, createdAt: number, below: (bound: number) => number): LogRow {
  const key = below(WORKSPACES * KEYS_EACH);
  const provider = PROVIDERS[(key + (below(5) === 0 ? 1 : 0)) % PROVIDERS.length]!;
  const failure = below(25) === 0 ? FAILURES[below(FAILURES.length)]! : null;
  const [input, output] = [50 + below(4_000), failure ? 0 : 10 + below(900)];
  const duration = 200 + below(3_000) + (below(50) === 0 ? 20_000 : 0);
  const id = Bun.randomUUIDv7();
  return {
    id,
    trace_id: id,
    created_at: createdAt,
    organisation_id: organisationId,
    workspace_id: `workspace-${key % WORKSPACES}`,
    api_key_id: `key-${key}`,
    user_id: below(3) === 0 ? `user-${(key * 7 + below(5)) % USERS}` : null,
    virtual_key: `virtual-${provider}`,
    provider,
    model: `${provider}-model-${(key + below(2)) % MODELS_EACH}`,
    method: 'POST',
    path: PATHS[key % PATHS.length]!,
    status: failure?.status ?? 200,
    failed_by: failure?.failed_by ?? null,
    error_code: failure?.error_code ?? null,
    is_stream: below(2) === 0,
    request_bytes: 300 + below(20_000),
    response_bytes: 500 + below(5_000),
    first_byte_ms: duration / 3,
    duration_ms: duration,
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    cached_tokens: null,
    reasoning_tokens: null,
    cost: (input * 2 + output * 8) / 1e6,
    client_address: '127.0.0.1',
    metadata: below(4) === 0 ? JSON.stringify({ _user: `reader-${below(200)}` }) : null,
    hook_results: null,
    session_id: null,
    attempt_count: 1,
    attempts: null,
  };
}
