import { expect, test } from 'bun:test';
import { seeded } from '../../../test/fuzz.ts';
import { pack } from '../../../test/telemetry/cells.ts';
import { nothing } from './amount.ts';
import {
  addAll,
  addPairs,
  bucketOf,
  count,
  type Histogram,
  inOrder,
  pairsOf,
  percentileOf,
  Spectra,
  Spectrum,
} from './histogram.ts';

const random = seeded(7);
const fraction = () => random.below(1_000_000) / 1_000_000;
const normal = () => Math.sqrt(-2 * Math.log(1 - fraction())) * Math.cos(2 * Math.PI * fraction());

const DISTRIBUTIONS: Readonly<Record<string, () => number>> = {
  uniform: () => random.below(1_000_000),
  exponential: () => -Math.log(1 - fraction()) * 50_000,
  'log-normal': () => Math.exp(10 + 2 * normal()),
  'two humps': () => (random.chance(0.7) ? 900 + random.below(200) : 3_000_000 + random.below(900_000)),
  'nearly all the same': () => (random.chance(0.99) ? 1_234 : 99_999_999),
  'small numbers and zero': () => random.below(4),
};

for (const [name, draw] of Object.entries(DISTRIBUTIONS)) {
  test(`percentiles of values that are ${name} are off by 1 % at most, also when histograms are merged`, () => {
    const values = Array.from({ length: 20_000 }, () => Math.round(draw()));
    const parts: Histogram[] = [new Map(), new Map(), new Map()];
    for (const value of values) count(random.pick(parts), bucketOf(value), 1);
    const merged: Histogram = new Map();
    for (const part of parts) addPairs(merged, JSON.parse(pairsOf(part)));
    const sorted = values.toSorted((one, other) => one - other);
    for (const hundredths of [1, 25, 50, 90, 99, 100]) {
      const exact = sorted[Math.ceil((hundredths * sorted.length) / 100) - 1]!;
      expect(Math.abs(percentileOf(merged, hundredths)! - exact)).toBeLessThanOrEqual(exact * 0.0101);
    }
  });
}

test.each([
  ['each bucket by itself', () => new Map<number, number>()],
  ['a place for every bucket', () => new Spectrum()],
] as const)('what is added and taken away leaves nothing: %s', (_, empty) => {
  const [one, other]: Histogram[] = [empty(), empty()];
  for (let value = 0; value < 1e9; value = value * 3 + 1) {
    count(one!, bucketOf(value), 5);
    count(other!, bucketOf(value), -5);
  }
  addAll(one!, other!);
  expect([...one!].filter(([, times]) => times !== 0)).toEqual([]);
  expect(percentileOf(one!, 50)).toBeNull();
});

test('large counts and losses survive being written', () => {
  const histogram: Histogram = new Map([
    [0, 2 ** 40],
    [1_151, -3],
  ]);
  const read: Histogram = new Map();
  addPairs(read, JSON.parse(pairsOf(histogram)));
  expect(read).toEqual(histogram);
});

test('histograms that were added to empty ones, or begun like others, change by themselves', () => {
  const spectra: Spectrum[] = [new Spectrum()];
  const maps: Histogram[] = [new Map()];
  for (let round = 0; round < 400; round++) {
    const [at, other] = [random.below(spectra.length), random.below(spectra.length)];
    const bucket = random.below(random.chance(0.9) ? 100 : 1_500);
    switch (random.below(4)) {
      case 0:
        spectra.push(new Spectrum());
        maps.push(new Map());
        break;
      case 1:
        if (at === other) break;
        addAll(spectra[at]!, spectra[other]!);
        addAll(maps[at]!, maps[other]!);
        break;
      case 2:
        spectra[at]!.set(bucket, round);
        maps[at]!.set(bucket, round);
        break;
      default:
        spectra[at]!.add(bucket, round % 3);
        count(maps[at]!, bucket, round % 3);
    }
    const gone = random.below(12);
    if (spectra.length > 12) for (const each of [spectra, maps]) each.splice(gone, 1);
    for (const [number, spectrum] of spectra.entries()) {
      const expected = inOrder(maps[number]!).filter(([, times]) => times !== 0);
      expect([...spectrum]).toEqual(expected as [number, number][]);
    }
  }
});

test('histograms of cells are read as they were written, large counts and losses too', () => {
  const cells = Array.from({ length: 200 }, (_, id) => {
    const amount = nothing();
    amount.sums.calls = 1;
    for (let left = random.below(20); left > 0; left--)
      amount.durations.set(
        random.below(1_600),
        random.pick([1, -1, 63, -64, 64, 9_000, -9_000, 2 ** 31, 2 ** 40, -(2 ** 40)]),
      );
    return { key: [id], amount };
  });
  const { durations } = pack(cells, 1, 'in runs');
  const meant = cells.filter(() => random.chance(0.5));
  const read = new Spectra();
  for (const _ of meant) read.begin();
  const ids = Int32Array.from(meant, ({ key: [id] }) => id!);
  read.add(durations, ids, Int32Array.from(meant.keys()));
  for (const [at, { amount }] of meant.entries()) expect([...read.of(at)]).toEqual(inOrder(amount.durations) as never);
});

test('histograms of many cells are added up where each belongs, and change by themselves then', () => {
  const expected: Histogram[] = [];
  const spectra = new Spectra();
  for (let chunk = 0; chunk < 40; chunk++) {
    const cells = Array.from({ length: 1 + random.below(60) }, (_, id) => {
      const amount = nothing();
      amount.sums.calls = 1;
      const around = random.below(1_500);
      for (let left = random.below(300); left > 0; left--)
        amount.durations.set(
          around + random.below(random.chance(0.9) ? 90 : 700),
          random.pick([1, 2, 70, -1, 2 ** 33]),
        );
      return { key: [id], amount };
    });
    const ids = cells.flatMap(({ key: [id] }) => (random.chance(0.6) ? [id!] : []));
    const numbers = ids.map((id) => {
      const number = random.chance(0.2) ? expected.length : random.below(expected.length + 1);
      if (number === expected.length) {
        expected.push(new Map());
        spectra.begin();
      }
      addAll(expected[number]!, cells[id]!.amount.durations);
      return number;
    });
    spectra.add(pack(cells, 1, 'in runs').durations, Int32Array.from(ids), Int32Array.from(numbers));
  }
  expect(expected.length).toBeGreaterThan(64);
  const pairs = (histogram: Histogram) => inOrder(histogram).filter(([, times]) => times !== 0);
  const shown = expected.map(pairs);
  for (const number of expected.keys()) {
    const one = spectra.of(number);
    expect(pairs(one)).toEqual(shown[number]!);
    one.add(700, 1);
    expect(pairs(spectra.of(number))).toEqual(shown[number]!);
  }
});
