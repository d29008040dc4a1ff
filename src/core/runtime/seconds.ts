interface Task {
  readonly everySeconds: number;
  /** While no caller asks anything of this process. */
  readonly quietSeconds: number;
  readonly work: (lateMs: number) => void;
  /** The whole second at which it is done next. */
  next: number;
}

const SECOND_MS = 1_000;
/** While no caller asks anything of this process, it wakes up at such seconds only, when something is due. */
const QUIET_SECONDS = 5;
/** So often is done then what no caller waits for: the next request begins with it, or finds out by itself. */
export const RARELY_SECONDS = 60;
/** And so often what makes room again, which costs nothing while it lies. */
export const SELDOM_SECONDS = 2 * RARELY_SECONDS;
/** After so long without being asked, and with nothing under way, a process is quiet. */
const QUIET_AFTER_SECONDS = 3;
/** The first request after a quiet time waits no longer than this for what has to be found out before it. */
const PATIENCE_MS = 250;

const tasks = new Set<Task>();
const reasonsToStay = new Set<() => boolean>();
const wakers = new Set<() => unknown>();
/** What failed the last time it was called. */
const failing = new WeakSet<object>();
let timer: ReturnType<typeof setTimeout> | undefined;
/** When the next turn comes, and when the last one was to. */
let due = Number.NEGATIVE_INFINITY;
let turned = Number.NEGATIVE_INFINITY;
let isStirred = false;
let isAsleep = false;
let waking: Promise<void> | undefined;
/** Turns without a stir. */
let calm = 0;

/**
 * Does something every so many seconds, at whole seconds of this process and together with everything else that asks for
 * it: a process without calls wakes up once, not once for each. While it is quiet, it wakes up every five seconds at
 * most, and does this every `quietSeconds`. `work` is told how late it comes. Keeps no process alive.
 */
export function every(everySeconds: number, work: Task['work'], quietSeconds = everySeconds): { stop(): void } {
  const task = { everySeconds, quietSeconds, work, next: after(performance.now() / SECOND_MS, everySeconds) };
  tasks.add(task);
  if (timer === undefined || isAsleep) arm();
  return {
    stop: () => {
      tasks.delete(task);
      if (tasks.size > 0) return;
      clearTimeout(timer);
      timer = undefined;
      isAsleep = false;
      calm = 0;
    },
  };
}

/**
 * Something is asked of this process. After a quiet time answers a promise, which is to be waited for before anything that
 * was kept in memory is believed; it is over soon, whatever has become of it.
 */
export function stir(): Promise<void> | undefined {
  isStirred = true;
  if (isAsleep) wakeUp();
  return waking;
}

/** Whether no caller has asked anything of this process for a while. */
export const isQuiet = (): boolean => isAsleep;

/** While one of these answers yes, the process does not become quiet. Answers how to end that. */
export function stayAwakeWhile(isBusy: () => boolean): () => void {
  reasonsToStay.add(isBusy);
  return () => void reasonsToStay.delete(isBusy);
}

/** Is called when a quiet time ends; what it answers is waited for by who ended it. Answers how to end that. */
export function onWakeUp(handler: () => unknown): () => void {
  wakers.add(handler);
  return () => void wakers.delete(handler);
}

/** The whole second of this process that is nearest; for five seconds and more, the nearest at which a quiet one wakes up. */
export function wholeSecond(ms: number, periodMs = SECOND_MS): number {
  const grid = periodMs >= QUIET_SECONDS * SECOND_MS ? QUIET_SECONDS * SECOND_MS : SECOND_MS;
  return Math.round(ms / grid) * grid;
}

/** The next whole second that the given number divides. */
const after = (second: number, everySeconds: number): number => (Math.floor(second / everySeconds) + 1) * everySeconds;

function arm() {
  clearTimeout(timer);
  const now = performance.now();
  // A timer may come a moment early; that second is done with all the same.
  const soonest = after(Math.max(now, turned) / SECOND_MS, isAsleep ? QUIET_SECONDS : 1);
  due = (isAsleep ? Math.max(soonest, nextDue()) : soonest) * SECOND_MS;
  timer = setTimeout(turn, due - now);
  timer.unref();
}

/** When something is due again, of the seconds at which a quiet process may wake up. */
function nextDue(): number {
  let next = Number.POSITIVE_INFINITY;
  for (const task of tasks) next = Math.min(next, task.next);
  return Math.ceil(next / QUIET_SECONDS) * QUIET_SECONDS;
}

function turn() {
  turned = due;
  const second = due / SECOND_MS;
  const lateMs = Math.max(0, performance.now() - due);
  calm = isStirred || isBusy() ? 0 : calm + 1;
  isStirred = false;
  isAsleep = calm >= QUIET_AFTER_SECONDS;
  const present = [...tasks].filter(({ next }) => next <= second);
  for (const task of present) task.next = after(second, isAsleep ? task.quietSeconds : task.everySeconds);
  arm();
  for (const task of present) attempt(task, () => task.work(lateMs), undefined);
}

function isBusy(): boolean {
  // A reason that cannot tell keeps the process awake.
  for (const isBusyThere of reasonsToStay) if (attempt(isBusyThere, isBusyThere, true)) return true;
  return false;
}

/** A failure is told to the operator once in a row, and keeps neither the other turns nor the next second from coming. */
function attempt<Result>(whose: object, work: () => Result, otherwise: Result): Result {
  try {
    const result = work();
    failing.delete(whose);
    return result;
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (!failing.has(whose)) process.stderr.write(`what this process does at whole seconds failed: ${text}\n`);
    failing.add(whose);
    return otherwise;
  }
}

function wakeUp() {
  isAsleep = false;
  calm = 0;
  // What was due by then is done at the next whole second, and what was put off comes in its usual time.
  const second = performance.now() / SECOND_MS;
  for (const task of tasks) task.next = Math.min(task.next, after(second, task.everySeconds));
  arm();
  const found = [...wakers].map((wake) => attempt(wake, wake, undefined)).filter((each) => each instanceof Promise);
  if (found.length === 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  waking = promise;
  const goOn = () => {
    clearTimeout(patience);
    waking = undefined;
    resolve();
  };
  const patience = setTimeout(goOn, PATIENCE_MS);
  void Promise.allSettled(found).then(goOn);
}
