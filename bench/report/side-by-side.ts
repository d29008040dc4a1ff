import { type ContenderName, labels } from '../contenders.ts';
import { type SizeLabel, sizes } from '../lab.ts';
import { CHUNK_EVERY_MS, CHUNKS, type ChunkSample, STREAMS_AT_ONCE } from '../measure/chunks.ts';
import type { CpuSample } from '../measure/cpu.ts';
import { type LatencySample, RATE } from '../measure/latency.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atLeast, atMost, type Verdict } from './verdict.ts';

const order: readonly ContenderName[] = ['nginx', 'gateway', 'portkey'];
const quotient = (one: number, other: number) => ` (${short(one)} / ${short(other)} µs)`;

export function cpuVerdicts(cpu: readonly CpuSample[]): Verdict[] {
  if (cpu.length === 0) return [];
  const cost = (name: ContenderName, size: SizeLabel): number =>
    median(cpu.filter((one) => one.name === name && one.size === size).map((one) => one.microsecondsPerCall));
  return sizes.flatMap(({ label }) => {
    const [nginx, ours, portkey] = [cost('nginx', label), cost('gateway', label), cost('portkey', label)];
    return [
      atMost(5, {
        what: `CPU per call, ${label}, against nginx`,
        unit: '×',
        value: ours / nginx,
        detail: quotient(ours, nginx),
      }),
      atLeast(15, {
        what: `Portkey's CPU per call, ${label}, against ours`,
        unit: '×',
        value: portkey / ours,
        detail: quotient(portkey, ours),
      }),
    ];
  });
}

export function cpuDetails(cpu: readonly CpuSample[]): string[] {
  if (cpu.length === 0) return [];
  const rows = sizes.flatMap(({ label }) =>
    order.map((name) => {
      const samples = cpu.filter((one) => one.name === name && one.size === label);
      const costs = samples.map((one) => one.microsecondsPerCall);
      const rate = median(samples.map((one) => one.callsPerSecond));
      const busy = median(samples.map((one) => one.busy));
      const turns = samples.flatMap((one) => one.turns);
      return [
        label,
        labels[name],
        short(median(costs)),
        span(costs),
        `${short(median(turns))} (${span(turns)})`,
        short(rate),
        `${Math.round(busy * 100)} %`,
      ];
    }),
  );
  const head = ['prompt', '', 'µs per call', 'rounds', 'all turns', 'calls/s', 'core busy'];
  return ['### CPU per call at saturation', table(head, rows)];
}

export function chunkVerdicts(chunks: readonly ChunkSample[]): Verdict[] {
  if (chunks.length === 0) return [];
  const cost = (name: ContenderName): number =>
    median(chunks.filter((one) => one.name === name).map((one) => one.microsecondsPerChunk));
  const [ours, nginx] = [cost('gateway'), cost('nginx')];
  const what = 'CPU per relayed SSE chunk, against nginx';
  return [atMost(3, { what, unit: '×', value: ours / nginx, detail: quotient(ours, nginx) })];
}

export function chunkDetails(chunks: readonly ChunkSample[]): string[] {
  if (chunks.length === 0) return [];
  const rows = order.map((name) => {
    const samples = chunks.filter((one) => one.name === name);
    const costs = samples.map((one) => one.microsecondsPerChunk);
    return [labels[name], short(median(costs)), span(costs), short(median(samples.map((one) => one.eventsPerRead)))];
  });
  return [
    '### CPU per relayed chunk',
    `${STREAMS_AT_ONCE} streams at once, ${CHUNKS} chunks each, one every ${CHUNK_EVERY_MS} ms.`,
    table(['', 'µs per chunk', 'rounds', 'chunks per read at the client'], rows),
  ];
}

export function latencyVerdicts(latency: readonly LatencySample[]): Verdict[] {
  if (latency.length === 0) return [];
  const own = (size: SizeLabel) => latency.filter((one) => one.name === 'gateway' && one.size === size);
  const rate = (size: SizeLabel): number => own(size)[0]!.callsPerSecond;
  const added = (limit: number, size: SizeLabel, which: 'p50' | 'p99'): Verdict =>
    atMost(limit, {
      what: `added latency at ${rate(size)} calls/s, ${size}, ${which}`,
      unit: 'ms',
      value: median(own(size).map((one) => (which === 'p50' ? one.addedP50 : one.addedP99))),
    });
  const tooSlow = (['0.3 KB', '60 KB'] as const).filter((size) => rate(size) !== RATE);
  return [
    added(0.5, '0.3 KB', 'p50'),
    added(2, '0.3 KB', 'p99'),
    added(4, '60 KB', 'p99'),
    ...tooSlow.map((size) => ({
      what: `${RATE} calls/s, ${size}`,
      target: 'held',
      value: `only ${rate(size)}`,
      isMet: false,
    })),
  ];
}

export function latencyDetails(latency: readonly LatencySample[]): string[] {
  if (latency.length === 0) return [];
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
  const figures = ['added p50', 'added p99', 'rounds', 'p99 with stalls', 'direct p50 / p99', 'left out'];
  return ['### Added latency, milliseconds', table(['prompt', '', 'calls/s', ...figures, 'generator lag p99'], rows)];
}
