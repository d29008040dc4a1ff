/**
 * Loaded into a gateway's process before it starts (`bun --preload`): measures how long its event loop is held up, and
 * tells it on the socket that LOOP_WATCH_SOCKET names.
 *
 * What counts is the processor time of the main thread between two turns of the loop, not the time on the clock: a busy
 * machine stops every thread for longer than any input of a client could, and that says nothing about the gateway.
 */
export interface LoopFigures {
  /** The longest stretch between two turns, in milliseconds of the main thread's processor time. */
  readonly cpuMs: number;
  /** The longest one on the clock. */
  readonly wallMs: number;
}

const TICK_MS = 1;

const cpuNow = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

function watch(socket: string) {
  let lastCpu = cpuNow();
  let lastWall = performance.now();
  let worst = { cpuMs: 0, wallMs: 0 };
  const tick = () => {
    const cpu = cpuNow();
    const wall = performance.now();
    worst = {
      cpuMs: Math.max(worst.cpuMs, cpu - lastCpu),
      wallMs: Math.max(worst.wallMs, wall - lastWall),
    };
    lastCpu = cpu;
    lastWall = wall;
  };
  setInterval(tick, TICK_MS);
  Bun.serve({
    unix: socket,
    fetch() {
      tick();
      const told = worst;
      worst = { cpuMs: 0, wallMs: 0 };
      return Response.json(told);
    },
  });
}

const socket = process.env.LOOP_WATCH_SOCKET;
if (socket && Bun.isMainThread) watch(socket);
