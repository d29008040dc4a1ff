import { expect, test } from 'bun:test';
import type { CpuSample } from './measure/cpu.ts';
import type { LatencySample } from './measure/latency.ts';
import { details, table, verdicts, verdictTable } from './report.ts';

const cpu = (name: CpuSample['name'], ...costs: number[]): CpuSample[] =>
  (['0.3 KB', '60 KB'] as const).flatMap((size) =>
    costs.map((microsecondsPerCall) => ({ name, size, microsecondsPerCall, callsPerSecond: 1_000, busy: 1 })),
  );

const latency = (size: LatencySample['size'], addedP99: number, callsPerSecond = 500): LatencySample => ({
  name: 'gateway',
  size,
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

test('a table is aligned markdown', () => {
  expect(table(['a', ''], [['long cell', 'b']])).toBe('| a         |     |\n|-----------|-----|\n| long cell | b   |');
});
