import { expect, test } from 'bun:test';
import { secondsOf } from './durations.ts';

const durations: readonly [string | number, number][] = [
  [90, 90],
  ['90', 90],
  ['90s', 90],
  ['30m', 1_800],
  ['30 min', 1_800],
  ['12h', 43_200],
  ['2 hours', 7_200],
  ['2 Hours', 7_200],
  ['1 hr', 3_600],
  ['1d', 86_400],
  ['1.5 days', 129_600],
  ['2 weeks', 1_209_600],
  ['1 year', 31_557_600],
  [' 5m ', 300],
  ['PT1H', 3_600],
  ['pt1h', 3_600],
  ['PT1H30M', 5_400],
  ['PT0.5H', 1_800],
  ['PT0,5H', 1_800],
  ['PT90S', 90],
  ['P1D', 86_400],
  ['P1DT12H', 129_600],
  ['P2W', 1_209_600],
];
for (const [text, seconds] of durations) test(`${text} is a duration`, () => expect(secondsOf(text)).toBe(seconds));

const others = ['', 'a while', 'P', 'PT', 'P1DT', 'P1M', 'P1Y', '1 month', '-5m', '5 m s', '2 hours ago', 'H1', '1e9'];
for (const text of others) test(`"${text}" is none`, () => expect(secondsOf(text)).toBeNaN());
