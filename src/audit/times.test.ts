import { expect, test } from 'bun:test';
import { momentOf } from './times.ts';

const NOON = Date.UTC(2026, 0, 31, 12);

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
];
for (const [text, at] of moments) test(`${text} is a moment`, () => expect(momentOf(text)).toBe(at));

const others = [
  '',
  'yesterday',
  '2026',
  '2026-13-01',
  '2026-02-29',
  '2026-01-31T24:00:00Z',
  '2026-01-31T12:60:00Z',
  '2026-01-31T12:00:60Z',
  '2026-01-31T12:00:00+24:00',
  '2026-01-31T12:00:00 ',
  '2026-01-31 12:00:00',
  '1767225600',
  "2026-01-31T12:00:00Z' or 1=1",
];
for (const text of others) test(`"${text}" is none`, () => expect(momentOf(text)).toBeNaN());
