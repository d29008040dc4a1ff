import { expect, mock, spyOn, test } from 'bun:test';
import { InGroups } from './in-groups.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('what comes in one turn of the loop is used in its order, in a row, at the end of the turn', async () => {
  const used: string[] = [];
  const groups = new InGroups<string>((item) => {
    used.push(item);
    void Promise.resolve().then(() => used.push(`after ${item}`));
  });
  groups.add('one');
  groups.add('two');
  expect(used).toEqual([]);
  await turn();
  expect(used).toEqual(['one', 'two', 'after one', 'after two']);
});

test('what comes while others are used waits for the next turn', async () => {
  const used: number[] = [];
  const groups: InGroups<number> = new InGroups((item) => {
    used.push(item);
    if (item < 3) groups.add(item + 1);
  });
  groups.add(1);
  groups.flush();
  expect(used).toEqual([1]);
  await turn();
  await turn();
  expect(used).toEqual([1, 2, 3]);
});

test('whoever must not be overtaken has the others used at once, and nothing is used twice', async () => {
  const used: string[] = [];
  const groups = new InGroups<string>((item) => used.push(item));
  groups.add('before the end');
  groups.flush();
  groups.flush();
  expect(used).toEqual(['before the end']);
  await turn();
  expect(used).toEqual(['before the end']);
});

test('one that fails is reported, and those behind it are used', async () => {
  const report = spyOn(globalThis, 'reportError').mockImplementation(() => {});
  const use = mock((item: string) => {
    if (item === 'bad') throw new Error('bad');
  });
  const groups = new InGroups<string>(use);
  for (const item of ['bad', 'good']) groups.add(item);
  groups.flush();
  expect(use).toHaveBeenCalledTimes(2);
  expect(report).toHaveBeenCalledTimes(1);
  report.mockRestore();
});
