import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { createHealth, type Health } from '../src/core/health.ts';
import { createCoordinatedCounters } from '../src/limits/coordinated/coordinated-counters.ts';
import type { Counters } from '../src/limits/counters/counters.ts';
import { connectRedis, type Redis } from '../src/storage/redis.ts';
import type { Store } from '../src/storage/store.ts';

/** A node as far as limits see it: its own connection to Redis, its own files, the store of all. */
export interface LimitNode {
  readonly counters: Counters;
  readonly redis: Redis | null;
  readonly health: Health;
  close(): Promise<void>;
}

export interface LimitNodeOptions {
  readonly redisUrl: string | null;
  /** Faster than in real life, unless a test says otherwise. */
  readonly pollMs?: number;
  readonly deadAfterMs?: number;
  readonly waitMs?: number;
  /** A Redis that is silent for longer counts as away. */
  readonly redisAnswerMs?: number;
  /** The same of PostgreSQL. */
  readonly answerMs?: number;
}

export async function startLimitNode(
  store: Store,
  { redisUrl, pollMs = 100, deadAfterMs = 3_000, waitMs, redisAnswerMs, answerMs }: LimitNodeOptions,
): Promise<LimitNode> {
  const redis = redisUrl ? connectRedis(redisUrl, { answerMs: redisAnswerMs }) : null;
  const folder = mkdtempSync(join(tmpdir(), 'gateway-counters-'));
  const health = createHealth({ now: Date.now });
  const timing = { pollMs, stableMs: 200, deadAfterMs, ...(waitMs && { waitMs }), ...(answerMs && { answerMs }) };
  const counters = await createCoordinatedCounters({ store, redis, folder, now: Date.now, health, timing });
  return {
    counters,
    redis,
    health,
    close: async () => {
      await counters.close();
      redis?.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Where the nodes of a store count. */
export async function limitsModeOf(store: Store): Promise<string> {
  const { rows } = await sql<{ mode: string }>`select mode from limits_mode`.execute(store.db);
  return rows[0]!.mode;
}

export async function until(what: string, isSo: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  const deadline = Date.now() + ms;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`not within ${ms} ms: ${what}`);
    await Bun.sleep(20);
  }
}
