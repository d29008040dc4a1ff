import { adminHeaders, CHAT, createVirtualKey, onPostgres, spawnGateway } from '../gateway.ts';
import { type Lab, UNPINNED } from '../lab.ts';
import { saturate } from '../load/wrk.ts';
import { short } from '../numbers.ts';
import { cpuMsOf, machineCpuMs, threadsCpuMs } from '../proc.ts';
import { until } from '../processes.ts';
import { chatRequest } from '../prompt.ts';
import { openPostgres } from '../stores.ts';
import { startUpstream } from '../upstream/start.ts';
import { inTurns, type Subject, untilCalm } from './cost.ts';

/** CPU in cores: 1 is one core, busy all the time. */
export interface ProcessesSample {
  readonly processes: number;
  readonly callsPerSecond: number;
  readonly proxy: number;
  /** The busiest thread of all gateway processes. */
  readonly busiestThread: number;
  readonly generator: number;
  readonly upstream: number;
  readonly database: number;
  /** Everything that ran on the machine, and how much of it there is. */
  readonly machine: number;
  readonly cores: number;
}

interface Arm extends Subject {
  readonly processes: number;
  readonly end: () => Promise<void>;
}

const COUNTS = [1, 2] as const;

/** Nothing is pinned: the kernel shares the cores out, as it does where the gateway is at work. */
export async function measureProcesses(lab: Lab): Promise<ProcessesSample[]> {
  const postgres = await openPostgres(undefined);
  const upstream = await startUpstream(lab.processes, lab.folder);
  const unpinned: Lab = { ...lab, cores: UNPINNED, upstream };
  try {
    const arms: Arm[] = [];
    for (const processes of COUNTS) {
      const arm = await startArm(unpinned, processes, await postgres.createDatabase());
      await saturate(unpinned, arm, arm.body, processes * lab.lengths.sliceWarmUpMs);
      arms.push(arm);
    }
    const samples: ProcessesSample[] = [];
    await inTurns(arms, unpinned.lengths.rounds, async (arm, round) => {
      const sample = await measureOnce(unpinned, arm, postgres.pid);
      samples.push(sample);
      lab.say(`processes round ${round + 1}/${lab.lengths.rounds}, ${arm.label}: ${describeSample(sample)}`);
    });
    await Promise.all([...arms.map(({ end }) => end()), upstream.end()]);
    return samples;
  } finally {
    await postgres.end();
  }
}

async function startArm(lab: Lab, processes: number, databaseUrl: string): Promise<Arm> {
  const environment = { ...onPostgres(databaseUrl), GATEWAY_PROCESSES: String(processes) };
  const { origin, running } = await spawnGateway(lab, { environment });
  // The first process answers while the others still start; the greeting comes when all are there.
  await until('all processes of the gateway are ready', () => running.lastWords().includes(` on ${origin}`));
  await createVirtualKey(origin, 'bench', `${lab.upstream.url}/v1`);
  return {
    processes,
    label: processes === 1 ? '1 process' : `${processes} processes`,
    url: `${origin}${CHAT}`,
    headers: { ...adminHeaders, 'x-gateway-virtual-key': 'bench' },
    body: chatRequest(300),
    pid: running.pid,
    end: running.end,
  };
}

async function measureOnce(lab: Lab, arm: Arm, database: number): Promise<ProcessesSample> {
  await untilCalm(arm.pid);
  const look = () => ({
    threads: threadsCpuMs(arm.pid),
    proxy: cpuMsOf(arm.pid),
    upstream: cpuMsOf(lab.upstream.pid),
    database: cpuMsOf(database),
    machine: machineCpuMs(),
  });
  const before = look();
  const { calls, failed, ms, cpuMs } = await saturate(lab, arm, arm.body, lab.lengths.sliceMs);
  const after = look();
  if (failed > 0) lab.note(`${arm.label}: ${failed} of ${calls} calls failed at saturation.`);
  const threads = [...after.threads].map(([thread, cpu]) => cpu - (before.threads.get(thread) ?? 0));
  return {
    processes: arm.processes,
    callsPerSecond: (calls * 1_000) / ms,
    proxy: (after.proxy - before.proxy) / ms,
    busiestThread: Math.max(...threads) / ms,
    generator: cpuMs / ms,
    upstream: (after.upstream - before.upstream) / ms,
    database: (after.database - before.database) / ms,
    machine: (after.machine.busy + after.machine.stolen - before.machine.busy - before.machine.stolen) / ms,
    cores: navigator.hardwareConcurrency,
  };
}

const describeSample = ({ callsPerSecond, proxy, generator, upstream, database }: ProcessesSample): string =>
  `${short(callsPerSecond)} calls/s; of the cores the proxy took ${short(proxy)}, the generator ${short(generator)}, ` +
  `the upstream ${short(upstream)}, PostgreSQL ${short(database)}`;
