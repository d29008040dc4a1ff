import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDatabase } from '../../test/postgres.ts';
import type { BatchResultRow } from '../storage/schema.ts';
import { openPostgres, openSqlite, type Store } from '../storage/store.ts';
import { batchTable } from './table.ts';

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
  });
}

tableContract('sqlite', async () => openSqlite(':memory:'));
tableContract('postgres', async () => openPostgres(await createDatabase()));
