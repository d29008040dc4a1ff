import { BoundedMap } from '../core/bounded-map.ts';
import type { BreakerObject } from './config.ts';

/** When a target counts as broken and for how long it is left alone. */
export interface BreakerSettings {
  readonly failures: number | null;
  readonly percentage: number | null;
  readonly minimumCalls: number;
  readonly cooldownMs: number;
  readonly isFailure: (status: number) => boolean;
}

const MINIMUM_CALLS = 10;
const COOLDOWN_MS = 30_000;
/** Failures are counted in stretches of this length, so that old ones do not add up for ever. */
const STRETCH_MS = 60_000;
const MOST_BREAKERS = 10_000;

export function breakerSettings(given: BreakerObject): BreakerSettings {
  const statuses = given.failure_status_codes ? new Set(given.failure_status_codes) : null;
  return {
    failures: given.failure_threshold ?? null,
    percentage: given.failure_threshold_percentage ?? null,
    minimumCalls: given.minimum_requests ?? MINIMUM_CALLS,
    cooldownMs: given.cooldown_interval ?? COOLDOWN_MS,
    isFailure: (status) => (statuses ? statuses.has(status) : status >= 500),
  };
}

interface State {
  since: number;
  calls: number;
  failures: number;
  openUntil: number;
}

/** The breakers of this process, by config and target. */
export function createBreakers({ now }: { now: () => number }) {
  const states = new BoundedMap<string, State>(MOST_BREAKERS);

  const stateOf = (key: string): State => {
    let state = states.get(key);
    if (!state) {
      state = { since: now(), calls: 0, failures: 0, openUntil: 0 };
      states.set(key, state);
    }
    if (now() - state.since >= STRETCH_MS) {
      state.since = now();
      state.calls = 0;
      state.failures = 0;
    }
    return state;
  };

  return {
    isOpen: (key: string): boolean => (states.get(key)?.openUntil ?? 0) > now(),

    /** Those that are open now. */
    open(): { readonly key: string; readonly openUntil: number }[] {
      const at = now();
      return [...states.entries()].flatMap(([key, { openUntil }]) => (openUntil > at ? [{ key, openUntil }] : []));
    },

    /** Takes note of how a call ended. After the cooldown the count starts again. */
    record(key: string, settings: BreakerSettings, status: number) {
      const state = stateOf(key);
      if (state.openUntil > now()) return;
      state.calls++;
      if (settings.isFailure(status)) state.failures++;
      const isTooMany = settings.failures !== null && state.failures >= settings.failures;
      const isTooLarge =
        settings.percentage !== null &&
        state.calls >= settings.minimumCalls &&
        (state.failures / state.calls) * 100 >= settings.percentage;
      if (!isTooMany && !isTooLarge) return;
      state.openUntil = now() + settings.cooldownMs;
      state.since = state.openUntil;
      state.calls = 0;
      state.failures = 0;
    },
  };
}

export type Breakers = ReturnType<typeof createBreakers>;
