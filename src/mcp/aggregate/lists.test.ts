import { expect, test } from 'bun:test';
import type { McpServer } from '../server/server.ts';
import type { Client, Json } from './conversation.ts';
import { createLists } from './lists.ts';

const server = { slug: 'one', version: 'v1', startMs: 20 } as McpServer;
const client = { caller: { id: 'ada' } } as Client;
const find = async () => ({ kind: 'stateless' as const });

function given() {
  const time = { now: 0 };
  const topics = new Map<string, () => void>();
  let answer: () => Promise<Json> = async () => ({ tools: [{ name: 'echo' }] });
  let asked = 0;
  const lists = createLists({
    channels: {
      ask: async () => {
        asked++;
        return { result: await answer(), bytes: 1, sessionId: null };
      },
    },
    changes: {
      subscribe: (topic, handler) => {
        topics.set(topic, handler);
        return () => {};
      },
    },
    publicUrl: () => 'http://gateway',
    now: () => time.now,
  });
  return {
    list: () => lists.merge([server], client, find, 'tools/list'),
    changed: () => lists.changed(server),
    announce: (topic: string) => topics.get(topic)?.(),
    answers: (next: () => Promise<Json>) => {
      answer = next;
    },
    pass: (ms: number) => {
      time.now += ms;
    },
    get asked() {
      return asked;
    },
  };
}
const never = () => new Promise<Json>(() => {});

test('a server that does not answer in time shows what it had when it last did', async () => {
  const at = given();
  expect((await at.list()).statuses).toEqual({ one: 'ok' });
  at.pass(11_000);
  at.answers(never);
  const { items, statuses } = await at.list();
  expect(items).toEqual([{ name: 'one__echo' }]);
  expect(statuses).toEqual({ one: 'stale' });
});

test('nothing that a caller may no longer see is shown from before', async () => {
  const at = given();
  await at.list();
  at.announce('mcp-servers');
  at.answers(never);
  expect(await at.list()).toMatchObject({ items: [], statuses: { one: 'timeout' } });
});

test('many who ask at once are one question', async () => {
  const at = given();
  await Promise.all([at.list(), at.list(), at.list()]);
  expect(at.asked).toBe(1);
});

test('a server that has changed is asked again', async () => {
  const at = given();
  await at.list();
  at.answers(async () => ({ tools: [{ name: 'other' }] }));
  expect((await at.list()).items).toEqual([{ name: 'one__echo' }]);
  at.changed();
  expect((await at.list()).items).toEqual([{ name: 'one__other' }]);
});
