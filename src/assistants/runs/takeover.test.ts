import { afterEach, describe, expect, test } from 'bun:test';
import { createEngine, principal, workspaceId } from '../../../test/assistants/engine.ts';
import { checkGrammar, type StreamEvent } from '../../../test/assistants/grammar.ts';
import { answerOf, type ChatRequest, type ScriptedAnswer } from '../../../test/assistants/scripted-provider.ts';
import { createDatabase } from '../../../test/postgres.ts';
import { eventually } from '../../../test/process.ts';
import { GatewayError } from '../../core/errors.ts';
import type { CallModel } from '../../relay/internal.ts';
import { openPostgres, openSqlite, type Store } from '../../storage/store.ts';
import type { BuiltInTools } from './built-in.ts';
import { BEGINNING, placeIn } from './events.ts';
import type { WatchOptions } from './watch.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const caller = { principal, headers: { 'x-gateway-virtual-key': 'sim' } };
const time = { type: 'function' as const, function: { name: 'get_time' } };
const timing = { pollMs: 20, sweepMs: 100, heartbeatMs: 50, abortAfterMs: 20_000, leaseMs: 30_000 };

type Script = (request: ChatRequest) => ScriptedAnswer & { readonly isDeaf?: boolean; readonly gate?: Promise<void> };

/** An engine on a store that others share. Its model answers by the script; a deaf one does not hear aborts. */
async function givenNode(store: Store, databaseUrl: string | null, script: Script, builtIns: BuiltInTools = {}) {
  const asked: ChatRequest[] = [];
  const callModel: CallModel = async ({ body, signal }) => {
    const request = JSON.parse(String(body)) as ChatRequest;
    asked.push(request);
    const answer = script(request);
    await answer.gate;
    return answerOf(answer, answer.isDeaf ? new AbortController().signal : signal);
  };
  const engine = createEngine({ store, databaseUrl, callModel, builtIns, timing });
  await engine.start();
  cleanups.push(() => engine.stop(0));
  return { ...engine, asked };
}

type Node = Awaited<ReturnType<typeof givenNode>>;

async function givenStore(engine: 'sqlite' | 'postgres') {
  const databaseUrl = engine === 'postgres' ? await createDatabase() : null;
  const store = databaseUrl ? await openPostgres(databaseUrl) : openSqlite(':memory:');
  await store.migrate();
  cleanups.push(() => store.close());
  return { store, databaseUrl };
}

async function givenRun({ assistants, threads, runs }: Node, tools: object[] = []) {
  const assistant = await assistants.create(workspaceId, { model: 'm', tools: tools as never, metadata: {} });
  const thread = await threads.create(
    { workspaceId, userId: null },
    {
      messages: [{ role: 'user', content: 'Hello', metadata: {} }],
      metadata: {},
    },
  );
  const { run } = await runs.create(caller, thread.id, { assistant_id: assistant.id, metadata: {} });
  return { id: run.id, threadId: thread.id };
}

/** As if the node that has the run had died: any node may take its lease, and it does not know. */
const orphan = (store: Store, runId: string) =>
  store.db.updateTable('work').set({ owner: null, lease_until: 0 }).where('ref', '=', runId).execute();

async function eventsOf(node: Node, runId: string, from: WatchOptions['from'] = BEGINNING) {
  const events: StreamEvent[] = [];
  for await (const shown of node.runs.watch({ runId, from, endsAtAction: true }).follow())
    if (shown) events.push({ event: shown.name, data: JSON.parse(shown.data), id: shown.id });
  return events;
}

const textOf = (content: string) =>
  JSON.parse(content)
    .map((block: { text: { value: string } }) => block.text.value)
    .join('');
const messagesOf = (store: Store, threadId: string) =>
  store.db
    .selectFrom('messages')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('role', '=', 'assistant')
    .orderBy('id')
    .execute();
const stepsIn = (store: Store, runId: string) =>
  store.db.selectFrom('run_steps').selectAll().where('run_id', '=', runId).orderBy('id').execute();
const runIn = (store: Store, id: string) =>
  store.db.selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const ended = (store: Store, id: string, status: string) =>
  eventually(`the run is ${status}`, async () => (await runIn(store, id)).status === status);

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(engine, () => {
    test('a run whose node is gone is done again by another: the same message, once, and the call is counted', async () => {
      const { store, databaseUrl } = await givenStore(engine);
      const dying = await givenNode(store, databaseUrl, () => ({
        parts: [{ text: 'Half an answer' }],
        stallAfter: 3,
        isDeaf: true,
      }));
      const run = await givenRun(dying);
      const early = dying.runs.watch({ runId: run.id, from: BEGINNING, endsAtAction: true });
      cleanups.push(() => early.close());
      await eventually('pieces are written down', async () => {
        const rows = await store.db.selectFrom('run_events').selectAll().where('run_id', '=', run.id).execute();
        return rows.some(({ call }) => call === 1);
      });
      const [begun] = await messagesOf(store, run.threadId);

      await dying.workers.stop(0);
      await orphan(store, run.id);
      const next = await givenNode(store, databaseUrl, () => ({ parts: [{ text: 'The whole answer.' }] }));
      await ended(store, run.id, 'completed');

      const messages = await messagesOf(store, run.threadId);
      expect(messages.map(({ id, status, content }) => [id, status, textOf(content)])).toEqual([
        [begun!.id, 'completed', 'The whole answer.'],
      ]);
      expect((await stepsIn(store, run.id)).map(({ status }) => status)).toEqual(['completed']);
      expect((await runIn(store, run.id)).repeated_calls).toBe(1);
      expect(next.repeated()).toBe(1);
      checkGrammar(await eventsOf(next, run.id), 'create');
    });

    test('a store that is away for a moment before the model is called costs no call', async () => {
      const { store, databaseUrl } = await givenStore(engine);
      let isAway = true;
      const offer = async () => {
        if (isAway) {
          isAway = false;
          throw new GatewayError('store_unavailable', []);
        }
        return { description: 'Searches.', parameters: {} };
      };
      const builtIns = { file_search: { offer, carryOut: async () => ({ shown: {} as never, output: '' }) } };
      const node = await givenNode(store, databaseUrl, () => ({ parts: [{ text: 'Answer.' }] }), builtIns);

      const run = await givenRun(node, [{ type: 'file_search' }]);
      await ended(store, run.id, 'completed');

      expect([isAway, node.asked.length]).toEqual([false, 1]);
      expect((await runIn(store, run.id)).repeated_calls).toBe(0);
    });

    test('who has seen a part of an answer that was given up gets the next one whole, and nothing twice', async () => {
      const { store, databaseUrl } = await givenStore(engine);
      let isDying = true;
      const node = await givenNode(store, databaseUrl, () =>
        isDying
          ? { parts: [{ text: 'Half an answer' }], stallAfter: 3, isDeaf: true }
          : { parts: [{ text: 'The whole answer.' }] },
      );
      const run = await givenRun(node);
      const seen: StreamEvent[] = [];
      const watching = (async () => {
        for await (const shown of node.runs.watch({ runId: run.id, from: BEGINNING, endsAtAction: true }).follow())
          if (shown) seen.push({ event: shown.name, data: JSON.parse(shown.data), id: shown.id });
      })();
      await eventually('a piece was seen', () => seen.some(({ event }) => event === 'thread.message.delta'));
      await Bun.sleep(150);
      isDying = false;
      await orphan(store, run.id);
      await watching;

      const deltas = seen.filter(({ event }) => event === 'thread.message.delta');
      expect(deltas.map(({ data }) => data.delta.content[0].text.value).join('')).toBe('Half an');
      expect(seen.filter(({ event }) => event === 'thread.message.created')).toHaveLength(1);
      const completed = seen.find(({ event }) => event === 'thread.message.completed');
      expect(completed!.data.content[0].text.value).toBe('The whole answer.');
      // The same for a client that comes back later, and all of it for one that comes anew.
      const after = await eventsOf(node, run.id, placeIn(deltas.at(-1)!.id!)!);
      expect(after.map(({ event }) => event)).toEqual([
        'thread.message.completed',
        'thread.run.step.completed',
        'thread.run.completed',
      ]);
      checkGrammar(await eventsOf(node, run.id), 'create');
    });

    test('an answer that begins otherwise the second time takes back what the first has begun', async () => {
      for (const [first, second, open] of [
        [{ text: 'Let me' }, { call: 'get_time', arguments: '{}', id: 'call_1' }, 'requires_action'],
        [{ call: 'get_time', arguments: '{"a":1}' }, { text: 'It is noon.' }, 'completed'],
      ] as const) {
        const { store, databaseUrl } = await givenStore(engine);
        let isDying = true;
        const node = await givenNode(store, databaseUrl, () =>
          isDying ? { parts: [first], stallAfter: 2, isDeaf: true } : { parts: [second] },
        );
        const run = await givenRun(node, [time]);
        await eventually('a step is open', async () => (await stepsIn(store, run.id)).length === 1);
        isDying = false;
        await orphan(store, run.id);
        await ended(store, run.id, open);

        const steps = await stepsIn(store, run.id);
        expect(steps.map(({ details }) => JSON.parse(details).type)).toEqual([
          open === 'completed' ? 'message_creation' : 'tool_calls',
        ]);
        const messages = await messagesOf(store, run.threadId);
        expect(messages.map(({ status }) => status)).toEqual(open === 'completed' ? ['completed'] : []);
        const events = await eventsOf(node, run.id);
        expect(events.map(({ event }) => event)).toContain('thread.run.step.failed');
        checkGrammar(events, 'create');
      }
    });

    test('a call that is lost a second time fails the run', async () => {
      const { store, databaseUrl } = await givenStore(engine);
      const node = await givenNode(store, databaseUrl, () => ({
        parts: [{ text: 'Half' }],
        stallAfter: 2,
        isDeaf: true,
      }));
      const run = await givenRun(node);
      for (const attempt of [1, 2]) {
        await eventually('the model is asked', () => node.asked.length === attempt);
        await orphan(store, run.id);
      }
      await ended(store, run.id, 'failed');

      const row = await runIn(store, run.id);
      expect(JSON.parse(row.last_error!)).toEqual({
        code: 'server_error',
        message: 'The gateway was interrupted twice while it called the model.',
      });
      expect(node.asked).toHaveLength(2);
      for (const { status } of await messagesOf(store, run.threadId)) expect(status).toBe('incomplete');
      checkGrammar(await eventsOf(node, run.id), 'create');
    });

    test('a node whose answer comes after another has done the run writes nothing', async () => {
      const { store, databaseUrl } = await givenStore(engine);
      const late = Promise.withResolvers<void>();
      const node = await givenNode(store, databaseUrl, () =>
        node.asked.length === 1
          ? { parts: [{ text: 'Too late.' }], gate: late.promise, isDeaf: true }
          : { parts: [{ text: 'In time.' }] },
      );
      const run = await givenRun(node);
      await eventually('the model is asked', () => node.asked.length === 1);
      await orphan(store, run.id);
      await ended(store, run.id, 'completed');
      const history = async () => [
        await runIn(store, run.id),
        await messagesOf(store, run.threadId),
        await stepsIn(store, run.id),
        await eventsOf(node, run.id),
      ];
      const before = await history();
      late.resolve();
      await eventually('nobody is at it', () => node.workers.status()[0]!.running === 0);

      expect(await history()).toEqual(before);
      expect((await messagesOf(store, run.threadId)).map(({ content }) => textOf(content))).toEqual(['In time.']);
    });
  });
}

describe('tools that the gateway carries out itself', () => {
  const search = { type: 'file_search' as const };
  const found = (id: string) => ({
    shown: {
      id,
      type: 'file_search' as const,
      file_search: {
        results: [
          { file_id: 'file-1', file_name: 'a.txt', score: 1, content: [{ type: 'text' as const, text: 'Secret.' }] },
        ],
      },
    },
    output: 'Found: Secret.',
  });
  const lastRole = ({ messages }: ChatRequest) => messages.at(-1).role;

  test('are offered as functions, used, shown in their step, and told to the model', async () => {
    const { store, databaseUrl } = await givenStore('sqlite');
    const node = await givenNode(
      store,
      databaseUrl,
      (request) =>
        lastRole(request) === 'tool'
          ? { parts: [{ text: 'It says: Secret.' }] }
          : { parts: [{ call: 'file_search', arguments: '{"queries":["x"]}', id: 'call_1' }] },
      {
        file_search: {
          offer: async () => ({ description: 'Searches.', parameters: { type: 'object' } }),
          carryOut: async ({ id }) => found(id),
        },
      },
    );
    const run = await givenRun(node, [search]);
    await ended(store, run.id, 'completed');

    expect(node.asked[0]!.tools).toEqual([
      { type: 'function', function: { name: 'file_search', description: 'Searches.', parameters: { type: 'object' } } },
    ]);
    expect(node.asked[1]!.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'file_search', arguments: '{"queries":["x"]}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'Found: Secret.' },
    ]);
    const page = { limit: 20, order: 'asc' as const };
    const plain = await node.runs.listSteps(workspaceId, run.threadId, run.id, { query: page });
    const full = await node.runs.listSteps(workspaceId, run.threadId, run.id, { query: page, withContent: true });
    expect(plain.data.map(({ type, status }) => [type, status])).toEqual([
      ['tool_calls', 'completed'],
      ['message_creation', 'completed'],
    ]);
    expect(JSON.stringify(plain.data)).not.toContain('Secret');
    expect(full.data[0]!.step_details).toEqual({ type: 'tool_calls', tool_calls: [found('call_1').shown] });
    const names = (await eventsOf(node, run.id)).map(({ event }) => event);
    expect(names.slice(3, 7)).toEqual([
      'thread.run.step.created',
      'thread.run.step.in_progress',
      'thread.run.step.delta',
      'thread.run.step.completed',
    ]);
  });

  test('are used before the client is asked for its own, in one step; and again when their node dies', async () => {
    const { store, databaseUrl } = await givenStore('sqlite');
    let uses = 0;
    const node = await givenNode(
      store,
      databaseUrl,
      (request) =>
        lastRole(request) === 'tool'
          ? { parts: [{ text: 'Done.' }] }
          : {
              parts: [
                { call: 'get_time', arguments: '{}', id: 'call_1' },
                { call: 'file_search', arguments: '{}', id: 'call_2' },
              ],
            },
      {
        file_search: {
          offer: async () => ({ description: 'Searches.', parameters: {} }),
          carryOut: ({ id }) => (++uses === 1 ? new Promise(() => {}) : Promise.resolve(found(id))),
        },
      },
    );
    const run = await givenRun(node, [time, search]);
    await eventually('the tool is in use', () => uses === 1);
    await orphan(store, run.id);
    await ended(store, run.id, 'requires_action');

    const { required_action } = await runIn(store, run.id);
    expect(JSON.parse(required_action!).submit_tool_outputs.tool_calls.map(({ id }: { id: string }) => id)).toEqual([
      'call_1',
    ]);
    expect([node.asked.length, (await runIn(store, run.id)).repeated_calls]).toEqual([1, 0]);
    await node.runs.submit(workspaceId, run.threadId, run.id, [{ tool_call_id: 'call_1', output: 'noon' }]);
    await ended(store, run.id, 'completed');
    expect(node.asked[1]!.messages.slice(-2).map(({ content }) => content)).toEqual(['noon', 'Found: Secret.']);
  });

  test('that are missing are refused when they are asked for', async () => {
    const { store, databaseUrl } = await givenStore('sqlite');
    const node = await givenNode(store, databaseUrl, () => ({ parts: [] }));

    expect(givenRun(node, [search])).rejects.toThrow("Invalid 'tools': this gateway has no 'file_search'.");
  });
});
