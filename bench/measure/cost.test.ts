import { expect, test } from 'bun:test';
import { type Cost, calmest, costsInTurns } from './cost.ts';

const cost = (microsecondsPerCall: number): Cost => ({ microsecondsPerCall, callsPerSecond: 1_000, busy: 1 });
const subject = (label: string) => ({ label, url: '', headers: {}, body: '', pid: 1 });

test('the cheapest turn of a round counts, and what the others took stays to be seen', () => {
  expect(calmest([cost(140), cost(120), cost(300)])).toEqual({ ...cost(120), turns: [140, 120, 300] });
});

test('each has the same number of turns, and another one comes first each time', async () => {
  const order: string[] = [];
  const rounds = await costsInTurns([subject('a'), subject('b')], 3, async ({ label }) => {
    order.push(label);
    return cost(order.length);
  });
  expect(order.join('')).toBe('abbaab');
  expect(rounds.map(([{ label }, { turns }]) => [label, turns])).toEqual([
    ['a', [1, 4, 5]],
    ['b', [2, 3, 6]],
  ]);
});
