import { expect, test } from 'bun:test';
import { momentOf } from './moments.ts';

const NOON = Date.UTC(2026, 0, 31, 12);
const MIDNIGHT = Date.UTC(2026, 0, 31);

const moments: readonly [string, number][] = [
  ['2026-01-31T12:00:00Z', NOON],
  ['2026-01-31T12:00:00z', NOON],
  ['2026-01-31T12:00:00', NOON],
  ['2026-01-31T12:00', NOON],
  ['2026-01-31T12:00:00.000Z', NOON],
  ['2026-01-31T12:00:00.5Z', NOON + 500],
  ['2026-01-31T12:00:00,123456789Z', NOON + 123],
  ['2026-01-31T13:00:00+01:00', NOON],
  ['2026-01-31T13:00:00 01:00', NOON],
  ['2026-01-31T13:00:00+0100', NOON],
  ['2026-01-31T13:00:00+01', NOON],
  ['2026-01-31T06:30:00-05:30', NOON],
  ['2026-01-31', NOON - 12 * 3_600_000],
  ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
  // basic
  ['20260131', MIDNIGHT],
  ['20260131T120000Z', NOON],
  ['20260131T1200', NOON],
  ['20260131T130000.5+0100', NOON + 500],
  // of weeks: the last Thursday decides which year a week belongs to
  ['2026-W05-6', MIDNIGHT],
  ['2026W056', MIDNIGHT],
  ['2026-w05-6t12:00z', NOON],
  ['2026-W05', Date.UTC(2026, 0, 26)],
  ['2026W05', Date.UTC(2026, 0, 26)],
  ['2026-W01', Date.UTC(2025, 11, 29)],
  ['2026-W53-7', Date.UTC(2027, 0, 3)],
  // of days of a year
  ['2026-031', MIDNIGHT],
  ['2026031', MIDNIGHT],
  ['2026-031T12', NOON],
  ['2024-366', Date.UTC(2024, 11, 31)],
  // reduced
  ['2026', Date.UTC(2026, 0)],
  ['2026-01', Date.UTC(2026, 0)],
  ['2026-01-31T12', NOON],
  ['2026-01-31T12Z', NOON],
  ['2026-01-31T12.5Z', NOON + 1_800_000],
  ['2026-01-31T12:00.5Z', NOON + 30_000],
  // the end of a day, and a second more than usual
  ['2026-01-30T24:00:00Z', MIDNIGHT],
  ['2016-12-31T23:59:60Z', Date.UTC(2017, 0)],
  ['2017-01-01T05:29:60+05:30', Date.UTC(2017, 0)],
  ['0099-01-01', new Date('0099-01-01T00:00:00Z').getTime()],
];
for (const [text, at] of moments) test(`${text} is a moment`, () => expect(momentOf(text)).toBe(at));

const others = [
  '',
  'yesterday',
  '202601',
  '2026-W54',
  '2026-W00',
  '2025-W53',
  '2026-W05-8',
  '2026-000',
  '2026-366',
  '2026-01T12:00',
  '2026-W05T12:00',
  '2026-1-31',
  '2026-01-31T',
  '2026-01-31T1:00',
  'T12:00',
  '+2026-01-31',
  '2026-13-01',
  '2026-02-29',
  '2026-01-31T24:00:01Z',
  '2026-01-31T25:00:00Z',
  '2026-01-31T12:60:00Z',
  '2026-01-31T12:00:60Z',
  '2026-01-31T12:00:00+24:00',
  '2026-01-31T12:00:00 ',
  '2026-01-31 12:00:00',
  '1767225600',
  "2026-01-31T12:00:00Z' or 1=1",
];
for (const text of others) test(`"${text}" is none`, () => expect(momentOf(text)).toBeNaN());
