import { expect, test } from 'bun:test';
import { FairTurns } from './fair-turns.ts';

/** Tasks that end when they are told to, and the order in which they began. */
function tasks(turns: FairTurns) {
  const begun: string[] = [];
  const endings: (() => void)[] = [];
  const ask = (owner: string, name: string) =>
    turns.run(owner, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => endings.push(resolve));
      return name;
    });
  const endOne = async () => {
    endings.shift()!();
    await Bun.sleep(0);
  };
  return { begun, ask, endOne };
}

test('owners take turns, whoever came with more', async () => {
  const { begun, ask, endOne } = tasks(new FairTurns({ atOnce: 1, mostWaiting: 10 }));
  const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => ask(name[0]!, name));
  for (let n = 0; n < 6; n++) await endOne();
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'c1']);
});

test('no more run at once than may, and a failure lets the next one begin', async () => {
  const turns = new FairTurns({ atOnce: 2, mostWaiting: 10 });
  const { begun, ask, endOne } = tasks(turns);
  const failing = turns.run('x', () => Promise.reject(new Error('on purpose')));
  void ask('a', 'a1');
  void ask('a', 'a2');
  void ask('b', 'b1');
  expect(failing).rejects.toThrow('on purpose');
  await Bun.sleep(0);
  expect(begun).toEqual(['a1', 'a2']);
  await endOne();
  expect(begun).toEqual(['a1', 'a2', 'b1']);
});

test('an owner whose line is full is refused, and others are not', () => {
  const { ask } = tasks(new FairTurns({ atOnce: 1, mostWaiting: 2 }));
  expect([ask('a', '1'), ask('a', '2'), ask('a', '3')].every(Boolean)).toBe(true);
  expect(ask('a', '4')).toBeNull();
  expect(ask('b', '5')).not.toBeNull();
});
