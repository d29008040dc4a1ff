import { expect, test } from 'bun:test';
import { consoleSpans } from '../../bench/measure/console-pages.ts';
import { HOURS } from '../../src/telemetry/aggregates/grains.ts';
import { stateIn } from '../../src/telemetry/aggregates/state.ts';
import { planOf } from '../../src/telemetry/analytics/plan.ts';
import { before, lastSpan, PRESETS, stepOf } from '../../web/shell/spans.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.parse('2026-11-18T07:41:33.217Z');

test.each(PRESETS.map(({ value, ms }) => [value, ms] as const))(
  'the last %s are whole points that end now',
  (_, ms) => {
    const span = lastSpan(ms, NOW);
    const step = stepOf(ms);
    expect([span.from % step, span.until % step, span.until - span.from]).toEqual([0, 0, ms]);
    expect(span.until - NOW).toBeWithin(0, step);
    expect(before(span)).toEqual({ from: span.from - ms, until: span.from });
  },
);

test('a time that begins before minutes are kept is asked about in cells alone, and not in the log', () => {
  const [minutesFrom, hoursUntil] = [NOW - 4 * DAY, Math.floor(NOW / HOUR) * HOUR];
  const state = stateIn([
    ...['minutes', 'fives'].map((name) => ({ name: `pruned_${name}`, value: minutesFrom })),
    ...['fives', 'hours', 'quarters', 'days'].map((name) => ({ name: `rolled_${name}`, value: hoursUntil })),
  ]);
  const plans = consoleSpans(NOW)
    .flatMap((span) => [span, before(span)])
    .map((span) => planOf(span, state, { from: 0, coarsest: HOURS, now: NOW }));
  expect(plans.map(({ log, less }) => [log, less])).toEqual(plans.map(() => [[], null]));
});
