import { type Limit, windowAt } from '../core/limits.ts';

/** The window of a limit that is open now, and the name of its counter. */
export interface OpenWindow {
  readonly counter: string;
  readonly start: number;
  readonly end: number;
}

/** Most calls fall into the window of the call before; a limit that is no longer used takes its window with it. */
const latest = new WeakMap<Limit, OpenWindow>();

export function openWindow(limit: Limit, now: number): OpenWindow {
  const known = latest.get(limit);
  if (known && now >= known.start && now < known.end) return known;
  const { start, end } = windowAt(limit.period, now);
  const window = { counter: `${limit.counter}@${start}`, start, end };
  latest.set(limit, window);
  return window;
}
