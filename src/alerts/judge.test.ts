import { expect, test } from 'bun:test';
import type { AlertStateRow } from '../storage/schema.ts';
import { judge } from './judge.ts';
import type { Finding } from './telling.ts';

const finding = (subject: string, level = 1, value = 1): Finding => ({
  subject,
  level,
  summary: subject,
  value,
  threshold: null,
});
const state = (found: Finding, told_at: number): AlertStateRow => ({
  ...{ rule_id: 'r', subject: found.subject, level: found.level, since: 0, told_at },
  found: JSON.stringify(found),
});
const told = (
  states: readonly AlertStateRow[],
  findings: readonly Finding[],
  repeatAfterMs: number | null,
  now: number,
) =>
  judge(states, findings, { repeatAfterMs, now }).map(({ type, finding: { subject, level }, since }) => [
    type,
    subject,
    level,
    since,
  ]);

test('what begins is told, what goes on is not, what ends is', () => {
  expect(told([], [finding('a')], null, 5)).toEqual([['alert.fired', 'a', 1, 5]]);
  expect(told([state(finding('a'), 0)], [finding('a')], null, 1e12)).toEqual([]);
  expect(told([state(finding('a'), 0)], [], null, 5)).toEqual([['alert.over', 'a', 1, 0]]);
});

test('what goes on is told again after the time, counted from when it was last told', () => {
  expect(told([state(finding('a'), 100)], [finding('a')], 50, 149)).toEqual([]);
  expect(told([state(finding('a'), 100)], [finding('a')], 50, 150)).toEqual([['alert.repeated', 'a', 1, 0]]);
});

test('a higher level is told, a lower one and another value are only written down', () => {
  const before = [state(finding('a', 2), 0)];
  expect(told(before, [finding('a', 3)], null, 5)).toEqual([['alert.fired', 'a', 3, 0]]);
  expect(told(before, [finding('a', 1)], null, 5)).toEqual([[null, 'a', 1, 0]]);
  expect(told(before, [finding('a', 2, 9)], null, 5)).toEqual([[null, 'a', 2, 0]]);
});

test('each thing is judged by itself', () => {
  const before = [state(finding('a'), 0), state(finding('b'), 0)];
  expect(told(before, [finding('b'), finding('c')], null, 5)).toEqual([
    ['alert.fired', 'c', 1, 5],
    ['alert.over', 'a', 1, 0],
  ]);
});
