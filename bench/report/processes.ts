import type { ProcessesSample } from '../measure/processes.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { shown, type Verdict } from './verdict.ts';

/** From here on a core counts as full: measuring itself and the kernel's bookkeeping take the rest. */
const FULL = 0.9;

export function processVerdicts(samples: readonly ProcessesSample[]): Verdict[] {
  return counts(samples).map((count) => {
    const sample = middle(samples, count);
    const detail = ` (${boundOf(sample)})`;
    return shown({ what: `${nameOf(count)} on PostgreSQL`, unit: 'calls/s', value: sample.callsPerSecond, detail });
  });
}

export function processDetails(samples: readonly ProcessesSample[]): string[] {
  if (samples.length === 0) return [];
  const rows = counts(samples).map((count) => {
    const rates = samples.filter(({ processes }) => processes === count).map((one) => one.callsPerSecond);
    const sample = middle(samples, count);
    const { proxy, busiestThread, generator, upstream, database } = sample;
    const parts = [proxy, busiestThread, generator, upstream, database, otherWork(sample)].map(short);
    return [nameOf(count), short(median(rates)), span(rates), ...parts, boundOf(sample)];
  });
  const head = ['', 'calls/s', 'rounds', 'gateway', 'its busiest thread', 'generator', 'upstream', 'PostgreSQL'];
  return [
    '### Processes that share the port',
    `Nothing pinned, 0.3 KB. CPU in cores: 1 is one core, busy all the time; the machine has ${samples[0]!.cores}.`,
    table([...head, 'other work', ''], rows),
  ];
}

/** What would have to be larger for more calls to get through. */
export function boundOf(sample: ProcessesSample): string {
  const { machine, cores, generator, upstream, busiestThread } = sample;
  const other = otherWork(sample);
  if (machine >= FULL * cores) {
    const whose = other > (1 - FULL) * cores ? `, ${short(other)} of them with other work` : '';
    return `bound by the machine: its ${cores} cores are full${whose}`;
  }
  if (generator >= FULL) return 'bound by the generator, which has one thread';
  if (upstream >= FULL) return 'bound by the upstream, which has one thread';
  if (busiestThread >= FULL) return 'bound by a thread of the gateway that fills a core';
  return 'bound by waiting: no core was full';
}

/** What the kernel charges to no process, and what does not belong to the bench. */
const otherWork = ({ machine, proxy, generator, upstream, database }: ProcessesSample): number =>
  Math.max(0, machine - proxy - generator - upstream - database);

const nameOf = (count: number): string => (count === 1 ? '1 process' : `${count} processes`);

const counts = (samples: readonly ProcessesSample[]): number[] =>
  [...new Set(samples.map((one) => one.processes))].sort();

/** The median of each number. */
function middle(samples: readonly ProcessesSample[], count: number): ProcessesSample {
  const own = samples.filter(({ processes }) => processes === count);
  const of = (pick: (one: ProcessesSample) => number): number => median(own.map(pick));
  return {
    processes: count,
    callsPerSecond: of((one) => one.callsPerSecond),
    proxy: of((one) => one.proxy),
    busiestThread: of((one) => one.busiestThread),
    generator: of((one) => one.generator),
    upstream: of((one) => one.upstream),
    database: of((one) => one.database),
    machine: of((one) => one.machine),
    cores: own[0]!.cores,
  };
}
