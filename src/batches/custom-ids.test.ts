import { expect, test } from 'bun:test';
import { CustomIds } from './custom-ids.ts';

test('an id is new once, among as many as a batch may have', () => {
  const ids = new CustomIds();
  const names = Array.from({ length: 50_000 }, (_, at) => `request-${at}`);
  for (const name of names) expect(ids.add(name)).toBe(true);
  for (const name of names) expect(ids.add(name)).toBe(false);
});

test('ids that differ in half a character are two', () => {
  const ids = new CustomIds();
  expect(['\ud800', '\ud801', '\ufffd', ''].map((id) => ids.add(id))).toEqual([true, true, true, true]);
});
