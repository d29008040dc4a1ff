import { readdirSync, readFileSync } from 'node:fs';

/** What the kernel says about a process; CPU in milliseconds, whole threads included, since its start. */
interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly cpuMs: number;
  readonly startedAt: string;
}

// The kernel reports to user space in ticks of 1/100 s on every platform Linux runs on.
const MS_PER_TICK = 10;

function readStat(pid: number, file = `/proc/${pid}/stat`): ProcessStat | undefined {
  let line: string;
  try {
    line = readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
  // The name in parentheses may contain spaces and parentheses itself; fields are counted after its end.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  // utime, stime, and those of children that ended and were waited for.
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
  return { pid, parent: Number(fields[1]), cpuMs: ticks * MS_PER_TICK, startedAt: fields[19]! };
}

/** The process and everything it started, in no particular order. */
export function processTree(root: number): ProcessStat[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readStat(Number(name)))
    .filter((stat) => stat !== undefined);
  const tree = all.filter((stat) => stat.pid === root);
  for (let index = 0; index < tree.length; index++) {
    tree.push(...all.filter((stat) => stat.parent === tree[index]!.pid));
  }
  return tree;
}

export function cpuMsOf(root: number): number {
  return processTree(root).reduce((sum, stat) => sum + stat.cpuMs, 0);
}

/** The CPU of each thread of the process and of everything it started: what runs in one thread fills no second core. */
export function threadsCpuMs(root: number): Map<string, number> {
  const threads = new Map<string, number>();
  for (const { pid } of processTree(root)) {
    for (const file of threadFiles(pid)) threads.set(file, readStat(pid, file)?.cpuMs ?? 0);
  }
  return threads;
}

function threadFiles(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}/stat`);
  } catch {
    return [];
  }
}

/** What threads have done. */
export interface Activity {
  readonly cpuUs: number;
  /** How often a thread that had been waiting went on. */
  readonly wakeUps: number;
}

/** What each thread of a process and of everything it started has done since it began. Finer than the ticks of `cpuMsOf`. */
export function activityOf(root: number): Map<string, Activity> {
  const threads = new Map<string, Activity>();
  for (const { pid } of processTree(root))
    for (const file of threadFiles(pid)) {
      const read = (name: string): string => {
        try {
          return readFileSync(file.replace(/stat$/, name), 'latin1');
        } catch {
          return '';
        }
      };
      const cpuUs = Number(read('schedstat').split(' ')[0]) / 1_000;
      const wakeUps = Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(read('status'))?.[1] ?? 0);
      threads.set(file, { cpuUs, wakeUps });
    }
  return threads;
}

/**
 * Adds up what threads did between looks. One that has ended counts up to the last look at it, and takes nothing of what
 * the others did away.
 */
export class ActivitySum {
  #before: ReadonlyMap<string, Activity>;
  #cpuUs = 0;
  #wakeUps = 0;

  constructor(before: ReadonlyMap<string, Activity>) {
    this.#before = before;
  }

  look(now: ReadonlyMap<string, Activity>): Activity {
    for (const [thread, { cpuUs, wakeUps }] of now) {
      const before = this.#before.get(thread);
      this.#cpuUs += Math.max(0, cpuUs - (before?.cpuUs ?? 0));
      this.#wakeUps += Math.max(0, wakeUps - (before?.wakeUps ?? 0));
    }
    this.#before = now;
    return { cpuUs: this.#cpuUs, wakeUps: this.#wakeUps };
  }
}

export function isSameProcess(stat: ProcessStat): boolean {
  return readStat(stat.pid)?.startedAt === stat.startedAt;
}

/** Resident memory of the process and everything it started. */
export function residentKb(root: number): number {
  return processTree(root).reduce((sum, { pid }) => {
    try {
      return sum + Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0);
    } catch {
      return sum;
    }
  }, 0);
}

/** The whole machine: busy time, and time a hypervisor gave to other machines while we wanted to run. */
export function machineCpuMs(): { busy: number; stolen: number } {
  const line = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0]!;
  const [user, nice, system, , , irq, softirq, stolen] = line.split(/\s+/).slice(1).map(Number);
  return { busy: (user! + nice! + system! + irq! + softirq!) * MS_PER_TICK, stolen: stolen! * MS_PER_TICK };
}
