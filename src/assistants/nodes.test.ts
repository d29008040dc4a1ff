import { afterEach, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { createEngine, type Engine, principal, workspaceId } from '../../test/assistants/engine.ts';
import { answerOf, type ScriptedAnswer } from '../../test/assistants/scripted-provider.ts';
import { createDatabase } from '../../test/postgres.ts';
import { eventually } from '../../test/process.ts';
import { objectIdAt } from '../core/object-ids.ts';
import { type Db, openPostgres, openSqlite, type Store } from '../storage/store.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function givenEngine(engine: 'sqlite' | 'postgres', script: (number: number) => ScriptedAnswer = () => ({})) {
  const databaseUrl = engine === 'postgres' ? await createDatabase() : null;
  const store = databaseUrl ? await openPostgres(databaseUrl) : openSqlite(':memory:');
  await store.migrate();
  let calls = 0;
  const node = createEngine({
    store,
    databaseUrl,
    callModel: ({ signal }) => answerOf(script(++calls), signal),
    timing: { pollMs: 20, sweepMs: 100 },
  });
  await node.start();
  cleanups.push(() => store.close());
  cleanups.push(() => node.stop(0));
  return { node, store };
}

const caller = { principal, headers: { 'x-gateway-virtual-key': 'sim' } };
const said = (content: string) => ({ role: 'user' as const, content, metadata: {} });
const getTime = { type: 'function' as const, function: { name: 'get_time' } };
/** Made by a node whose clock is half a minute ahead. */
const aheadId = <Kind extends 'message' | 'step'>(kind: Kind) => objectIdAt(kind, Date.now() + 30_000, 0);

async function givenConversation({ assistants, threads }: Engine) {
  const assistant = await assistants.create(workspaceId, { model: 'm', tools: [getTime], metadata: {} });
  const thread = await threads.create({ workspaceId, userId: null }, { messages: [said('First')], metadata: {} });
  return { assistant_id: assistant.id, threadId: thread.id };
}

const statusIs = ({ runs }: Engine, threadId: string, id: string, status: string) =>
  eventually(`the run is ${status}`, async () => (await runs.read(workspaceId, threadId, id)).status === status);

const listing = { order: 'asc', limit: 100 } as const;

for (const kind of ['sqlite', 'postgres'] as const) {
  describe(`${kind}, after a node whose clock is ahead`, () => {
    test('what is said next stands behind what that node has said', async () => {
      const { node, store } = await givenEngine(kind, () => ({ parts: [{ text: 'Answer.' }] }));
      const { assistant_id, threadId } = await givenConversation(node);
      await store.db
        .updateTable('messages')
        .set({ id: aheadId('message') })
        .where('thread_id', '=', threadId)
        .execute();

      const { run } = await node.runs.create(caller, threadId, { assistant_id, metadata: {} });
      await statusIs(node, threadId, run.id, 'completed');
      await node.messages.create({ workspaceId, threadId, userId: null }, said('Last'));

      const { data } = await node.messages.list(workspaceId, threadId, listing);
      const texts = data.map(({ content: [block] }) => (block?.type === 'text' ? block.text.value : block?.type));
      expect(texts).toEqual(['First', 'Answer.', 'Last']);
    });

    test('the next step stands behind the steps of that node', async () => {
      const { node, store } = await givenEngine(kind, (call) => ({
        parts: call === 1 ? [{ call: 'get_time', arguments: '{}', id: 'call_1' }] : [{ text: 'Noon.' }],
      }));
      const { assistant_id, threadId } = await givenConversation(node);
      const { run } = await node.runs.create(caller, threadId, { assistant_id, metadata: {} });
      await statusIs(node, threadId, run.id, 'requires_action');
      const tool_step_id = aheadId('step');
      await store.db.updateTable('run_steps').set({ id: tool_step_id }).where('run_id', '=', run.id).execute();
      await store.db.updateTable('run_calls').set({ tool_step_id }).where('run_id', '=', run.id).execute();

      await node.runs.submit(workspaceId, threadId, run.id, [{ tool_call_id: 'call_1', output: '12:00' }]);
      await statusIs(node, threadId, run.id, 'completed');

      const { data } = await node.runs.listSteps(workspaceId, threadId, run.id, { query: listing });
      expect(data.map(({ type }) => type)).toEqual(['tool_calls', 'message_creation']);
    });
  });
}

/** Another node's transaction, which is committed only when a statement waits for its lock. */
async function whileAnotherNode<Result>(
  store: Store,
  change: (db: Db) => Promise<unknown>,
  wait: () => Promise<Result>,
): Promise<Result> {
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const other = store.transaction(async (db) => {
    await change(db);
    begun.resolve();
    await release.promise;
  });
  await begun.promise;
  const waiting = wait();
  waiting.catch(() => {});
  await eventually('it waits', async () => {
    const { rows } = await sql<{ waiting: number }>`select count(*) as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(store.db);
    return Number(rows[0]!.waiting) > 0;
  });
  release.resolve();
  await other;
  return waiting;
}

describe('two nodes at the same object', () => {
  test('a thread that one deletes while another changes it stays deleted', async () => {
    const { node, store } = await givenEngine('postgres');
    const { threadId } = await givenConversation(node);
    const remove = (db: Db) => db.updateTable('threads').set({ deleted_at: 1 }).where('id', '=', threadId).execute();

    const changing = whileAnotherNode(store, remove, () =>
      node.threads.update(workspaceId, threadId, { metadata: { a: 'b' } }),
    );

    await expect(changing).rejects.toThrow(`No thread found with id '${threadId}'.`);
    await expect(node.threads.read(workspaceId, threadId)).rejects.toThrow('No thread found');
  });

  test('what one attaches to a thread while another changes it is kept', async () => {
    const { node, store } = await givenEngine('postgres');
    const { threadId } = await givenConversation(node);
    const tool_resources = { code_interpreter: { file_ids: ['file-1'] } };
    const attach = (db: Db) =>
      db
        .updateTable('threads')
        .set({ tool_resources: JSON.stringify(tool_resources) })
        .where('id', '=', threadId)
        .execute();

    const changed = await whileAnotherNode(store, attach, () =>
      node.threads.update(workspaceId, threadId, { metadata: { a: 'b' } }),
    );

    expect([changed.tool_resources, changed.metadata]).toEqual([tool_resources, { a: 'b' }]);
  });

  test('changes of an assistant by both are both kept', async () => {
    const { node, store } = await givenEngine('postgres');
    const { assistant_id } = await givenConversation(node);
    const rename = async (db: Db) => {
      const { body } = await db.selectFrom('assistants').selectAll().executeTakeFirstOrThrow();
      await db
        .updateTable('assistants')
        .set({ body: JSON.stringify({ ...JSON.parse(body), name: 'Ada' }) })
        .execute();
    };

    const changed = await whileAnotherNode(store, rename, () =>
      node.assistants.update(workspaceId, assistant_id, { description: 'Counts.' }),
    );

    expect([changed.name, changed.description]).toEqual(['Ada', 'Counts.']);
  });
});
