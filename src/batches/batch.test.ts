import { expect, test } from 'bun:test';
import { GatewayError } from '../core/errors.ts';
import type { BatchRow } from '../storage/schema.ts';
import { cancelled, entered, hasEnded, STATUSES, shownBatch } from './batch.ts';
import { LANES, lanesFor, nextOf } from './lane-plan.ts';
import { NO_TOKENS } from './usage.ts';

const fresh = (createdAt: number): BatchRow => ({
  id: 'batch_1',
  workspace_id: 'w',
  user_id: null,
  api_key_id: 'k',
  virtual_key: 'v',
  headers: '{}',
  proofs: null,
  endpoint: '/v1/chat/completions',
  input_file_id: 'file-1',
  completion_window: '24h',
  mode: 'managed',
  native: null,
  status: 'validating',
  stop: null,
  errors: null,
  output_file_id: null,
  error_file_id: null,
  output_lives_seconds: null,
  metadata: '{}',
  total: null,
  completed: null,
  failed: null,
  created_at: createdAt,
  expires_at: createdAt + 86_400_000,
  in_progress_at: null,
  finalizing_at: null,
  completed_at: null,
  failed_at: null,
  expired_at: null,
  cancelling_at: null,
  model: null,
  ...NO_TOKENS,
  cancelled_at: null,
});

/** The transitions of the reference, and the failures of the gateway itself. */
const LEGAL = new Set([
  'validating>failed',
  'validating>in_progress',
  'validating>cancelling',
  'in_progress>finalizing',
  'in_progress>expired',
  'in_progress>cancelling',
  'in_progress>failed',
  'finalizing>completed',
  'finalizing>failed',
  'cancelling>cancelled',
  'cancelling>failed',
]);

test('whatever is tried in whatever order, only legal transitions happen and each sets its own timestamp once', () => {
  for (let round = 0; round < 2_000; round++) {
    let batch = fresh(1_000_000);
    const visited = new Map<string, number>();
    for (let step = 1; step <= 12; step++) {
      const to = STATUSES[Math.floor(Math.random() * STATUSES.length)]!;
      const now = 1_000_000 + step * 1_000;
      const isLegal = LEGAL.has(`${batch.status}>${to}`);
      let change: ReturnType<typeof entered> | null = null;
      try {
        change = entered(batch, to, now);
      } catch {}
      expect(change !== null).toBe(isLegal);
      if (!change) continue;
      expect(Object.keys(change).sort()).toEqual(['status', `${to}_at`].sort());
      batch = { ...batch, ...change };
      expect(visited.has(to)).toBe(false);
      visited.set(to, now);
    }
    const shown = shownBatch(batch, { completed: 0, failed: 0 }) as unknown as Record<string, number | null>;
    for (const status of STATUSES.filter((each) => each !== 'validating')) {
      const at = visited.get(status);
      expect(shown[`${status}_at`]).toBe(at === undefined ? null : at / 1_000);
    }
    expect(hasEnded(batch.status)).toBe([...LEGAL].every((each) => !each.startsWith(`${batch.status}>`)));
  }
});

test('only a batch that is still running can be cancelled, and the refusal names its status', () => {
  for (const status of STATUSES) {
    const batch = { ...fresh(0), status };
    if (status === 'validating' || status === 'in_progress')
      expect(cancelled(batch, 5_000)).toEqual({ status: 'cancelling', cancelling_at: 5_000 });
    else if (status === 'cancelling') expect(cancelled(batch, 5_000)).toBeNull();
    else {
      let refusal: unknown;
      try {
        cancelled(batch, 5_000);
      } catch (error) {
        refusal = error;
      }
      expect(refusal).toBeInstanceOf(GatewayError);
      expect((refusal as GatewayError).message).toBe(`Cannot cancel a batch with status '${status}'.`);
    }
  }
});

test('lanes cover each request once, however many there are', () => {
  for (const total of [1, 15, 16, 17, 63, 64, 65, 200, 799, 800, 801, 5_000, 50_000]) {
    const seen = new Uint8Array(total);
    const lanes = lanesFor(total);
    expect(lanes.length).toBeLessThanOrEqual(LANES);
    for (const first of lanes)
      for (let lane: ReturnType<typeof nextOf> = first; lane; lane = nextOf(lane, total))
        for (let at = lane.from; at < Math.min(total, lane.from + lane.size); at++) seen[at]!++;
    expect(seen.every((times) => times === 1)).toBe(true);
  }
});
