import type { Health } from '../core/health.ts';
import { every, onWakeUp, RARELY_SECONDS } from '../core/runtime/seconds.ts';
import type { Store } from './store.ts';

const EVERY_SECONDS = 2;
const AWAY =
  'The database does not answer: keys used within the last hour work on, everything else that needs it answers 503.';

/** Asks the store now and then whether it is there, and tells the health of this process. */
export function watchStore({ store, health }: { store: Store; health: Health }): { stop(): void } {
  let isLooking = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    await store.ping().then(
      () => health.well('store'),
      () => health.degraded('store', AWAY),
    );
    isLooking = false;
  };
  void look();
  const looking = every(EVERY_SECONDS, () => void look(), RARELY_SECONDS);
  // Who asks for the health of a process that was quiet hears of a store that went away meanwhile.
  const stopWaking = onWakeUp(look);
  return {
    stop: () => {
      looking.stop();
      stopWaking();
    },
  };
}
