import { expect, test } from 'bun:test';
import { isAlive, processTag } from './process-tag.ts';

test('a living process is known by its tag', () => {
  expect(isAlive(processTag(process.pid))).toBe(true);
  expect(isAlive(processTag(1))).toBe(true);
  expect(isAlive(String(process.pid))).toBe(true);
});

test('a process that ended is gone', async () => {
  const child = Bun.spawn(['sleep', '60']);
  const tag = processTag(child.pid);
  expect(isAlive(tag)).toBe(true);

  child.kill('SIGKILL');
  await child.exited;

  expect([isAlive(tag), isAlive(String(child.pid))]).toEqual([false, false]);
});

test('where Linux tells when a process began, a process that has the number of one that ended is another', () => {
  const [number, birth] = processTag(process.pid).split('.');

  expect(isAlive(`${number}.${Number(birth) - 1}`)).toBe(birth === undefined);
});
