import { afterEach, describe, expect, test } from 'bun:test';
import { createEngine, type Engine, principal, workspaceId } from '../../test/assistants/engine.ts';
import { answerOf, type ScriptedAnswer } from '../../test/assistants/scripted-provider.ts';
import { createDatabase } from '../../test/postgres.ts';
import { eventually } from '../../test/process.ts';
import { openPostgres, openSqlite, type Store } from '../storage/store.ts';
import { CLEAR_THREAD } from './clearing.ts';
import { BEGINNING } from './runs/events.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const caller = { principal, headers: { 'x-gateway-virtual-key': 'sim' } };
const said = (content: string) => ({ role: 'user' as const, content, metadata: { note: content } });
const getTime = { type: 'function' as const, function: { name: 'get_time' } };
const SECRET = 'a secret';
const listing = { order: 'asc', limit: 100 } as const;

/** Every word of this conversation holds the secret. */
const script = (number: number): ScriptedAnswer =>
  number % 2 === 1
    ? { parts: [{ text: `${SECRET} said` }, { call: 'get_time', arguments: JSON.stringify({ of: SECRET }) }] }
    : { parts: [{ text: `${SECRET} answered` }], chunkDelayMs: 5 };

async function givenStore(engine: 'sqlite' | 'postgres') {
  const databaseUrl = engine === 'postgres' ? await createDatabase() : null;
  const store = databaseUrl ? await openPostgres(databaseUrl) : openSqlite(':memory:');
  await store.migrate();
  cleanups.push(() => store.close());
  return { store, databaseUrl };
}

async function givenNode({ store, databaseUrl }: Awaited<ReturnType<typeof givenStore>>, { isWorking = true } = {}) {
  let calls = 0;
  const node = createEngine({
    store,
    databaseUrl,
    callModel: ({ signal }) => answerOf(script(++calls), signal),
    timing: { pollMs: 20, sweepMs: 100 },
  });
  if (isWorking) {
    await node.start();
    cleanups.push(() => node.stop(0));
  }
  return node;
}

const statusIs = ({ runs }: Engine, threadId: string, id: string, status: string) =>
  eventually(`the run is ${status}`, async () => (await runs.read(workspaceId, threadId, id)).status === status);

/** A thread with messages, and a run in it that has called a function and come to its end. */
async function givenThread(node: Engine, messages = 3) {
  const { assistants, threads, runs } = node;
  const instructions = `Think of ${SECRET}.`;
  const assistant = await assistants.create(workspaceId, { model: 'm', instructions, tools: [getTime], metadata: {} });
  const thread = await threads.create(
    { workspaceId, userId: null },
    {
      messages: Array.from({ length: messages }, (_, number) => said(`${SECRET} ${number}`)),
      metadata: { note: SECRET },
    },
  );
  const metadata = { note: SECRET };
  const { run } = await runs.create(caller, thread.id, { assistant_id: assistant.id, metadata });
  await statusIs(node, thread.id, run.id, 'requires_action');
  const asked = await runs.read(workspaceId, thread.id, run.id);
  const [call] = JSON.parse(asked.required_action!).submit_tool_outputs.tool_calls as { id: string }[];
  await runs.submit(workspaceId, thread.id, run.id, [{ tool_call_id: call!.id, output: SECRET }]);
  await statusIs(node, thread.id, run.id, 'completed');
  return { threadId: thread.id, runId: run.id };
}

const TABLES = ['threads', 'messages', 'runs', 'run_steps', 'run_calls', 'run_events', 'code_cells', 'work'] as const;

/** The tables in which something of the conversations stands, and how many rows each has. */
async function secretsIn({ db }: Store) {
  const found: Record<string, number> = {};
  for (const table of TABLES) {
    const rows = await db.selectFrom(table).selectAll().execute();
    const telling = rows.filter((row) => JSON.stringify(row).includes(SECRET)).length;
    if (telling > 0) found[table] = telling;
  }
  return found;
}

const clearing = ({ db }: Store) => db.selectFrom('work').selectAll().where('kind', '=', CLEAR_THREAD).execute();

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`on ${engine}`, () => {
    test('of a thread that is deleted nothing is left that was said or done in it', async () => {
      const given = await givenStore(engine);
      const node = await givenNode(given);
      const { threadId, runId } = await givenThread(node);
      const kept = await givenThread(node);
      await given.store.db
        .insertInto('code_cells')
        .values({
          ...{ run_id: runId, ordinal: 0, thread_id: threadId, number: 1, cell: SECRET, result: '{}' },
          ...{ leaves_state: 1, begins_anew: 0, created_at: 1 },
        })
        .execute();
      const before = await secretsIn(given.store);
      expect(Object.keys(before)).toEqual(['threads', 'messages', 'runs', 'run_steps', 'run_events', 'code_cells']);

      await node.threads.delete(workspaceId, threadId);

      // What was said in the other thread is all there is.
      const ofOther = { threads: 1, messages: 5, runs: 1, run_steps: 1 };
      expect(await secretsIn(given.store)).toEqual({ ...ofOther, run_events: expect.any(Number) });
      expect(await clearing(given.store)).toEqual([]);
      expect((await node.runs.read(workspaceId, kept.threadId, kept.runId)).status).toBe('completed');
      await expect(node.threads.read(workspaceId, threadId)).rejects.toMatchObject({ code: 'object_not_found' });
      // It keeps its place: a client that pages through threads goes on behind it.
      const page = await node.threads.list(workspaceId, { ...listing, after: threadId });
      expect(page.data.map(({ id }) => id)).toEqual([kept.threadId]);
    });

    test('a thread that is too long for one transaction is cleared behind the request, piece by piece', async () => {
      const given = await givenStore(engine);
      const node = await givenNode(given, { isWorking: false });
      const messages = Array.from({ length: 1_001 }, (_, number) => said(`${SECRET} ${number}`));
      const { id } = await node.threads.create({ workspaceId, userId: null }, { messages, metadata: {} });

      await node.threads.delete(workspaceId, id);

      expect(await secretsIn(given.store)).toEqual({ messages: 801 });
      expect(await clearing(given.store)).toMatchObject([{ ref: id, tenant: workspaceId }]);
      // No worker has run until now, as when the process that answered the request was killed.
      await givenNode(given);
      await eventually('nothing is left to do', async () => (await clearing(given.store)).length === 0);
      expect(await secretsIn(given.store)).toEqual({});
    });

    test('messages of many megabytes are not removed all at once', async () => {
      const given = await givenStore(engine);
      const node = await givenNode(given, { isWorking: false });
      const long = said(SECRET.padEnd(250_000, '.'));
      const { id } = await node.threads.create(
        { workspaceId, userId: null },
        {
          messages: Array(40).fill({ ...long, metadata: {} }),
          metadata: {},
        },
      );

      await node.threads.delete(workspaceId, id);

      const { messages } = await secretsIn(given.store);
      expect(messages).toBeWithin(20, 30);
      expect(await clearing(given.store)).toHaveLength(1);
    });

    test('a message that is deleted while its run writes it does not come back', async () => {
      const given = await givenStore(engine);
      const node = await givenNode(given);
      const { threadId, runId } = await givenThread(node, 1);
      const { data } = await node.messages.list(workspaceId, threadId, { ...listing, run_id: runId });
      await node.messages.delete(workspaceId, threadId, data[1]!.id);
      expect((await secretsIn(given.store)).run_events).toBeUndefined();
      const { assistant_id } = await node.runs.read(workspaceId, threadId, runId);

      const { run } = await node.runs.create(caller, threadId, { assistant_id, metadata: {} });
      await statusIs(node, threadId, run.id, 'requires_action');
      const asked = await node.runs.read(workspaceId, threadId, run.id);
      const [call] = JSON.parse(asked.required_action!).submit_tool_outputs.tool_calls as { id: string }[];
      const watch = node.runs.watch({ runId: run.id, from: BEGINNING, endsAtAction: false });
      const deleted: string[] = [];
      const following = (async () => {
        for await (const shown of watch.follow()) {
          if (shown?.name === 'thread.run.requires_action')
            await node.runs.submit(workspaceId, threadId, run.id, [{ tool_call_id: call!.id, output: '' }]);
          if (shown?.name !== 'thread.message.in_progress') continue;
          const { id } = JSON.parse(shown.data) as { id: string };
          await node.messages.delete(workspaceId, threadId, id);
          deleted.push(id);
        }
      })();
      await following;

      await statusIs(node, threadId, run.id, 'completed');
      expect(deleted).toHaveLength(2);
      const rows = await given.store.db.selectFrom('messages').selectAll().where('id', 'in', deleted).execute();
      expect(rows.map(({ content }) => content)).toEqual(['[]', '[]']);
    });

    test('whoever still watches a run of a deleted thread is told that it is gone', async () => {
      const given = await givenStore(engine);
      const node = await givenNode(given);
      const { threadId, runId } = await givenThread(node);
      const watch = node.runs.watch({ runId, from: BEGINNING, endsAtAction: false });

      await node.threads.delete(workspaceId, threadId);

      await expect(watch.follow().next()).rejects.toMatchObject({ code: 'object_not_found' });
      for (const late of [
        () => node.runs.update(workspaceId, threadId, runId, { metadata: {} }),
        () => node.runs.cancel(workspaceId, threadId, runId),
        () => node.runs.submit(workspaceId, threadId, runId, []),
      ])
        await expect(late()).rejects.toMatchObject({ code: 'object_not_found' });
    });
  });
}
