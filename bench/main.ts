/** `npm run bench`: measures what README.md of this folder describes, and writes results.md. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, release, setPriority } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Contender, contenderNames, start as startContender } from './contenders.ts';
import { chooseCores, FULL, type Lab, QUICK } from './lab.ts';
import { measureAgainst } from './measure/against.ts';
import { measureAnalytics } from './measure/analytics.ts';
import { measureChunks } from './measure/chunks.ts';
import { measureCpu } from './measure/cpu.ts';
import { measureFigures } from './measure/figures.ts';
import { measureLatency } from './measure/latency.ts';
import { measureLimits } from './measure/limits.ts';
import { measureMcp } from './measure/mcp.ts';
import { type MemorySample, measureMemory } from './measure/memory.ts';
import { takeMemoryBack } from './measure/memory-at-hand.ts';
import { measureNeighbours } from './measure/neighbours.ts';
import { measurePaths } from './measure/paths.ts';
import { measureProcesses } from './measure/processes.ts';
import { measureQuiet } from './measure/quiet.ts';
import { measureRealtime } from './measure/realtime.ts';
import { measureRuns } from './measure/runs.ts';
import { measureSearch } from './measure/search.ts';
import { measureStart } from './measure/start.ts';
import { measureTracing } from './measure/tracing.ts';
import { cpuMsOf, machineCpuMs } from './proc.ts';
import { Processes } from './processes.ts';
import { details, type Findings, verdictTable } from './report.ts';
import { findTools, MissingTools, type Tools } from './tools.ts';
import { startUpstream } from './upstream/start.ts';

const sections = [
  'start',
  'memory',
  'cpu',
  'chunks',
  'latency',
  'quiet',
  'limits',
  'processes',
  'paths',
  'runs',
  'search',
  'neighbours',
  'mcp',
  'realtime',
  'tracing',
  'figures',
  'analytics',
] as const;
type Section = (typeof sections)[number];

/** Takes an hour, and has a page of its own: measured when it is asked for. */
const BY_NAME: readonly Section[] = ['analytics'];
const usual = sections.filter((name) => !BY_NAME.includes(name));

const usage = `bun bench/main.ts [--quick] [--entries 1000000] [--gateway path/to/bin/gateway] [--against path/to/bin/gateway | ${sections.join(' | ')} …]`;

class UsageError extends Error {}

interface Options {
  readonly isQuick: boolean;
  readonly only: readonly Section[];
  /** How long the log becomes in `analytics`, at most. */
  readonly entries: number;
  readonly entry: string;
  /** Measured beside the gateway, and nothing else then. */
  readonly other: string | null;
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        quick: { type: 'boolean' },
        entries: { type: 'string' },
        gateway: { type: 'string' },
        against: { type: 'string' },
      },
      allowPositionals: true,
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}. ${usage}`);
  }
}

function readOptions(): Options {
  const { values, positionals } = readArguments();
  const isSection = (name: string): name is Section => (sections as readonly string[]).includes(name);
  const unknown = positionals.filter((name) => !isSection(name));
  if (unknown.length > 0) throw new UsageError(`No section is called ${unknown.join(', ')}. ${usage}`);
  if (values.against !== undefined && positionals.length > 0) throw new UsageError(usage);
  const entries = values.entries === undefined ? Number.POSITIVE_INFINITY : Number(values.entries);
  if (!(entries >= QUICK.logEntries[0]!)) throw new UsageError(`--entries is a number from ${QUICK.logEntries[0]} on.`);
  return {
    isQuick: values.quick ?? false,
    entries,
    other: values.against === undefined ? null : resolve(values.against),
    only: positionals.length > 0 ? sections.filter((name) => positionals.includes(name)) : usual,
    entry: resolve(values.gateway ?? join(import.meta.dir, '../bin/gateway')),
  };
}

/** As `npm install` does: people start the gateway from its bundle. A checkout without one runs its sources. */
function bundle(entry: string): void {
  const build = resolve(entry, '../build');
  if (existsSync(build)) Bun.spawnSync([build, 'bundle'], { stdout: 'ignore', stderr: 'inherit' });
}

function lengthsOf({ isQuick, entries }: Options): Lab['lengths'] {
  const lengths = isQuick ? QUICK : FULL;
  return { ...lengths, logEntries: lengths.logEntries.filter((count) => count <= entries) };
}

const isWhole = ({ only, other }: Options): boolean => only === usual && other === null;

const checkoutOf = (entry: string): Lab['gateway'] => ({ entry, root: resolve(entry, '../..') });

const beganAt = performance.now();
const say = (line: string): void => {
  console.log(`${((performance.now() - beganAt) / 1_000).toFixed(1).padStart(6)} s  ${line}`);
};

async function measure(lab: Lab, only: readonly Section[]): Promise<Findings> {
  const wants = (name: Section): boolean => only.includes(name);
  const memory: MemorySample[] = [];
  const start = wants('start') ? await measureStart(lab) : undefined;
  if (wants('memory')) for (const name of ['gateway', 'portkey'] as const) memory.push(await measureMemory(lab, name));
  return {
    start,
    memory,
    ...(await sideBySide(lab, wants)),
    quiet: wants('quiet') ? await measureQuiet(lab) : [],
    limits: wants('limits') ? await measureLimits(lab) : [],
    processes: wants('processes') ? await measureProcesses(lab) : [],
    paths: wants('paths') ? await measurePaths(lab) : [],
    runs: wants('runs') ? await measureRuns(lab) : [],
    search: wants('search') ? await measureSearch(lab) : [],
    neighbours: wants('neighbours') ? await measureNeighbours(lab) : [],
    mcp: wants('mcp') ? await measureMcp(lab) : [],
    realtime: wants('realtime') ? await measureRealtime(lab) : [],
    tracing: wants('tracing') ? await measureTracing(lab) : [],
    figures: wants('figures') ? await measureFigures(lab) : [],
    analytics: wants('analytics') ? await measureAnalytics(lab) : [],
  };
}

/** The sections in which the same processes are compared. */
async function sideBySide(
  lab: Lab,
  wants: (name: Section) => boolean,
): Promise<Pick<Findings, 'cpu' | 'chunks' | 'latency'>> {
  if (!wants('cpu') && !wants('chunks') && !wants('latency')) return {};
  const contenders: Contender[] = [];
  for (const name of contenderNames) {
    contenders.push(await startContender[name](lab));
    say(`${name} is up`);
  }
  const cpu = wants('cpu') ? await measureCpu(lab, contenders) : [];
  const chunks = wants('chunks') ? await measureChunks(lab, contenders) : [];
  const latency = wants('latency') ? await measureLatency(lab, contenders, cpu) : [];
  for (const contender of contenders) if (contender.ownAccount) lab.note(await contender.ownAccount());
  await Promise.all(contenders.map((contender) => contender.end()));
  return { cpu, chunks, latency };
}

function machine(): string {
  const information = readFileSync('/proc/cpuinfo', 'latin1');
  const model = /^model name\s*:\s*(.+)$/m.exec(information)?.[1] ?? process.arch;
  return `${navigator.hardwareConcurrency} cores, ${model}, Linux ${release()}, ${process.arch}`;
}

function placement({ proxy, upstream, load, stores }: Lab['cores']): string {
  const rivalry =
    'Generator, upstream and proxy share the machine; compare columns of one run, not runs of two machines.';
  if (proxy === undefined) return `Nothing is pinned to a core. ${rivalry}`;
  const others = `upstream on core ${upstream}, generator on core ${load}, PostgreSQL and Redis on core ${stores}`;
  return `Pinned with taskset, save for \`processes\`: proxy on core ${proxy}, ${others}. ${rivalry}`;
}

interface Run {
  readonly options: Options;
  readonly findings: Findings;
  readonly tools: Tools;
  readonly cores: Lab['cores'];
  readonly notes: readonly string[];
}

function page({ options, findings, tools, cores, notes }: Run): string {
  const flags = [
    options.isQuick ? ' --quick' : '',
    ...(options.other ? [' --against'] : isWhole(options) ? [] : options.only.map((name) => ` ${name}`)),
  ];
  const versions = Object.entries(tools.versions).map(([name, version]) => `${name} ${version}`);
  return `# What a run measured

Written by \`bun bench/main.ts${flags.join('')}\`; [README.md](README.md) says what the numbers mean.

- Date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, took ${Math.round((performance.now() - beganAt) / 1_000)} s
- Machine: ${machine()}
- Versions: ${versions.join(', ')}
- Load: wrk with 1 thread and 32 connections (CPU per call), our own generators in \`bench/load\` (chunks, latency, open streams)
- ${placement(cores)}

## Against the targets

${verdictTable(findings)}

## Measurements

${details(findings)}
${notes.length > 0 ? `\n## Notes\n\n${notes.map((note) => `- ${note}`).join('\n')}\n` : ''}`;
}

// Other work on the machine would otherwise show up in the tail of the proxy that is measured at that moment.
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
  for (const entry of [options.entry, ...(options.other ? [options.other] : [])]) bundle(entry);
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
    const lab: Lab = {
      processes,
      tools,
      folder,
      gateway: checkoutOf(options.entry),
      upstream: await startUpstream(processes, folder, cores.upstream),
      cores,
      lengths: lengthsOf(options),
      say,
      note: (remark) => void notes.add(remark),
    };
    say(`upstream is up; load average before the run ${loadavg()[0]!.toFixed(2)}`);
    takeMemoryBack(lab);
    const { other } = options;
    const findings = other
      ? { against: await measureAgainst(lab, checkoutOf(other)) }
      : await measure(lab, options.only);
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
    // A look at a part of it must not take the place of the last whole run.
    const file = isWhole(options) && !options.isQuick ? 'results.md' : '.work/last-run.md';
    writeFileSync(join(import.meta.dir, file), page({ options, findings, tools, cores, notes: [...notes] }));
    say(`wrote bench/${file}`);
  } finally {
    await tidyUp();
  }
}

try {
  await run();
  process.exit(0);
} catch (error) {
  console.error(error instanceof MissingTools || error instanceof UsageError ? error.message : error);
  process.exit(1);
}
