import { fail } from '../../core/errors.ts';
import type { Store } from '../../storage/store.ts';
import type { ResponseBus } from './bus.ts';
import { eventsAfter, type NumberedEvent, workOf } from './rows.ts';

export interface WatchDeps {
  readonly store: Store;
  readonly bus: ResponseBus;
}

/** As often, a store is asked whose messages may have got lost. */
const LOOK_MS = 2_000;
const KEEP_ALIVE_MS = 15_000;
const FINAL = /^response\.(completed|incomplete|failed|cancelled)$/;

/** What is told of a response behind a number, until it is over or the client leaves. Null is a sign of life. */
export async function* followed(
  { id, after, signal }: { id: string; after: number; signal: AbortSignal },
  { store, bus }: WatchDeps,
): AsyncGenerator<NumberedEvent | null> {
  let last = after;
  let saidAt = performance.now();
  const pause = pausing(id, bus, signal);
  try {
    while (!signal.aborted) {
      // Read before its events: one that is over has all of them there.
      const work = await workOf(store.db, id);
      const events = await eventsAfter(store.db, id, last);
      for (const event of events) {
        last = event.sequence_number;
        saidAt = performance.now();
        yield event;
        if (FINAL.test(String(event.type))) return;
      }
      if (events.length > 0) continue;
      if (!work) return fail('response_not_found', id);
      if (work.ended_at !== null) return;
      await pause.until(LOOK_MS);
      if (performance.now() - saidAt < KEEP_ALIVE_MS) continue;
      saidAt = performance.now();
      yield null;
    }
  } finally {
    pause.end();
  }
}

/** Waits until a response is over, but not for ever. */
export async function ended(id: string, mostMs: number, { store, bus }: WatchDeps): Promise<void> {
  const until = AbortSignal.timeout(mostMs);
  const pause = pausing(id, bus, until);
  try {
    while (!until.aborted) {
      const work = await workOf(store.db, id);
      if (!work || work.ended_at !== null) return;
      await pause.until(LOOK_MS);
    }
  } finally {
    pause.end();
  }
}

/** Waits for news of a response; what came since the last wait ends the next one at once. */
function pausing(id: string, bus: ResponseBus, signal: AbortSignal) {
  let hasNews = false;
  let wake = () => {};
  const news = () => {
    hasNews = true;
    wake();
  };
  const unlisten = bus.listen(id, news);
  signal.addEventListener('abort', news, { once: true });
  return {
    async until(ms: number): Promise<void> {
      if (!hasNews) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, ms);
        wake = resolve;
        await promise;
        clearTimeout(timer);
      }
      hasNews = false;
    },
    end() {
      unlisten();
      signal.removeEventListener('abort', news);
      wake();
    },
  };
}
