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

/** What all threads of a process and of everything it started have done since they began. */
export interface Activity {
  readonly cpuUs: number;
  /** How often a thread that had been waiting went on. */
  readonly wakeUps: number;
}

/** Finer than the ticks of `cpuMsOf`. Threads that have ended are not in it. */
export function activityOf(root: number): Activity {
  let cpuUs = 0;
  let wakeUps = 0;
  for (const { pid } of processTree(root))
    for (const file of threadFiles(pid)) {
      const read = (name: string): string => {
        try {
          return readFileSync(file.replace(/stat$/, name), 'latin1');
        } catch {
          return '';
        }
      };
      cpuUs += Number(read('schedstat').split(' ')[0]) / 1_000;
      wakeUps += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(read('status'))?.[1] ?? 0);
    }
  return { cpuUs, wakeUps };
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
