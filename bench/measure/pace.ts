import { join } from 'node:path';
import type { Lab } from '../lab.ts';
import type { Span } from '../load/job.ts';
import { machineCpuMs } from '../proc.ts';

export interface PaceWatch {
  /** When one of the cores was slow, so far. */
  readonly slow: readonly Span[];
  end(): Promise<void>;
}

const LONGEST_MS = 600_000;

/** Watches the cores that are in use, on a virtual machine. Where nothing is pinned there is no core to watch. */
export function watchPace({ processes, cores }: Lab): PaceWatch {
  const slow: Span[] = [];
  const isVirtual = machineCpuMs().stolen > 0;
  const used = isVirtual ? [cores.proxy, cores.upstream, cores.load].filter((core) => core !== undefined) : [];
  const watchers = [...new Set(used)].map((core) => {
    const watcher = processes.converse(join(import.meta.dir, '../load/pace.ts'), {}, core);
    const listen = async () => {
      while (true) slow.push(await watcher.next<Span>(LONGEST_MS));
    };
    // It has nothing more to say once it has ended.
    void listen().catch(() => {});
    return watcher;
  });
  return {
    slow,
    end: async () => {
      await Promise.all(watchers.map((watcher) => watcher.close()));
    },
  };
}
