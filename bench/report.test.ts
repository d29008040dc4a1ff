import { expect, test } from 'bun:test';
import type { ChunkSample } from './measure/chunks.ts';
import type { CpuSample } from './measure/cpu.ts';
import type { LatencySample } from './measure/latency.ts';
import type { LimitsSample } from './measure/limits.ts';
import type { PathName } from './measure/paths.ts';
import { pathNames } from './measure/paths.ts';
import type { ProcessesSample } from './measure/processes.ts';
import { boundOf } from './report/processes.ts';
import { table } from './report/table.ts';
import { details, verdicts, verdictTable } from './report.ts';

const cpu = (name: CpuSample['name'], ...costs: number[]): CpuSample[] =>
  (['0.3 KB', '60 KB'] as const).flatMap((size) =>
    costs.map((microsecondsPerCall) => ({
      name,
      size,
      microsecondsPerCall,
      callsPerSecond: 1_000,
      busy: 1,
      turns: [microsecondsPerCall],
    })),
  );

const latency = (size: LatencySample['size'], addedP99: number, callsPerSecond = 500): LatencySample => ({
  name: 'gateway',
  size,
  wanted: 500,
  callsPerSecond,
  addedP50: 0.2,
  addedP99,
  addedP99WithStalls: addedP99,
  directP50: 0.4,
  directP99: 1,
  leftOut: 0,
  generatorLagP99: 1,
});

test('a verdict takes the median of the rounds, so one bad round changes nothing', () => {
  const rows = verdicts({
    cpu: [...cpu('nginx', 20, 20, 20), ...cpu('gateway', 80, 900, 90), ...cpu('portkey', 1_500)],
  });
  expect(rows.map(({ value, isMet }) => [value, isMet])).toEqual([
    ['4.50 × (90.0 / 20.0 µs)', true],
    ['16.7 × (1,500 / 90.0 µs)', true],
    ['4.50 × (90.0 / 20.0 µs)', true],
    ['16.7 × (1,500 / 90.0 µs)', true],
  ]);
});

test('a number on its limit passes and one above it is a miss', () => {
  const rows = verdicts({ latency: [latency('0.3 KB', 2), latency('60 KB', 4.1)] });
  expect(rows.map(({ isMet }) => isMet)).toEqual([true, true, false]);
});

test('a rate that could not be held is a miss of its own, however fast the calls were', () => {
  const rows = verdicts({ latency: [latency('0.3 KB', 1, 240), latency('60 KB', 1)] });
  expect(rows.at(-1)).toEqual({ what: '500 calls/s, 0.3 KB', target: 'held', value: 'only 240', isMet: false });
});

test('what was not measured is neither judged nor shown', () => {
  const findings = { start: { firstMs: [400, 900, 450], againMs: [510, 520, 530] } };
  expect(verdictTable(findings).split('\n').slice(2)).toEqual([
    '| start to ready, first start  | ≤ 500 ms | 450 ms | pass |',
    '| start to ready, later starts | ≤ 500 ms | 520 ms | MISS |',
  ]);
  expect(details(findings)).not.toContain('CPU');
});

test('what a run takes is the difference to the chat calls of the same round', () => {
  const sample = (chatP50: number, runP50: number) => ({
    ...{ chatP50, runP50, plainP50: 2, toolP50: 9, pageP50: 1, pageP99: 6 },
  });
  const rows = verdicts({ runs: [sample(2, 10), sample(40, 60), sample(2, 14)] });
  expect(rows.map(({ value, isMet }) => [value, isMet])).toEqual([
    ['12.0 ms', true],
    ['7.00 ms', true],
    ['1.00 ms', true],
  ]);
  expect(details({ runs: [sample(2, 18)] })).toContain('| the difference');
});

test('a table is aligned markdown', () => {
  expect(table(['a', ''], [['long cell', 'b']])).toBe('| a         |     |\n|-----------|-----|\n| long cell | b   |');
});

const limits = (store: LimitsSample['store'], ...rounds: [without: number, limited: number][]): LimitsSample[] =>
  rounds.flatMap((costs, round) =>
    costs.map((microsecondsPerCall, index) => ({
      store,
      round,
      hasLimits: index === 1,
      microsecondsPerCall,
      callsPerSecond: 1_000,
      busy: 1,
      turns: [microsecondsPerCall],
    })),
  );

test('what limits add is the difference within each round, on the same store', () => {
  // The machine was slow in the second round: the medians of all rounds would say 50 µs.
  const slowed = limits('embedded', [100, 110], [160, 172], [90, 150]);
  const rows = verdicts({ limits: [...slowed, ...limits('postgres', [200, 900]), ...limits('redis', [200, 261])] });
  expect(rows.map(({ target, value, isMet }) => [target, value, isMet])).toEqual([
    ['≤ 15 µs', '12.0 µs (150 / 100 µs)', true],
    ['none', '700 µs (900 / 200 µs)', null],
    ['≤ 60 µs', '61.0 µs (261 / 200 µs)', false],
  ]);
});

const paths = (costs: Readonly<Record<PathName, number>>) =>
  pathNames.map((path) => ({
    path,
    microsecondsPerCall: costs[path],
    callsPerSecond: 1_000,
    busy: 1,
    turns: [costs[path]],
  }));

test('a streamed translation is compared with a streamed identity, everything else with the plain one', () => {
  const found = paths({
    identity: 100,
    large: 200,
    translated: 201,
    cached: 100,
    fallback: 250,
    guarded: 161,
    tls: 130,
    streamed: 1_000,
    unaskedStream: 1_100,
    translatedStream: 1_900,
  });
  expect(verdicts({ paths: found }).map(({ value, isMet }) => [value, isMet])).toEqual([
    ['2.01 × (201 / 100 µs)', false],
    ['1.90 × (1,900 / 1,000 µs)', true],
    ['1.10 × (1,100 / 1,000 µs)', null],
    ['1.00 × (100 / 100 µs)', true],
    ['2.50 × (250 / 100 µs)', null],
    ['1.30 × (130 / 100 µs)', null],
    ['61.0 µs', false],
  ]);
});

test('what bounds the processes is the machine first, then whichever single thread is full', () => {
  const idle: ProcessesSample = {
    processes: 1,
    callsPerSecond: 5_000,
    proxy: 0.5,
    busiestThread: 0.4,
    generator: 0.1,
    upstream: 0.2,
    database: 0.1,
    machine: 1,
    cores: 8,
  };
  const bounds = [
    idle,
    { ...idle, busiestThread: 0.95 },
    { ...idle, upstream: 0.95 },
    { ...idle, generator: 0.95, upstream: 0.95 },
    { ...idle, generator: 0.95, machine: 7.5, proxy: 6 },
    { ...idle, machine: 7.9 },
  ].map((sample) => boundOf(sample).replace('bound by ', ''));
  expect(bounds).toEqual([
    'waiting: no core was full',
    'a thread of the gateway that fills a core',
    'the upstream, which has one thread',
    'the generator, which has one thread',
    'the machine: its 8 cores are full',
    'the machine: its 8 cores are full, 7.00 of them with other work',
  ]);
});

test('a number without a target is shown without a verdict', () => {
  const lines = verdictTable({ limits: limits('postgres', [200, 300]) }).split('\n');
  expect(lines.at(-1)).toMatch(/\| none {3}\| 100 µs \(300 \/ 200 µs\) \| {5}\|$/);
});

test('what a search holds up is the difference to another call in quiet', () => {
  const sample = (p50: number, busyP50: number) => ({ p50, p99: 90, cpu: 30, quietP50: 0.5, busyP50, busyP99: 8 });
  const rows = verdicts({ search: [sample(20, 1), sample(80, 30), sample(22, 1.5)] });
  expect(rows.map(({ value, isMet }) => [value, isMet])).toEqual([
    ['22.0 ms', true],
    ['1.00 ms', true],
  ]);
  expect(details({ search: [sample(20, 1)] })).toContain('CPU of the gateway per search');
});

test('what one more chunk costs is told apart from what opens a stream', () => {
  const chunk = (name: ChunkSample['name'], kind: ChunkSample['kind'], perStreamUs: number, perChunkUs: number) => {
    const events = (kind === 'long' ? 1_000 : 200) + 3;
    const microsecondsPerChunk = (perStreamUs + perChunkUs * events) / events;
    return { name, kind, microsecondsPerChunk, eventsPerRead: 1 };
  };
  const both = (name: ChunkSample['name'], perStreamUs: number, perChunkUs: number) =>
    (['usual', 'long'] as const).map((kind) => chunk(name, kind, perStreamUs, perChunkUs));
  const chunks = [
    ...both('nginx', 203, 10),
    ...both('bare', 203, 12),
    ...both('gateway', 2_030, 13),
    chunk('gateway', 'translated', 0, 23),
  ];

  expect(verdicts({ chunks }).map(({ value, isMet }) => [value, isMet])).toEqual([
    ['2.09 × (23.0 / 11.0 µs)', false],
    ['1.18 × (13.0 / 11.0 µs)', null],
    ['1.30 × (13.0 / 10.0 µs)', true],
    ['1.20 × (12.0 / 10.0 µs)', null],
    ['2.09 × (23.0 / 11.0 µs)', false],
  ]);
});
