import { expect, test } from 'bun:test';
import { moveWithKills } from '../moving-store.ts';

test('a hundred thousand rows, killed ten times and more, are all there', async () => {
  const { kills, rows } = await moveWithKills({ rows: 1_500, firstLifeMs: 400, longerMs: 50 });
  expect(kills).toBeGreaterThanOrEqual(10);
  expect(rows).toBeGreaterThan(100_000);
});
