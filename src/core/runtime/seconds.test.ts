import { expect, spyOn, test } from 'bun:test';
import { fallAsleep } from '../../../test/awake.ts';
import { eventually } from '../../../test/process.ts';
import { startSweeper } from '../sweeper.ts';
import { every, isQuiet, onWakeUp, stayAwakeWhile, stir, wholeSecond } from './seconds.ts';

fallAsleep();

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

test('what was begun and stopped again and again puts nothing off', async () => {
  for (let time = 0; time < 1_000; time++) every(1, () => {}).stop();
  let isDone = false;
  const task = every(1, () => {
    isDone = true;
  });
  await eventually('a second is over', () => isDone, 30_000);
  task.stop();
});

test('a process that nobody asks wakes up every five seconds, and the first who asks waits for what it has missed', async () => {
  const at: number[] = [];
  const counting = every(1, () => at.push(performance.now()));
  let isUnderWay = true;
  const stopStaying = stayAwakeWhile(() => isUnderWay);
  await eventually('five seconds with something under way', () => at.length >= 5, 60_000);
  expect(isQuiet()).toBe(false);
  isUnderWay = false;
  await eventually('nobody has asked for a while', isQuiet, 60_000);
  const before = at.length;
  await eventually('it has woken up by itself, asleep', () => at.length > before + 1, 60_000);
  expect(at.at(-1)! - at.at(-2)!).toBeGreaterThan(3_000);
  const missed = Promise.withResolvers<void>();
  let isKnown = false;
  const stopWaking = onWakeUp(() => missed.promise);
  const waits = [stir(), stir()].map((waking) => waking?.then(() => isKnown));
  expect(isQuiet()).toBe(false);
  isKnown = true;
  missed.resolve();
  expect(await Promise.all(waits)).toEqual([true, true]);
  expect(stir()).toBeUndefined();
  const awake = at.length;
  await eventually('every second again', () => at.length >= awake + 2, 60_000);
  stopWaking();
  stopStaying();
  counting.stop();
}, 120_000);

test('what nobody waits for is put off while a process is quiet, and comes in its usual time when it is asked', async () => {
  const rarely = { turns: 0 };
  let turns = 0;
  const tasks = [every(1, () => rarely.turns++, 1_000_000), every(1, () => turns++)];
  await eventually('both are done', () => rarely.turns > 0 && turns > 0, 60_000);
  await eventually('nobody has asked for a while', isQuiet, 60_000);
  const before = [rarely.turns, turns] as const;
  await eventually('two more turns', () => turns >= before[1] + 2, 60_000);
  expect(rarely.turns - before[0]).toBeLessThanOrEqual(1);
  void stir();
  const put = rarely.turns;
  await eventually('it is done again', () => rarely.turns > put, 60_000);
  for (const task of tasks) task.stop();
}, 120_000);

test('a sweeper is put off while a process is quiet, and sweeps in its usual time when it is asked', async () => {
  const seconds = every(1, () => {});
  let sweeps = 0;
  const sweeper = startSweeper({ what: 'rooms', everyMs: 500, quietMs: 1_000_000, sweep: async () => void sweeps++ });
  await eventually('it has swept, and nobody has asked for a while', () => sweeps > 0 && isQuiet(), 60_000);
  // The sweep that was armed before the quiet time is the last one.
  await Bun.sleep(1_000);
  const before = sweeps;
  await Bun.sleep(2_000);
  expect(sweeps).toBe(before);

  stir();
  await eventually('it sweeps again', () => sweeps > before);
  await sweeper.stop();
  seconds.stop();
}, 120_000);

test('what throws is told once, and keeps neither the others nor the next second from coming', async () => {
  const told = spyOn(process.stderr, 'write').mockImplementation(() => true);
  const thrower = () => () => {
    throw new Error('on purpose');
  };
  let turns = 0;
  const endings = [stayAwakeWhile(thrower()), onWakeUp(thrower())];
  const failing = every(1, thrower());
  const counting = every(1, () => turns++);
  try {
    await eventually('two seconds are over', () => turns >= 2, 60_000);
    expect(isQuiet()).toBe(false);
    endings[0]!();
    await eventually('nobody has asked for a while', isQuiet, 60_000);
    expect(stir()).toBeUndefined();
    const before = turns;
    await eventually('the next second comes', () => turns > before, 60_000);
    expect(told.mock.calls.map(([text]) => String(text).split('\n')[0])).toEqual(
      // Whether it may sleep, what it does every second, what it has missed.
      Array(3).fill('what this process does at whole seconds failed: Error: on purpose'),
    );
  } finally {
    for (const end of endings) end();
    failing.stop();
    counting.stop();
    told.mockRestore();
  }
}, 120_000);

test('who asks after a quiet time does not wait for ever', async () => {
  const counting = every(1, () => {});
  await eventually('nobody has asked for a while', isQuiet, 60_000);
  const stopWaking = onWakeUp(() => new Promise(() => {}));
  await stir();
  stopWaking();
  counting.stop();
}, 120_000);

test('the nearest whole second; with five seconds and more between, one at which a quiet process wakes up', () => {
  expect([0, 499, 500, 1_499, 59_999].map((ms) => wholeSecond(ms))).toEqual([0, 0, 1_000, 1_000, 60_000]);
  expect([0, 2_499, 2_500, 59_999].map((ms) => wholeSecond(ms, 5_000))).toEqual([0, 0, 5_000, 60_000]);
});
