import { expect, test } from 'bun:test';
import { builtKernel } from '../../../../test/search/kernel.ts';
import { createKernel, plainDotProducts } from './dot-products.ts';
import { KERNEL } from './dot-products-kernel.ts';
import { MOST_DIMENSIONS, NearestRows, normalised, quantised, quantisedQuery, strideOf } from './quantised.ts';

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
