import { expect, test } from 'bun:test';
import { LoopTurns } from './loop-turns.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('so many begin at once, and the others in the turns after it, in their order', async () => {
  const turns = new LoopTurns(2);
  const begun: number[] = [];
  for (let number = 0; number < 5; number++) {
    const waiting = turns.wait();
    if (waiting) void waiting.then(() => begun.push(number));
    else begun.push(number);
  }
  expect(begun).toEqual([0, 1]);
  await turn();
  expect(begun).toEqual([0, 1, 2, 3]);
  await turn();
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

test('whoever comes while others wait is not served before them', async () => {
  const turns = new LoopTurns(1);
  const begun: string[] = [];
  const begin = async (name: string) => {
    await turns.wait();
    begun.push(name);
  };
  const all = [begin('first'), begin('second'), begin('third')];
  await turn();
  all.push(begin('late'));
  await Promise.all(all);
  expect(begun).toEqual(['first', 'second', 'third', 'late']);
});

test('when a turn is over, the next one begins at once again', async () => {
  const turns = new LoopTurns(1);
  expect(turns.wait()).toBeNull();
  await turn();
  expect(turns.wait()).toBeNull();
});

test('a request that arrives during a burst is answered before the burst is over', async () => {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('served') });
  const turns = new LoopTurns(1);
  let left = 400;
  const busy = () => {
    for (const until = performance.now() + 1; performance.now() < until; );
    left--;
  };
  const burst = Array.from({ length: left }, async () => {
    await turns.wait();
    busy();
  });
  const text = await (await fetch(server.url)).text();
  expect(text).toBe('served');
  expect(left).toBeGreaterThan(0);
  await Promise.all(burst);
  await server.stop(true);
});
