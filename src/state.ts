import { join } from 'node:path';
import { turnClock } from './core/clock.ts';
import type { Health } from './core/health.ts';
import { newId } from './core/ids.ts';
import type { Alarm } from './limits/alarms.ts';
import { createCoordinatedCounters } from './limits/coordinated/coordinated-counters.ts';
import type { Counters } from './limits/counters/counters.ts';
import { openJournalCounters } from './limits/journal/journal-counters.ts';
import { createLimiter, type Limiter } from './limits/limiter.ts';
import { type CacheStore, createMemoryCache } from './routing/cache.ts';
import { createRedisCache, openSqliteCache } from './routing/cache-stores.ts';
import type { Settings } from './settings.ts';
import type { Changes } from './storage/changes.ts';
import type { Redis } from './storage/redis.ts';
import type { Store } from './storage/store.ts';

/** What a process counts and keeps beside the store: alone, or together with the other nodes. */
export interface State {
  readonly limiter: Limiter;
  readonly answers: CacheStore;
  close(): Promise<void>;
}

interface StateDeps {
  readonly store: Store;
  readonly changes: Changes;
  readonly health: Health;
  /** Stays open when the state is closed. */
  readonly redis: Redis | null;
  readonly alarm?: (alarm: Alarm) => void;
}

const CHANNEL = 'limits';

export async function openState(settings: Settings, deps: StateDeps): Promise<State> {
  const { redis } = deps;
  const counters = await openCounters(settings, redis, deps);
  const limiter = createLimiter({ counters, now: turnClock, newId: () => newId<string>(), alarm: deps.alarm });
  const answers = openAnswers(settings, redis);
  return {
    limiter,
    answers,
    close: async () => {
      limiter.close();
      await counters.close();
      answers.close();
    },
  };
}

function openCounters(
  settings: Settings,
  redis: Redis | null,
  { store, changes, health }: StateDeps,
): Promise<Counters> {
  const report = (problem: string) => void process.stderr.write(`${problem}\n`);
  const folder = join(
    settings.dataDir,
    settings.processNumber === null ? 'limits' : `limits-${settings.processNumber}`,
  );
  if (store.engine === 'sqlite') return openJournalCounters({ store, folder, now: Date.now, report });
  return createCoordinatedCounters({
    store,
    redis,
    folder,
    now: Date.now,
    health,
    report,
    nudge: {
      send: () => changes.notify(store.db, CHANNEL, ''),
      onReceive: (handler) => void changes.onNotify(CHANNEL, handler),
    },
  });
}

function openAnswers({ answerCache, dataDir }: Settings, redis: Redis | null): CacheStore {
  if (answerCache === 'redis' && redis) return createRedisCache({ redis });
  if (answerCache === 'disk') return openSqliteCache({ file: join(dataDir, 'answers.db'), now: Date.now });
  return createMemoryCache({ now: Date.now });
}
