/** Milliseconds, since the epoch where nothing else is said. Tests give their own. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/**
 * A clock that is read once in a turn of the event loop, because one call reads the time about twenty times. Use it
 * where some milliseconds do not matter. Do not measure or end a loop with it: within the turn it stands still.
 */
export function oncePerTurn(clock: Clock): Clock {
  let at: number | null = null;
  const forget = () => {
    at = null;
  };
  return () => {
    if (at === null) {
      at = clock();
      setImmediate(forget);
    }
    return at;
  };
}

export const turnClock: Clock = oncePerTurn(systemClock);

/** The monotonic one. */
export const turnTime: Clock = oncePerTurn(() => performance.now());

export const toIso = (ms: number): string => new Date(ms).toISOString();
