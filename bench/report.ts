import { type ContenderName, labels } from './contenders.ts';
import { type SizeLabel, sizes } from './lab.ts';
import { CHUNK_EVERY_MS, CHUNKS, type ChunkSample, STREAMS_AT_ONCE } from './measure/chunks.ts';
import type { CpuSample } from './measure/cpu.ts';
import { type LatencySample, RATE } from './measure/latency.ts';
import { type MemorySample, OPEN_STREAMS } from './measure/memory.ts';
import type { StartSample } from './measure/start.ts';
import { median, short, span } from './numbers.ts';

/** Everything a run measured; what was left out by `--only` is absent. */
export interface Findings {
  readonly cpu?: readonly CpuSample[];
  readonly chunks?: readonly ChunkSample[];
  readonly latency?: readonly LatencySample[];
  readonly memory?: readonly MemorySample[];
  readonly start?: StartSample;
}

interface Verdict {
  readonly what: string;
  readonly target: string;
  readonly value: string;
  readonly isMet: boolean;
}

/** The numbers we hold ourselves to, one row each. */
export function verdicts({ cpu = [], chunks = [], latency = [], memory = [], start }: Findings): Verdict[] {
  const rows: Verdict[] = [];
  const atMost = (what: string, limit: number, unit: string, value: number, detail = '') =>
    rows.push({ what, target: `≤ ${limit} ${unit}`, value: `${short(value)} ${unit}${detail}`, isMet: value <= limit });
  const atLeast = (what: string, limit: number, unit: string, value: number, detail = '') =>
    rows.push({ what, target: `≥ ${limit} ${unit}`, value: `${short(value)} ${unit}${detail}`, isMet: value >= limit });

  const cpuOf = (name: ContenderName, size: SizeLabel): number =>
    median(cpu.filter((one) => one.name === name && one.size === size).map((one) => one.microsecondsPerCall));
  if (cpu.length > 0) {
    for (const { label } of sizes) {
      const [nginx, ours, portkey] = [cpuOf('nginx', label), cpuOf('gateway', label), cpuOf('portkey', label)];
      const detail = (one: number, other: number) => ` (${short(one)} / ${short(other)} µs)`;
      atMost(`CPU per call, ${label}, against nginx`, 5, '×', ours / nginx, detail(ours, nginx));
      atLeast(`Portkey's CPU per call, ${label}, against ours`, 15, '×', portkey / ours, detail(portkey, ours));
    }
  }
  if (chunks.length > 0) {
    const chunk = (name: ContenderName): number =>
      median(chunks.filter((one) => one.name === name).map((one) => one.microsecondsPerChunk));
    const detail = ` (${short(chunk('gateway'))} / ${short(chunk('nginx'))} µs)`;
    atMost('CPU per relayed SSE chunk, against nginx', 3, '×', chunk('gateway') / chunk('nginx'), detail);
  }
  if (latency.length > 0) {
    const added = (size: SizeLabel, pick: (one: LatencySample) => number): number =>
      median(latency.filter((one) => one.name === 'gateway' && one.size === size).map(pick));
    const rate = (size: SizeLabel) =>
      latency.find((one) => one.name === 'gateway' && one.size === size)!.callsPerSecond;
    const at = (size: SizeLabel) => `at ${rate(size)} calls/s`;
    atMost(
      `added latency ${at('0.3 KB')}, 0.3 KB, p50`,
      0.5,
      'ms',
      added('0.3 KB', (one) => one.addedP50),
    );
    atMost(
      `added latency ${at('0.3 KB')}, 0.3 KB, p99`,
      2,
      'ms',
      added('0.3 KB', (one) => one.addedP99),
    );
    atMost(
      `added latency ${at('60 KB')}, 60 KB, p99`,
      4,
      'ms',
      added('60 KB', (one) => one.addedP99),
    );
    for (const size of ['0.3 KB', '60 KB'] as const) {
      if (rate(size) === RATE) continue;
      rows.push({ what: `${RATE} calls/s, ${size}`, target: 'held', value: `only ${rate(size)}`, isMet: false });
    }
  }
  const ours = memory.find((one) => one.name === 'gateway');
  if (ours) {
    atMost('memory, idle', 70, 'MB', ours.idleMb);
    atMost(`memory per open stream, of ${short(OPEN_STREAMS)}`, 30, 'KB', ours.perStreamKb);
  }
  if (start) {
    atMost('start to ready, first start', 500, 'ms', median(start.firstMs));
    atMost('start to ready, later starts', 500, 'ms', median(start.againMs));
  }
  return rows;
}

export function verdictTable(findings: Findings): string {
  return table(
    ['what', 'target', 'value', ''],
    verdicts(findings).map(({ what, target, value, isMet }) => [what, target, value, isMet ? 'pass' : 'MISS']),
  );
}

const order: readonly ContenderName[] = ['nginx', 'gateway', 'portkey'];

/** The measurements behind the verdicts. */
export function details({ cpu = [], chunks = [], latency = [], memory = [], start }: Findings): string {
  const parts: string[] = [];
  if (cpu.length > 0) {
    const rows = sizes.flatMap(({ label }) =>
      order.map((name) => {
        const samples = cpu.filter((one) => one.name === name && one.size === label);
        const costs = samples.map((one) => one.microsecondsPerCall);
        const rate = median(samples.map((one) => one.callsPerSecond));
        const busy = median(samples.map((one) => one.busy));
        return [label, labels[name], short(median(costs)), span(costs), short(rate), `${Math.round(busy * 100)} %`];
      }),
    );
    parts.push(
      '### CPU per call at saturation',
      table(['prompt', '', 'µs per call', 'rounds', 'calls/s', 'core busy'], rows),
    );
  }
  if (chunks.length > 0) {
    const rows = order.map((name) => {
      const samples = chunks.filter((one) => one.name === name);
      const costs = samples.map((one) => one.microsecondsPerChunk);
      return [labels[name], short(median(costs)), span(costs), short(median(samples.map((one) => one.eventsPerRead)))];
    });
    parts.push(
      '### CPU per relayed chunk',
      `${STREAMS_AT_ONCE} streams at once, ${CHUNKS} chunks each, one every ${CHUNK_EVERY_MS} ms.`,
      table(['', 'µs per chunk', 'rounds', 'chunks per read at the client'], rows),
    );
  }
  if (latency.length > 0) {
    const rows = sizes.flatMap(({ label }) =>
      order.map((name) => {
        const samples = latency.filter((one) => one.name === name && one.size === label);
        const of = (pick: (one: LatencySample) => number): number => median(samples.map(pick));
        return [
          label,
          labels[name],
          short(samples[0]!.callsPerSecond),
          short(of((one) => one.addedP50)),
          short(of((one) => one.addedP99)),
          span(samples.map((one) => one.addedP99)),
          short(of((one) => one.addedP99WithStalls)),
          `${short(of((one) => one.directP50))} / ${short(of((one) => one.directP99))}`,
          `${Math.round(of((one) => one.leftOut) * 100)} %`,
          short(of((one) => one.generatorLagP99)),
        ];
      }),
    );
    const head = [
      'prompt',
      '',
      'calls/s',
      'added p50',
      'added p99',
      'rounds',
      'p99 with stalls',
      'direct p50 / p99',
      'left out',
    ];
    parts.push('### Added latency, milliseconds', table([...head, 'generator lag p99'], rows));
  }
  if (memory.length > 0) {
    const rows = memory.map(({ name, idleMb, perStreamKb, afterLoadMb }) => [
      labels[name],
      short(idleMb),
      short(perStreamKb),
      afterLoadMb.map(short).join(', '),
    ]);
    parts.push('### Memory', table(['', 'idle MB', 'KB per open stream', 'MB after each of three bursts'], rows));
  }
  if (start) {
    const rows = [
      ['first start, empty data folder', short(median(start.firstMs)), span(start.firstMs)],
      ['later starts', short(median(start.againMs)), span(start.againMs)],
    ];
    parts.push('### Start to ready', table(['', 'median ms', `${start.firstMs.length} starts`], rows));
  }
  return parts.join('\n\n');
}

/** Markdown that also reads well in a terminal. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) => Math.max(3, cell.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n');
}
