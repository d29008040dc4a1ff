import { expect, test } from 'bun:test';
import { seeded } from '../../../test/fuzz.ts';
import { type Cell, pack, unpack } from '../../../test/telemetry/cells.ts';
import { nothing, SUMS } from './amount.ts';
import { eachLarge, LAYS, type Layout, narrowed, readColumns } from './layout.ts';

const LAYOUTS = Object.keys(LAYS) as Layout[];

/** Mostly small, as calls of one user in an hour are, with some of those who call all day, and what was taken away. */
function randomCells(random: ReturnType<typeof seeded>, count: number): Cell[] {
  return Array.from({ length: count }, (_, at) => {
    const amount = nothing();
    for (const name of SUMS) {
      const size = random.chance(0.05) ? 2 ** random.below(50) : random.below(300);
      amount.sums[name] = random.chance(0.02) ? 0 - size : size;
    }
    amount.sums.calls = 1 + at;
    return { key: [1 + Math.floor(at / 7), 1 + at], amount };
  });
}

for (const layout of LAYOUTS)
  test(`cells that are laid "${layout}" are read as they were, all of them and some`, () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = seeded(seed);
      const cells = randomCells(random, 1 + random.below(400));
      const packed = pack(cells, 2, layout);
      expect(unpack(packed, 2)).toEqual(cells);

      const meant = Int32Array.from(cells.keys()).filter(() => random.chance(0.3));
      const some = narrowed(readColumns(packed.sums, packed.more, 2), meant, 2, true);
      for (const [place, name] of SUMS.entries()) {
        const { column, large } = some.sum(place);
        const sums = Float64Array.from(column ?? new Float64Array(meant.length));
        if (large)
          eachLarge(large, Int32Array.from(meant.keys()), (at, value) => {
            sums[at]! += value;
          });
        expect([...sums]).toEqual([...meant].map((cell) => cells[cell]!.amount.sums[name]));
      }
    }
  });

test('a few large sums do not widen the column of many small ones', () => {
  const cells = Array.from({ length: 1_000 }, (_, at): Cell => {
    const amount = nothing();
    amount.sums.calls = 1;
    amount.sums.cost = at % 100 === 0 ? 2 ** 40 : 7;
    return { key: [at + 1], amount };
  });
  const bytes = (layout: Layout) => pack(cells, 1, layout).sums.byteLength;
  expect(bytes('in runs')).toBeGreaterThan(10_000);
  expect(bytes('in narrow runs')).toBeLessThan(4_500);
});
