import { expect, test } from 'bun:test';
import { builtKernel } from '../../../../test/search/kernel.ts';
import { createKernel, type Held, plainCodeSums, plainDotProducts } from './dot-products.ts';
import { KERNEL } from './dot-products-kernel.ts';
import { MOST_DIMENSIONS, NearestRows, normalised, quantised, quantisedQuery, strideOf } from './quantised.ts';
import { Regions } from './regions.ts';

const random = (length: number) => normalised(Array.from({ length }, () => Math.random() - 0.5))!;

test('the fast products are those of the plain loop, at every size', () => {
  const { dotProducts: fast } = createKernel();
  for (const [count, dimensions] of [
    [1, 16],
    [3, 48],
    [1_000, 256],
    [17, 1_536],
    [0, 16],
    [2, MOST_DIMENSIONS],
  ] as const) {
    const rows = new Int8Array(count * dimensions).map(() => Math.round(Math.random() * 254 - 127));
    const query = new Int16Array(dimensions).map(() => Math.round(Math.random() * 2_046 - 1_023));
    expect([...fast(rows, query)]).toEqual([...plainDotProducts(rows, query)]);
  }
});

test('what is held stays as it is, whatever else is held, let go or compared', () => {
  const { hold, letGo, dotProducts, codeSums } = createKernel();
  const stride = 48;
  const query = new Int16Array(stride).map(() => Math.round(Math.random() * 2_046 - 1_023));
  const tables = new Uint8Array((stride / 16) * 32).map(() => Math.floor(Math.random() * 128));
  const bytesOf = (count: number) => new Int8Array(count * stride).map(() => Math.round(Math.random() * 254 - 127));
  const kept: { bytes: Int8Array; held: Held }[] = [];
  for (let round = 0; round < 400; round++) {
    const bytes = bytesOf(16 * Math.ceil(Math.random() * 100));
    kept.push({ bytes, held: hold(bytes)! });
    // More and more, then fewer: places are taken again, in pieces and joined.
    while (kept.length > 60 - round / 10) letGo(kept.splice(Math.floor(Math.random() * kept.length), 1)[0]!.held);
    const passing = bytesOf(Math.ceil(Math.random() * 300));
    expect(dotProducts(passing, query)).toEqual(plainDotProducts(passing, query));
    for (const each of [kept[0], kept.at(-1)]) {
      if (!each) continue;
      expect(dotProducts(each.held, query)).toEqual(plainDotProducts(each.bytes, query));
      const codes = new Uint8Array(each.bytes.buffer);
      const least = new Uint16Array(codes.length / stride).fill(round % 2 === 0 ? 0 : 400);
      expect(codeSums(each.held, tables, least)).toEqual(plainCodeSums(codes, tables, least));
    }
  }
  for (const { bytes, held } of kept) expect(dotProducts(held, query)).toEqual(plainDotProducts(bytes, query));
});

test('more than may be held is not, until something is let go', () => {
  const { hold, letGo, dotProducts } = createKernel(100_000);
  const bytes = new Int8Array(40_000).fill(1);
  const [one, other, none] = [hold(bytes), hold(bytes), hold(bytes)];
  expect([one, other].every((held) => held !== null)).toBe(true);
  expect(none).toBeNull();
  // What passes through is not held, and always finds room.
  expect(dotProducts(new Int8Array(160_000).fill(1), new Int16Array(16).fill(1))[9_999]).toBe(16);
  letGo(one!);
  expect(hold(bytes)).not.toBeNull();
  expect(dotProducts(other!, new Int16Array(16).fill(2))[2_499]).toBe(32);
});

test('places that are given back are joined, and taken again before the memory grows', () => {
  const regions = new Regions();
  const [one, two, three] = [100, 100, 100].map((bytes) => regions.take(bytes, 1_000)!) as [number, number, number];
  const end = regions.end;
  expect([one, two, three, end].every((at) => at % 16 === 0)).toBe(true);
  regions.giveBack(one, 100);
  regions.giveBack(three, 100);
  expect(regions.take(200, end)).toBeNull();
  regions.giveBack(two, 100);
  expect(regions.take(300, end)).toBe(0);
  expect(regions.end).toBe(end);
  expect(regions.take(1_000, 1_000)).toBeNull();
});

test('the bytes of the kernel are those that its text is built to', async () => {
  expect(KERNEL).toBe((await builtKernel()).toBase64());
});

test('the largest numbers there can be do not overflow', () => {
  const rows = new Int8Array(MOST_DIMENSIONS).fill(-127);
  const query = new Int16Array(MOST_DIMENSIONS).fill(1_023);
  const expected = -127 * 1_023 * MOST_DIMENSIONS;
  expect(createKernel().dotProducts(rows, query)[0]).toBe(expected);
});

test('the nearest of quantised vectors are the nearest of the vectors themselves', () => {
  for (const dimensions of [64, 100, 256]) {
    const vectors = Array.from({ length: 2_000 }, () => random(dimensions));
    let agreeing = 0;
    for (let round = 0; round < 10; round++) {
      const query = random(dimensions);
      const nearest = new NearestRows(quantisedQuery(query), 10);
      nearest.look('one', quantised(vectors.slice(0, 1_500), dimensions, 0));
      nearest.look('other', quantised(vectors.slice(1_500), dimensions, 1_500));
      const cosines = vectors.map((vector) => vector.reduce((sum, value, at) => sum + value * query[at]!, 0));
      const exact = [...cosines.keys()].sort((one, other) => cosines[other]! - cosines[one]!).slice(0, 10);
      for (const { source, number, similarity } of nearest.result) {
        expect(source).toBe(number < 1_500 ? 'one' : 'other');
        expect(similarity).toBeCloseTo(cosines[number]!, 2);
        if (exact.includes(number)) agreeing++;
      }
    }
    expect(agreeing).toBeGreaterThanOrEqual(95);
  }
});

test('a chunk without a vector is near to nothing, and vectors of another length are not looked at', () => {
  const vector = random(32);
  const nearest = new NearestRows(quantisedQuery(vector), 10);
  nearest.look('mixed', quantised([null, vector, null], 32, 5));
  nearest.look('longer', quantised([random(48)], 48, 0));
  expect(nearest.result.map(({ source, number }) => [source, number])).toEqual([['mixed', 6]]);
  expect(normalised([0, 0])).toBeNull();
  expect(strideOf(33)).toBe(48);
});
