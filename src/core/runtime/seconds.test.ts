import { expect, test } from 'bun:test';
import { eventually } from '../../../test/process.ts';
import { every, wholeSecond } from './seconds.ts';

test('what is asked for every second is done together, until it is stopped', async () => {
  const done: string[] = [];
  const one = every(1, (lateMs) => {
    expect(lateMs).toBeGreaterThanOrEqual(0);
    done.push('one');
  });
  const other = every(1, () => done.push('other'));
  await eventually('two seconds are over', () => done.length >= 4);
  one.stop();
  other.stop();
  const count = done.length;
  expect(done.slice(0, 4)).toEqual(['one', 'other', 'one', 'other']);
  await Bun.sleep(1_200);
  expect(done).toHaveLength(count);
});

test('the nearest whole second', () => {
  expect([0, 499, 500, 1_499, 59_999].map(wholeSecond)).toEqual([0, 0, 1_000, 1_000, 60_000]);
});
