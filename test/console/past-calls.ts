import { join } from 'node:path';
import type { LogRow } from '../../src/telemetry/log-columns.ts';
import { openLogStore } from '../../src/telemetry/log-store.ts';
import { seeded } from '../fuzz.ts';
import { batchOf, row } from '../telemetry/log-rows.ts';
import type { TestConsole } from './browser.ts';

const HOUR_MS = 3_600_000;
const MODELS = [
  { model: 'gpt-5', provider: 'openai', cost: 0.004, slow: 1_900 },
  { model: 'claude-sonnet-4-5', provider: 'anthropic', cost: 0.006, slow: 2_600 },
  { model: 'gpt-5-mini', provider: 'openai', cost: 0.0007, slow: 800 },
  { model: 'gemini-2.5-pro', provider: 'google', cost: 0.003, slow: 2_100 },
  { model: 'mistral-large', provider: 'mistral-ai', cost: 0.002, slow: 1_300 },
  { model: 'text-embedding-3-small', provider: 'openai', cost: 0.00001, slow: 120 },
] as const;
const FAULTS = [
  { status: 429, failed_by: 'provider', error_code: null },
  { status: 429, failed_by: 'gateway', error_code: 'rate_limited' },
  { status: 400, failed_by: 'client', error_code: 'invalid_request' },
  { status: 503, failed_by: 'provider', error_code: 'provider_unreachable' },
  { status: 499, failed_by: 'client', error_code: 'client_closed' },
] as const;

/** Calls of two days, more by day than by night, put into the log of a running gateway as if they had been made. */
export async function givenPastCalls({ gateway, people }: TestConsole, count: number, keys: readonly string[]) {
  const random = seeded(20_261_117);
  const organisation = (await gateway.api.get('/v1/admin/organisation')).json;
  const workspace = (await gateway.api.get('/v1/admin/workspaces/default')).json;
  const users = Object.values(people).map((person) => (person as unknown as { id: string }).id);
  const now = Date.now();
  const made = (): LogRow => {
    const back = random.below(48 * HOUR_MS);
    const at = now - back;
    const hour = new Date(at).getUTCHours();
    const busy = 0.35 + 0.65 * Math.sin(((hour - 4) / 24) * Math.PI) ** 2;
    // Thinned out by night, and a little on the day before.
    if (!random.chance(busy * (back > 24 * HOUR_MS ? 0.8 : 1))) return made();
    const chosen = MODELS[Math.min(random.below(6), random.below(6))]!;
    const isHit = random.chance(0.12);
    const fault = random.chance(hour === 9 ? 0.16 : 0.035) ? random.pick(FAULTS) : null;
    const [input, output] = [200 + random.below(3_000), 40 + random.below(700)];
    const slow = isHit ? 4 : chosen.slow * (0.4 + (random.below(100) / 100) ** 3 * 3);
    const judged = random.below(100);
    return row({
      created_at: at,
      organisation_id: organisation.id,
      workspace_id: workspace.id,
      api_key_id: random.pick(keys),
      user_id: random.chance(0.7) ? random.pick(users) : null,
      provider: chosen.provider,
      virtual_key: `${chosen.provider}-prod`,
      model: chosen.model,
      path: chosen.model.startsWith('text-') ? '/v1/embeddings' : '/v1/chat/completions',
      is_stream: random.chance(0.5),
      first_byte_ms: fault ? null : slow * 0.3,
      duration_ms: slow,
      ...(fault ?? {}),
      input_tokens: fault ? null : input,
      output_tokens: fault ? null : output,
      total_tokens: fault ? null : input + output,
      cached_tokens: fault ? null : random.chance(0.5) ? Math.floor(input / 2) : 0,
      reasoning_tokens: fault ? null : Math.floor(output / 4),
      cost: fault || isHit ? 0 : chosen.cost * (0.5 + random.below(100) / 100),
      metadata: random.chance(0.6) ? JSON.stringify({ team: random.pick(['search', 'support', 'billing']) }) : null,
      attempts: isHit || random.chance(0.3) ? JSON.stringify({ cache: [isHit ? 'HIT' : 'MISS', 1, 1] }) : null,
      hook_results:
        judged < 30
          ? JSON.stringify({
              before_request_hooks: [{ verdict: judged > 2, deny: judged < 2 }],
              after_request_hooks: [],
            })
          : null,
    });
  };
  const rows = Array.from({ length: count }, made).sort((one, other) => one.created_at - other.created_at);
  const store = await openLogStore({ engine: 'sqlite', file: join(gateway.dataDir, 'logs.db') }, 'writer');
  for (let from = 0; from < rows.length; from += 500) await store.insert(batchOf(...rows.slice(from, from + 500)));
  await store.close();
  return rows;
}
