import type { Registry } from './registry.ts';

const EVERY_MS = 500;

/** How late a timer comes says how long everything else waits for its turn. */
export function watchLoop(metrics: Registry): { stop(): void } {
  const delays = metrics.histogram('gateway_event_loop_delay_seconds', 'How late a timer of every 500 ms came.').at();
  let due = performance.now() + EVERY_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    delays.observe(Math.max(0, now - due) / 1000);
    due = now + EVERY_MS;
  }, EVERY_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
