import { every, RARELY_SECONDS } from '../../core/runtime/seconds.ts';
import type { Registry } from './registry.ts';

/** How late a timer comes says how long everything else waits for its turn. */
export function watchLoop(metrics: Registry): { stop(): void } {
  const delays = metrics.histogram('gateway_event_loop_delay_seconds', 'How late a timer of every second came.').at();
  return every(1, (lateMs) => delays.observe(lateMs / 1000), RARELY_SECONDS);
}
