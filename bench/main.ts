/** `npm run bench`: measures what README.md of this folder describes, and writes results.md. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, release, setPriority } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Contender, type ContenderName, start } from './contenders.ts';
import { chooseCores, FULL, type Lab, QUICK } from './lab.ts';
import { measureChunks } from './measure/chunks.ts';
import { measureCpu } from './measure/cpu.ts';
import { measureLatency } from './measure/latency.ts';
import { type MemorySample, measureMemory } from './measure/memory.ts';
import { measureStart } from './measure/start.ts';
import { cpuMsOf, machineCpuMs } from './proc.ts';
import { freePort, Processes, untilAnswers } from './processes.ts';
import { details, type Findings, verdictTable } from './report.ts';
import { findTools, MissingTools, type Tools } from './tools.ts';

const measurements = ['cpu', 'chunks', 'latency', 'memory', 'start'] as const;
type Measurement = (typeof measurements)[number];

const usage = `bun bench/main.ts [--quick] [--only ${measurements.join(',')}] [--gateway path/to/src/main.ts]`;

interface Options {
  readonly isQuick: boolean;
  readonly only: readonly Measurement[];
  readonly entry: string;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: { quick: { type: 'boolean' }, only: { type: 'string' }, gateway: { type: 'string' } },
  });
  const only = values.only?.split(',') ?? [...measurements];
  const isMeasurement = (name: string): name is Measurement => (measurements as readonly string[]).includes(name);
  const unknown = only.filter((name) => !isMeasurement(name));
  if (unknown.length > 0) throw new Error(`No measurement is called ${unknown.join(', ')}. ${usage}`);
  return {
    isQuick: values.quick ?? false,
    only: only.filter(isMeasurement),
    entry: resolve(values.gateway ?? join(import.meta.dir, '../src/main.ts')),
  };
}

const beganAt = performance.now();
const say = (line: string): void => {
  console.log(`${((performance.now() - beganAt) / 1_000).toFixed(1).padStart(6)} s  ${line}`);
};

async function measure(lab: Lab, only: readonly Measurement[]): Promise<Findings> {
  const wants = (name: Measurement): boolean => only.includes(name);
  const findings: { -readonly [Name in keyof Findings]: Findings[Name] } = {};
  if (wants('start')) findings.start = await measureStart(lab);
  if (wants('memory')) {
    const memory: MemorySample[] = [];
    for (const name of ['gateway', 'portkey'] as const) memory.push(await measureMemory(lab, name));
    findings.memory = memory;
  }
  if (wants('cpu') || wants('chunks') || wants('latency')) {
    const contenders: Contender[] = [];
    for (const name of ['nginx', 'gateway', 'portkey'] satisfies ContenderName[]) {
      contenders.push(await start[name](lab));
      say(`${name} is up`);
    }
    if (wants('cpu')) findings.cpu = await measureCpu(lab, contenders);
    if (wants('chunks')) findings.chunks = await measureChunks(lab, contenders);
    if (wants('latency')) findings.latency = await measureLatency(lab, contenders, findings.cpu);
    for (const contender of contenders) if (contender.ownAccount) lab.note(await contender.ownAccount());
  }
  return findings;
}

function machine(): string {
  const information = readFileSync('/proc/cpuinfo', 'latin1');
  const model = /^model name\s*:\s*(.+)$/m.exec(information)?.[1] ?? process.arch;
  return `${navigator.hardwareConcurrency} cores, ${model}, Linux ${release()}, ${process.arch}`;
}

function placement({ proxy, upstream, load }: Lab['cores']): string {
  const rivalry =
    'Generator, upstream and proxy share the machine; compare columns of one run, not runs of two machines.';
  if (proxy === undefined) return `Nothing is pinned to a core. ${rivalry}`;
  return `Pinned with taskset: proxy on core ${proxy}, upstream on core ${upstream}, generator on core ${load}. ${rivalry}`;
}

interface Run {
  readonly options: Options;
  readonly findings: Findings;
  readonly tools: Tools;
  readonly cores: Lab['cores'];
  readonly notes: readonly string[];
}

function page({ options, findings, tools, cores, notes }: Run): string {
  const flags = [options.isQuick ? ' --quick' : '', options.only.length < 5 ? ` --only ${options.only.join(',')}` : ''];
  const versions = Object.entries(tools.versions).map(([name, version]) => `${name} ${version}`);
  return `# What a run measured

Written by \`bun bench/main.ts${flags.join('')}\`; [README.md](README.md) says what the numbers mean.

- Date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, took ${Math.round((performance.now() - beganAt) / 1_000)} s
- Machine: ${machine()}
- Versions: ${versions.join(', ')}
- Load: wrk with 1 thread and 32 connections (CPU), our own generators in \`bench/load\` (chunks, latency, open streams)
- ${placement(cores)}

## Against the targets

${verdictTable(findings)}

## Measurements

${details(findings)}
${notes.length > 0 ? `\n## Notes\n\n${notes.map((note) => `- ${note}`).join('\n')}\n` : ''}`;
}

// Other work on the machine would otherwise show up in the tail of whoever is measured at that moment.
function goFirst(): void {
  try {
    setPriority(-10);
  } catch {
    // Only root may.
  }
}

async function run(): Promise<void> {
  const options = readOptions();
  const workFolder = join(import.meta.dir, '.work');
  mkdirSync(workFolder, { recursive: true });
  const tools = await findTools(workFolder, say);
  // Beside the code and not in /tmp: a temporary folder in memory would make every log write free.
  const folder = mkdtempSync(join(workFolder, 'run-'));
  const processes = new Processes(folder);
  goFirst();
  const tidyUp = async (): Promise<void> => {
    await processes.endAll();
    rmSync(folder, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void tidyUp().finally(() => process.exit(130)));
  }
  const notes = new Set<string>();
  try {
    const before = { machine: machineCpuMs(), own: cpuMsOf(process.pid), at: performance.now() };
    const cores = chooseCores(tools.canPin);
    const port = freePort();
    const command = [process.execPath, join(import.meta.dir, 'upstream.ts'), String(port)];
    const upstream = processes.start({ name: 'upstream', command, core: cores.upstream });
    const lab: Lab = {
      processes,
      tools,
      folder,
      gateway: { entry: options.entry, root: resolve(options.entry, '../..') },
      upstream: `http://127.0.0.1:${port}`,
      cores,
      lengths: options.isQuick ? QUICK : FULL,
      say,
      note: (remark) => void notes.add(remark),
    };
    await untilAnswers(`${lab.upstream}/ready`, upstream);
    say(`upstream is up; load average before the run ${loadavg()[0]!.toFixed(2)}`);
    const findings = await measure(lab, options.only);
    await processes.endAll();

    const capacityMs = (performance.now() - before.at) * navigator.hardwareConcurrency;
    const after = machineCpuMs();
    const foreignMs = after.busy - before.machine.busy - (cpuMsOf(process.pid) - before.own);
    const share = (ms: number): string => `${Math.max(0, (ms * 100) / capacityMs).toFixed(1)} %`;
    if (options.isQuick) notes.add('A quick run: a look, not numbers to quote.');
    if (foreignMs > capacityMs * 0.05)
      notes.add('**The machine was not quiet.** Repeat the run before believing a miss.');
    notes.add(
      `Of the machine's CPU time during the run, other work took ${share(foreignMs)} and the hypervisor withheld ` +
        `${share(after.stolen - before.machine.stolen)}.`,
    );
    console.log(`\n${details(findings)}\n\n${verdictTable(findings)}\n`);
    for (const note of notes) console.log(`- ${note}`);
    const file = join(import.meta.dir, 'results.md');
    writeFileSync(file, page({ options, findings, tools, cores, notes: [...notes] }));
    say('wrote bench/results.md');
  } finally {
    await tidyUp();
  }
}

try {
  await run();
  process.exit(0);
} catch (error) {
  console.error(error instanceof MissingTools ? error.message : error);
  process.exit(1);
}
