interface Task {
  readonly everySeconds: number;
  readonly work: (lateMs: number) => void;
}

const SECOND_MS = 1_000;
const tasks = new Set<Task>();
let timer: ReturnType<typeof setTimeout> | undefined;
let due = Number.NEGATIVE_INFINITY;

/**
 * Does something every so many seconds, at whole seconds of this process and together with everything else that asks for
 * it: a process without calls wakes up once, not once for each. `work` is told how late it comes. Keeps no process alive.
 */
export function every(everySeconds: number, work: Task['work']): { stop(): void } {
  const task = { everySeconds, work };
  tasks.add(task);
  if (timer === undefined) arm();
  return {
    stop: () => {
      tasks.delete(task);
      if (tasks.size > 0) return;
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/** The whole second of this process that is nearest. */
export const wholeSecond = (ms: number): number => Math.round(ms / SECOND_MS) * SECOND_MS;

function arm() {
  const now = performance.now();
  // A timer may come a moment early; that second is done with all the same.
  due = Math.max((Math.floor(now / SECOND_MS) + 1) * SECOND_MS, due + SECOND_MS);
  timer = setTimeout(turn, due - now);
  timer.unref();
}

function turn() {
  const second = due / SECOND_MS;
  const lateMs = Math.max(0, performance.now() - due);
  arm();
  for (const { everySeconds, work } of tasks) if (second % everySeconds === 0) work(lateMs);
}
