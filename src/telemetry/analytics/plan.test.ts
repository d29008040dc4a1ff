import { expect, test } from 'bun:test';
import { DAYS, HOURS } from '../aggregates/grains.ts';
import { stateIn } from '../aggregates/state.ts';
import { planOf } from './plan.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const START = Date.UTC(2026, 2, 1);
const NOW = START + 90 * 24 * HOUR_MS;
const at = (hour: number, minute: number) => START + hour * HOUR_MS + minute * MINUTE_MS;

/** Hours are there from the beginning on, minutes of the last days alone; `log`: entries from before are gone. */
function planned(from: number, until: number, { log = 0, counted = 0 } = {}) {
  const state = stateIn([
    ...['minutes', 'fives'].map((name) => ({ name: `pruned_${name}`, value: NOW - 3 * 24 * HOUR_MS })),
    ...['fives', 'hours', 'quarters', 'days'].map((name) => ({ name: `rolled_${name}`, value: NOW })),
    { name: 'log_pruned', value: log },
  ]);
  const plan = planOf({ from, until }, state, { from: counted, coarsest: HOURS, now: NOW });
  return { log: plan.log, hours: plan.pieces.filter(({ grain }) => grain === HOURS) };
}

test('of an hour whose minutes are gone the log has the smaller part: what is meant, or what is not', () => {
  expect(planned(at(1, 29), at(9, 31))).toEqual({
    log: [
      { from: at(1, 0), until: at(1, 29), isLess: true },
      { from: at(9, 31), until: at(10, 0), isLess: true },
    ],
    hours: [{ grain: HOURS, from: at(1, 0), until: at(10, 0) }],
  });
  expect(planned(at(1, 30), at(9, 30))).toEqual({
    log: [
      { from: at(1, 30), until: at(2, 0) },
      { from: at(9, 0), until: at(9, 30) },
    ],
    hours: [{ grain: HOURS, from: at(2, 0), until: at(9, 0) }],
  });
});

test('what the log has lost is not taken away by it', () => {
  const { log } = planned(at(1, 29), at(9, 0), { log: at(1, 10) });
  expect(log).toEqual([{ from: at(1, 29), until: at(2, 0) }]);
});

test('an hour that is not counted from its beginning on is left to the log', () => {
  const { log } = planned(at(1, 29), at(9, 0), { counted: at(1, 20) });
  expect(log).toEqual([{ from: at(1, 29), until: at(2, 0) }]);
});

test('where minutes are there, the log has less than a minute', () => {
  const { log } = planned(NOW - 5 * HOUR_MS + 90_001, NOW - HOUR_MS);
  expect(log).toEqual([{ from: NOW - 5 * HOUR_MS + 90_001, until: NOW - 5 * HOUR_MS + 2 * MINUTE_MS }]);
});

test('coarser buckets leave their ends to hours', () => {
  const state = stateIn([
    ...['minutes', 'fives'].map((name) => ({ name: `pruned_${name}`, value: NOW })),
    ...['fives', 'hours', 'quarters', 'days'].map((name) => ({ name: `rolled_${name}`, value: NOW })),
  ]);
  const range = { from: at(1, 10), until: at(72, 0) };
  const { log, pieces } = planOf(range, state, { from: 0, coarsest: DAYS, now: NOW });
  expect(log).toEqual([{ from: at(1, 0), until: at(1, 10), isLess: true }]);
  const covered = pieces.toSorted((one, other) => one.from - other.from);
  expect(covered[0]!.from).toBe(at(1, 0));
  expect(covered.at(-1)!.until).toBe(at(72, 0));
  for (const [index, { from }] of covered.slice(1).entries()) expect(from).toBe(covered[index]!.until);
});
