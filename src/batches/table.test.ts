import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDatabase } from '../../test/postgres.ts';
import type { Usage } from '../core/usage.ts';
import type { BatchResultRow } from '../storage/schema.ts';
import { openPostgres, openSqlite, type Store } from '../storage/store.ts';
import { batchTable } from './table.ts';
import { keepResults } from './usage.ts';

const batch = (id: string) => ({
  id,
  workspace_id: 'w',
  api_key_id: 'k',
  virtual_key: 'sim',
  headers: '{}',
  endpoint: '/v1/chat/completions',
  input_file_id: 'file-1',
  completion_window: '24h',
  mode: 'managed' as const,
  status: 'in_progress',
  metadata: '{}',
  created_at: 1,
  expires_at: 2,
});

/** One suite, both stores. */
function tableContract(engine: string, open: () => Promise<Store>) {
  describe(engine, () => {
    let store: Store;
    beforeAll(async () => {
      store = await open();
      await store.migrate();
    });
    afterAll(() => store.close());

    const given = async (id: string) => {
      await store.db
        .insertInto('batches')
        .values(batch(id) as never)
        .execute();
      return batchTable(store);
    };
    const result = (id: string, number: number): BatchResultRow => ({
      batch_id: id,
      number,
      id: `r-${number}`,
      is_error: number % 2 === 0 ? 0 : 1,
      response: number % 2 === 0 ? `{"said":"it's ${number}, \\"quoted\\" $1 ?"}` : null,
      error: number % 2 === 0 ? null : '{"code":"x"}',
    });

    test('lines and results come back as they were, each in its own column', async () => {
      const table = await given('batch-1');
      const numbers = Array.from({ length: 200 }, (_, number) => number);
      const line = (number: number) => ({ number, position: number * 5_000_000_000, bytes: number + 7 });
      await table.insertLines(
        store.db,
        numbers.map((number) => ({ batch_id: 'batch-1', custom_id: `"c${number}"`, ...line(number) })),
      );
      expect(await table.openLines(store.db, 'batch-1', 0, 200)).toEqual(numbers.map(line));
      const results = numbers.slice(0, 150).map((number) => result('batch-1', number));
      expect((await table.insertResults(store.db, results)).toSorted((a, b) => a - b)).toEqual(numbers.slice(0, 150));
      const stored = await store.db.selectFrom('batch_results').selectAll().orderBy('number').execute();
      expect(stored).toEqual(results);
      expect(await table.openLines(store.db, 'batch-1', 0, 200)).toEqual(numbers.slice(150).map(line));
    });

    test('a result that is there already stays, and only the others are said to be added', async () => {
      const table = await given('batch-2');
      await table.insertResults(store.db, [result('batch-2', 1)]);
      const again = [{ ...result('batch-2', 1), id: 'late' }, result('batch-2', 2)];
      expect(await table.insertResults(store.db, again)).toEqual([2]);
      const first = await store.db.selectFrom('batch_results').select('id').where('batch_id', '=', 'batch-2').execute();
      expect(first.map(({ id }) => id).toSorted()).toEqual(['r-1', 'r-2']);
      expect(await table.insertResults(store.db, [])).toEqual([]);
    });

    test('what results took is added up once, however often they come', async () => {
      const table = await given('batch-3');
      const counted = (number: number, usage: Usage | null) => ({ row: result('batch-3', number), usage });
      const usage = { inputTokens: 10, cachedInputTokens: 4, outputTokens: 5, reasoningTokens: 2 };
      const keep = (...results: ReturnType<typeof counted>[]) => keepResults(store.db, table, 'batch-3', results);
      expect(await keep(counted(1, usage), counted(2, null))).toHaveLength(2);
      expect(await keep(counted(1, usage), counted(2, usage), counted(3, usage))).toEqual([3]);
      await Promise.all([keep(counted(4, { inputTokens: 3e9 })), keep(counted(5, { inputTokens: 3e9 }))]);
      const tokens = { input_tokens: 6_000_000_020, cached_tokens: 8, output_tokens: 10, reasoning_tokens: 4 };
      expect(await table.read(store.db, 'batch-3')).toMatchObject(tokens);
    });
  });
}

tableContract('sqlite', async () => openSqlite(':memory:'));
tableContract('postgres', async () => openPostgres(await createDatabase()));
