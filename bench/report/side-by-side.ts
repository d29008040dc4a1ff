import { type ContenderName, contenderNames, labels } from '../contenders.ts';
import { type SizeLabel, sizes } from '../lab.ts';
import {
  CHUNK_EVERY_MS,
  CHUNKS,
  type ChunkSample,
  LONG_CHUNKS,
  STREAMS_AT_ONCE,
  type StreamKind,
} from '../measure/chunks.ts';
import type { CpuSample } from '../measure/cpu.ts';
import { type LatencySample, RATES, type Rate } from '../measure/latency.ts';
import { median, short, span } from '../numbers.ts';
import { table } from './table.ts';
import { atLeast, atMost, shown, type Verdict } from './verdict.ts';

/** Those that were measured. */
const namesIn = (samples: readonly { readonly name: ContenderName }[]): ContenderName[] =>
  contenderNames.filter((name) => samples.some((one) => one.name === name));
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
    namesIn(cpu).map((name) => {
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

const chunkCosts = (chunks: readonly ChunkSample[], name: ContenderName, kind: StreamKind): number[] =>
  chunks.filter((one) => one.name === name && one.kind === kind).map((one) => one.microsecondsPerChunk);

/** What a stream has beside its chunks: its beginning, its usage, its end. */
const OTHER_EVENTS = 3;

export function chunkVerdicts(chunks: readonly ChunkSample[]): Verdict[] {
  if (chunks.length === 0) return [];
  const cost = (name: ContenderName, kind: StreamKind): number => median(chunkCosts(chunks, name, kind));
  const further = (name: ContenderName): number =>
    (cost(name, 'long') * (LONG_CHUNKS + OTHER_EVENTS) - cost(name, 'usual') * (CHUNKS + OTHER_EVENTS)) /
    (LONG_CHUNKS - CHUNKS);
  const against = (what: string, one: number, other: number) => ({
    what,
    unit: '×',
    value: one / other,
    detail: quotient(one, other),
  });
  const nginx = cost('nginx', 'usual');
  return [
    atMost(1.3, against('CPU per relayed SSE chunk, against nginx', cost('gateway', 'usual'), nginx)),
    shown(against('the same of a bare Bun relay', cost('bare', 'usual'), nginx)),
    atMost(1.3, against('CPU of one more SSE chunk, against nginx', further('gateway'), further('nginx'))),
    shown(against('the same of a bare Bun relay', further('bare'), further('nginx'))),
    atMost(
      2,
      against('CPU per translated SSE chunk, against a relayed one of nginx', cost('gateway', 'translated'), nginx),
    ),
  ];
}

const streamLabels: Readonly<Record<StreamKind, string>> = {
  usual: `${CHUNKS} chunks`,
  long: `${LONG_CHUNKS} chunks`,
  translated: `${CHUNKS} chunks, translated`,
};

export function chunkDetails(chunks: readonly ChunkSample[]): string[] {
  if (chunks.length === 0) return [];
  const rows = (['usual', 'long', 'translated'] as const).flatMap((kind) => {
    const some = chunks.filter((one) => one.kind === kind);
    return namesIn(some).map((name) => {
      const costs = chunkCosts(some, name, kind);
      const reads = some.filter((one) => one.name === name).map((one) => one.eventsPerRead);
      return [streamLabels[kind], labels[name], short(median(costs)), span(costs), short(median(reads))];
    });
  });
  return [
    '### CPU per relayed chunk',
    `${STREAMS_AT_ONCE} streams at once, a chunk every ${CHUNK_EVERY_MS} ms. What opens a stream is in it.`,
    table(['a stream has', '', 'µs per chunk', 'rounds', 'chunks per read at the client'], rows),
  ];
}

/** At the rate of the comparison, or at the one that could be held where that is less. */
const atRate = (latency: readonly LatencySample[], name: ContenderName, size: SizeLabel, rate: Rate) =>
  latency.filter((one) => one.name === name && one.size === size && one.wanted === rate);

export function latencyVerdicts(latency: readonly LatencySample[]): Verdict[] {
  if (latency.length === 0) return [];
  const own = (size: SizeLabel, rate: Rate) => atRate(latency, 'gateway', size, rate);
  const added = (limit: number, size: SizeLabel, rate: Rate, which: 'p50' | 'p99'): Verdict[] => {
    const [first] = own(size, rate);
    if (!first) return [];
    return [
      atMost(limit, {
        what: `added latency at ${first.callsPerSecond} calls/s, ${size}, ${which}`,
        unit: 'ms',
        value: median(own(size, rate).map((one) => (which === 'p50' ? one.addedP50 : one.addedP99))),
      }),
    ];
  };
  const tooSlow = latency.filter(
    (one, index) =>
      one.name === 'gateway' &&
      one.callsPerSecond < one.wanted &&
      latency.findIndex((each) => each.name === 'gateway' && each.size === one.size && each.wanted === one.wanted) ===
        index,
  );
  return [
    ...added(0.5, '0.3 KB', 500, 'p50'),
    ...added(2, '0.3 KB', 500, 'p99'),
    ...added(4, '60 KB', 500, 'p99'),
    ...added(1.2, '0.3 KB', 100, 'p99'),
    ...added(2, '60 KB', 100, 'p99'),
    ...tooSlow.map(({ wanted, size, callsPerSecond }) => ({
      what: `${wanted} calls/s, ${size}`,
      target: 'held',
      value: `only ${callsPerSecond}`,
      isMet: false,
    })),
  ];
}

export function latencyDetails(latency: readonly LatencySample[]): string[] {
  if (latency.length === 0) return [];
  const settings = sizes.flatMap(({ label }) => RATES.map((rate) => ({ label, rate })));
  const rows = settings.flatMap(({ label, rate }) =>
    contenderNames.flatMap((name) => {
      const samples = atRate(latency, name, label, rate);
      if (samples.length === 0) return [];
      const of = (pick: (one: LatencySample) => number): number => median(samples.map(pick));
      return [
        [
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
        ],
      ];
    }),
  );
  const figures = ['added p50', 'added p99', 'rounds', 'p99 with stalls', 'direct p50 / p99', 'left out'];
  return ['### Added latency, milliseconds', table(['prompt', '', 'calls/s', ...figures, 'generator lag p99'], rows)];
}
