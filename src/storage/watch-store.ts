import type { Health } from '../core/health.ts';
import type { Store } from './store.ts';

const EVERY_MS = 2_000;
const AWAY =
  'The database does not answer: keys used within the last hour work on, everything else that needs it answers 503.';

/** Asks the store now and then whether it is there, and tells the health of this process. */
export function watchStore({ store, health, everyMs = EVERY_MS }: { store: Store; health: Health; everyMs?: number }) {
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = async () => {
    await store.ping().then(
      () => health.well('store'),
      () => health.degraded('store', AWAY),
    );
    if (isStopped) return;
    timer = setTimeout(look, everyMs);
    timer.unref?.();
  };
  void look();
  return {
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
