import { expect, test } from 'bun:test';
import { Gates, type Permit } from './gates.ts';

const never = new AbortController().signal;

/** As many permits as there are to be had at once. */
async function take(gates: Gates, key: string, batch = 'b', most = 200): Promise<Permit[]> {
  const got: Permit[] = [];
  const leaving = new AbortController();
  const asked = Array.from({ length: most }, () =>
    gates.enter(key, batch, leaving.signal).then((permit) => permit && got.push(permit)),
  );
  await Bun.sleep(0);
  leaving.abort();
  await Promise.all(asked);
  return got;
}

test('the limit doubles with each good round up to the most, and halves once for all that are refused together', async () => {
  let clock = 0;
  const gates = new Gates({ most: 64, now: () => clock });
  const rounds = [];
  for (let round = 0; round < 5; round++) {
    clock += 100;
    const permits = await take(gates, 'k');
    rounds.push(permits.length);
    for (const permit of permits) permit.release('well');
  }
  expect(rounds).toEqual([8, 16, 32, 64, 64]);
  clock += 100;
  const permits = await take(gates, 'k');
  clock += 100;
  for (const permit of permits) permit.release('refused');
  expect(gates.limitOf('k')).toBe(32);
  clock += 100;
  const careful = await take(gates, 'k');
  expect(careful).toHaveLength(32);
  for (const permit of careful) permit.release('well');
  // One more for a whole good round, no longer twice as many.
  expect(Math.round(gates.limitOf('k'))).toBe(33);
});

test('nobody enters while the provider asked to wait, and the others are not held up by it', async () => {
  const gates = new Gates({ most: 64 });
  const permits = await take(gates, 'paused');
  permits[0]!.release('refused', 150);
  for (const permit of permits.slice(1)) permit.release('well');
  const asked = performance.now();
  expect(await take(gates, 'paused')).toHaveLength(0);
  expect((await take(gates, 'other')).length).toBe(8);
  const permit = await gates.enter('paused', 'b', never);
  expect(permit).not.toBeNull();
  expect(performance.now() - asked).toBeGreaterThan(100);
});

test('batches take turns, however much the first one wants', async () => {
  const gates = new Gates({ most: 1 });
  const first = (await gates.enter('k', 'setup', never))!;
  const order: string[] = [];
  const ask = (batch: string) =>
    gates.enter('k', batch, never).then((permit) => {
      order.push(batch);
      permit!.release('well');
    });
  const all = [...Array.from({ length: 5 }, () => ask('large')), ask('small'), ask('small')];
  first.release('well');
  await Promise.all(all);
  expect(order.slice(0, 4)).toEqual(['large', 'small', 'large', 'small']);
});

test('whoever stops waiting takes no place', async () => {
  const gates = new Gates({ most: 1 });
  const first = (await gates.enter('k', 'a', never))!;
  const leaving = new AbortController();
  const left = gates.enter('k', 'b', leaving.signal);
  const next = gates.enter('k', 'c', never);
  leaving.abort();
  expect(await left).toBeNull();
  first.release('well');
  expect(await next).not.toBeNull();
});
