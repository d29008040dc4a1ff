import { fail } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import type { BatchLineRow, BatchResultRow, BatchRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Counts } from './batch.ts';
import { insertRows } from './insert-rows.ts';
import type { BatchTokens } from './usage.ts';

const LINE_COLUMNS = ['batch_id', 'number', 'custom_id', 'position', 'bytes'] as const;
const RESULT_COLUMNS = ['batch_id', 'number', 'id', 'is_error', 'response', 'error'] as const;

/** A request that has no result yet. */
export type OpenLine = Pick<BatchLineRow, 'number' | 'position' | 'bytes'>;

/** Every statement on the tables of batches. */
export function batchTable({ engine }: Pick<Store, 'engine'>) {
  return {
    read: (db: Db, id: string): Promise<BatchRow | undefined> =>
      db.selectFrom('batches').selectAll().where('id', '=', id).executeTakeFirst(),

    find: async (db: Db, workspaceId: WorkspaceId, id: string): Promise<BatchRow> =>
      (await db
        .selectFrom('batches')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where('id', '=', id)
        .executeTakeFirst()) ?? fail('batch_not_found', id),

    /** A transaction that also locks rows of work locks those first: all in the same order. */
    lock: (db: Db, id: string): Promise<BatchRow | undefined> => {
      const query = db.selectFrom('batches').selectAll().where('id', '=', id);
      return (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
    },

    change: async (db: Db, id: string, change: Partial<BatchRow>): Promise<void> => {
      await db.updateTable('batches').set(change).where('id', '=', id).execute();
    },

    /** Of those that have not ended; the others know. */
    countResults: async (db: Db, ids: readonly string[]): Promise<Map<string, Counts>> => {
      if (ids.length === 0) return new Map();
      const rows = await db
        .selectFrom('batch_results')
        .select(({ fn }) => ['batch_id', 'is_error', fn.countAll<number>().as('number')])
        .where('batch_id', 'in', ids)
        .groupBy(['batch_id', 'is_error'])
        .execute();
      const counts = new Map<string, { completed: number; failed: number }>();
      for (const { batch_id: id, is_error: isError, number } of rows) {
        const count = counts.get(id) ?? { completed: 0, failed: 0 };
        count[isError ? 'failed' : 'completed'] = Number(number);
        counts.set(id, count);
      }
      return counts;
    },

    insertLines: async (db: Db, lines: readonly BatchLineRow[]): Promise<void> => {
      await insertRows(db, 'batch_lines', LINE_COLUMNS, lines);
    },

    /** Requests from `from` up to and without `to` that have no result, in the order of the input. */
    openLines: (db: Db, id: string, from: number, to: number): Promise<OpenLine[]> =>
      db
        .selectFrom('batch_lines as line')
        .select(['line.number', 'line.position', 'line.bytes'])
        .where('line.batch_id', '=', id)
        .where('line.number', '>=', from)
        .where('line.number', '<', to)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('batch_results as result')
                .select('result.number')
                .whereRef('result.batch_id', '=', 'line.batch_id')
                .whereRef('result.number', '=', 'line.number'),
            ),
          ),
        )
        .orderBy('line.number')
        .execute(),

    /** A request that was made twice, because a process died, keeps its first result. Answers which were added. */
    insertResults: (db: Db, results: readonly BatchResultRow[]): Promise<number[]> =>
      insertRows(db, 'batch_results', RESULT_COLUMNS, results),

    addTokens: async (db: Db, id: string, tokens: BatchTokens): Promise<void> => {
      await db
        .updateTable('batches')
        .set(({ eb }) => ({
          input_tokens: eb('input_tokens', '+', tokens.input_tokens),
          cached_tokens: eb('cached_tokens', '+', tokens.cached_tokens),
          output_tokens: eb('output_tokens', '+', tokens.output_tokens),
          reasoning_tokens: eb('reasoning_tokens', '+', tokens.reasoning_tokens),
        }))
        .where('id', '=', id)
        .execute();
    },

    /** The next lines of the output or the error file, after `after`; those of the latter may have no result. */
    linesOfFile: (db: Db, id: string, file: 'output' | 'error', after: number, limit: number) => {
      const query = db
        .selectFrom('batch_lines as line')
        .leftJoin('batch_results as result', (join) =>
          join.onRef('result.batch_id', '=', 'line.batch_id').onRef('result.number', '=', 'line.number'),
        )
        .select(['line.number', 'line.custom_id', 'result.id', 'result.response', 'result.error'])
        .where('line.batch_id', '=', id)
        .where('line.number', '>', after)
        .orderBy('line.number')
        .limit(limit);
      return (
        file === 'output'
          ? query.where('result.is_error', '=', 0)
          : query.where((where) => where.or([where('result.is_error', '=', 1), where('result.is_error', 'is', null)]))
      ).execute();
    },

    /** Removes some of what is no longer needed once the files are there. Answers whether anything is left. */
    forgetLines: async (db: Db, id: string, limit: number): Promise<boolean> => {
      const next = await db
        .selectFrom('batch_lines')
        .select('number')
        .where('batch_id', '=', id)
        .orderBy('number')
        .offset(limit)
        .limit(1)
        .executeTakeFirst();
      const end = next?.number ?? Number.MAX_SAFE_INTEGER;
      for (const table of ['batch_results', 'batch_lines'] as const) {
        const gone = db.deleteFrom(table).where('batch_id', '=', id);
        await (next ? gone.where('number', '<', end) : gone).execute();
      }
      return next !== undefined;
    },
  };
}

export type BatchTable = ReturnType<typeof batchTable>;
