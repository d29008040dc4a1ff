import type { CallLog, Outcome } from '../../core/call-log.ts';

/** A log whose entry stays open after the server has answered. */
export interface HeldLog {
  readonly log: CallLog;
  /** Closes it as it would have been closed, and from then on as it is told. */
  release(): void;
}

/** For an answer that goes on when a server's part of it is over, and for an attempt that may not be the last. */
export function holdLog(entry: CallLog): HeldLog {
  let outcome: Outcome | null = null;
  let isHeld = true;
  const close = (told: Outcome) => {
    if (!isHeld) return entry.close(told);
    outcome ??= told;
  };
  const log = new Proxy(entry, {
    get: (target, name) => {
      if (name === 'close') return close;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
  return {
    log,
    release: () => {
      isHeld = false;
      if (outcome) entry.close(outcome);
    },
  };
}
