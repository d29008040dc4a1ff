import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createDatabase } from '../../../test/postgres.ts';
import { batchOf, removeTemporaryFolders, row, temporaryFolder } from '../../../test/telemetry/log-rows.ts';
import type { LogRow } from '../log-columns.ts';
import { type LogStore, openLogStore } from '../log-store.ts';
import type { ShownSession } from './reading.ts';

afterAll(removeTemporaryFolders);

const openStore = async (engine: 'sqlite' | 'postgres'): Promise<LogStore> =>
  engine === 'sqlite'
    ? openLogStore({ engine, file: join(temporaryFolder(), 'logs.db') }, 'writer')
    : openLogStore({ engine, url: await createDatabase() }, 'writer');

const reach = { organisationId: 'org', workspaceId: null };
const MODELS = ['gpt-4o', 'gpt-5', null];
const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(Math.random() * values.length)]!;

const anyRow = (at: number): LogRow => {
  const priced = Math.random() < 0.7;
  return row({
    created_at: 1_700_000_000_000 + at,
    workspace_id: pick(['one', 'two', null]),
    session_id: pick(['s1', 's2', 's3', null]),
    user_id: pick(['ann', 'bob']),
    model: pick(MODELS),
    status: pick([200, 200, 503]),
    failed_by: pick([null, 'provider']),
    duration_ms: Math.random() * 5_000,
    cost: priced ? Math.random() / 7 : null,
    total_tokens: pick([null, 7]),
    cached_tokens: pick([null, 2]),
  });
};

/** What sessions of these entries amount to, found by looking at each of them. */
function expected(rows: readonly LogRow[]) {
  const inSession = rows.filter(({ session_id, workspace_id }) => session_id && workspace_id);
  return Object.fromEntries(
    [...Map.groupBy(inSession, (each) => `${each.workspace_id}/${each.session_id}`)].map(([key, all]) => {
      const sum = (value: (each: LogRow) => number | null) =>
        all.reduce((total, each) => total + (value(each) ?? 0), 0);
      const nano = sum(({ cost }) => Math.round((cost ?? 0) * 1e9));
      const figures = {
        calls: all.length,
        errors: sum(({ status, failed_by }) => Number(status >= 400 || failed_by !== null)),
        unpriced_calls: sum(({ cost, input_tokens }) => Number(cost === null && input_tokens !== null)),
        input_tokens: sum((each) => each.input_tokens),
        total_tokens: sum((each) => each.total_tokens),
        cached_tokens: sum((each) => each.cached_tokens),
        cost: nano / 1e9,
        first_call_at: Math.min(...all.map((each) => each.created_at)),
        last_call_at: Math.max(...all.map((each) => each.created_at)),
        ended_at: Math.max(...all.map((each) => each.created_at + Math.trunc(each.duration_ms))),
        models: Object.fromEntries(
          [...Map.groupBy(all, ({ model }) => model)].flatMap(([model, of]) => (model ? [[model, of.length]] : [])),
        ),
      };
      return [key, figures];
    }),
  );
}

const shownBy = (sessions: readonly ShownSession[], like: ReturnType<typeof expected>) =>
  Object.fromEntries(
    sessions.map((session) => {
      const key = `${session.workspace_id}/${session.id}`;
      const names = Object.keys(Object.values(like)[0] ?? {}) as (keyof ShownSession)[];
      const figures = Object.fromEntries(names.map((name) => [name, session[name]]));
      return [
        key,
        { ...figures, models: Object.fromEntries(session.models.map(({ model, calls }) => [model, calls])) },
      ];
    }),
  );

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`sums of sessions are those of the entries that are there, whatever is stored twice, pruned or erased (${engine})`, async () => {
    const store = await openStore(engine);
    let there: LogRow[] = [];
    const agree = async () => {
      const { data } = await store.sessions({ ...reach, limit: 100 });
      const wanted = expected(there);
      expect(shownBy(data, wanted)).toEqual(wanted);
    };
    for (let round = 0; round < 6; round++) {
      const batch = Array.from({ length: 40 }, (_, at) => anyRow(round * 100 + at));
      await store.insert(batchOf(...batch));
      // Sent again, as after a crash, with one that is new, and some of which guardrails have found more.
      const more = anyRow(round * 100 + 50);
      const again = batch.slice(20).map((each, at) => (at % 2 ? { ...each, hook_results: '{"a":1}' } : each));
      await store.insert(batchOf(...again, more));
      there.push(...batch, more);
      await agree();
    }
    for (const before of [1_700_000_000_150, 1_700_000_000_330]) {
      await store.prune(before, 10_000);
      there = there.filter(({ created_at }) => created_at >= before);
      await agree();
    }
    await store.erase({ organisationId: 'org', userId: 'ann', names: [] }, 10_000);
    there = there.filter(({ user_id }) => user_id !== 'ann');
    await agree();
    await store.erase({ workspaceId: 'one' }, 10_000);
    there = there.filter(({ workspace_id }) => workspace_id !== 'one');
    await agree();
    await store.erase({ workspaceId: 'two' }, 10_000);
    expect((await store.sessions({ ...reach, limit: 100 })).data).toEqual([]);
    await store.close();
  });

  test(`a page of sessions goes on where the one before ended (${engine})`, async () => {
    const store = await openStore(engine);
    // Several of one moment, and of one id in two workspaces.
    const rows = Array.from({ length: 30 }, (_, at) =>
      row({
        session_id: `s${at % 15}`,
        workspace_id: at < 15 ? 'one' : 'two',
        created_at: 1_700_000_000_000 + Math.floor((at % 15) / 4),
      }),
    );
    await store.insert(batchOf(...rows));
    const seen: string[] = [];
    let after: Parameters<LogStore['sessions']>[0]['after'];
    const { sessionPosition } = await import('./reading.ts');
    for (let pages = 0; pages < 20; pages++) {
      const page = await store.sessions({ ...reach, limit: 4, ...(after && { after }) });
      seen.push(...page.data.map(({ workspace_id, id }) => `${workspace_id}/${id}`));
      if (!page.has_more) break;
      after = sessionPosition(page.next_cursor!)!;
    }
    expect(seen).toHaveLength(30);
    expect(new Set(seen).size).toBe(30);
    await store.close();
  });
}

test('two nodes that store and remove at the same time leave exact sums', async () => {
  const url = await createDatabase();
  const nodes = [
    await openLogStore({ engine: 'postgres', url }, 'writer'),
    await openLogStore({ engine: 'postgres', url }, 'writer'),
  ];
  const there: LogRow[] = [];
  await Promise.all(
    nodes.map(async (node, number) => {
      for (let round = 0; round < 15; round++) {
        const batch = Array.from({ length: 20 }, () => anyRow(round * 10 + number));
        there.push(...batch);
        await node.insert(batchOf(...batch));
        await node.prune(1_700_000_000_000 + round * 5, 1_000);
      }
    }),
  );
  const last = 1_700_000_000_000 + 14 * 5;
  for (const node of nodes) await node.prune(last, 10_000);
  const { data } = await nodes[0]!.sessions({ ...reach, limit: 100 });
  const wanted = expected(there.filter(({ created_at }) => created_at >= last));
  expect(shownBy(data, wanted)).toEqual(wanted);
  for (const node of nodes) await node.close();
});
