import type { FileObject } from '../../files/file.ts';
import type { Files } from '../../files/files.ts';
import type { CodeCellRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import type { BuiltInCall } from '../runs/built-in.ts';
import type { ToolCall } from '../runs/step.ts';

/** A file of a thread, and the name under which its code finds it. */
export interface Input {
  readonly file_id: string;
  readonly name: string;
  readonly bytes: number;
}

export type CodeOutput = Extract<ToolCall, { type: 'code_interpreter' }>['code_interpreter']['outputs'][number];

/** A cell as it is written down. */
export interface WrittenCell {
  readonly id: string;
  readonly code: string;
  readonly inputs: readonly Input[];
  readonly result: CellResult;
  readonly leavesState: boolean;
  readonly beginsAnew: boolean;
}

export interface CellResult {
  /** As its step shows them. */
  readonly outputs: readonly CodeOutput[];
  /** What the model gets to read. */
  readonly output: string;
  /** What it made, by where it lies. */
  readonly files: readonly { readonly path: string; readonly file_id: string }[];
}

/** Content that a cell has made, stored and not yet a file. */
export interface KeptContent {
  readonly filename: string;
  readonly segment: Awaited<ReturnType<Files['keep']>>;
}

export interface CellsDeps {
  readonly store: Store;
  readonly files: Pick<Files, 'insert' | 'discard'>;
  readonly now: () => number;
}

type Place = Pick<BuiltInCall, 'runId' | 'ordinal' | 'threadId' | 'workspaceId'>;
type NewCell = Pick<WrittenCell, 'code' | 'inputs' | 'leavesState' | 'beginsAnew'>;

/** Another node has carried out the same call meanwhile, or the same place in the thread's order was taken. */
class Overtaken extends Error {}

/** The record of the code that runs have executed. A cell is in it once, with its files, or not at all. */
export function createCells({ store, files, now }: CellsDeps) {
  const find = async ({ runId, ordinal }: Pick<Place, 'runId' | 'ordinal'>): Promise<WrittenCell | null> => {
    const row = await store.db
      .selectFrom('code_cells')
      .selectAll()
      .where('run_id', '=', runId)
      .where('ordinal', '=', ordinal)
      .executeTakeFirst();
    return row ? cellIn(row) : null;
  };

  const write = (
    place: Place,
    cell: NewCell,
    made: readonly KeptContent[],
    resultOf: (files: readonly FileObject[]) => CellResult,
  ): Promise<CellResult> =>
    store.transaction(async (db) => {
      const objects: FileObject[] = [];
      const { workspaceId, runId } = place;
      const run = await db.selectFrom('runs').select('user_id').where('id', '=', runId).executeTakeFirst();
      const common = { workspaceId, userId: run?.user_id ?? null, purpose: 'assistants_output' } as const;
      for (const { filename, segment } of made)
        objects.push(await files.insert(db, { ...common, filename, segments: [segment] }));
      const result = resultOf(objects);
      const inserted = await db
        .insertInto('code_cells')
        .values(await rowOf(db, place, { ...cell, result }, now()))
        .onConflict((conflict) => conflict.doNothing())
        .returning('ordinal')
        .executeTakeFirst();
      if (!inserted) throw new Overtaken();
      return result;
    });

  return {
    find,

    /** The cells of a thread, in their order. */
    async of(threadId: string): Promise<WrittenCell[]> {
      const rows = await store.db
        .selectFrom('code_cells')
        .selectAll()
        .where('thread_id', '=', threadId)
        .orderBy('number')
        .execute();
      return rows.map(cellIn);
    },

    /** Writes a cell down with its files, in one transaction. A second writer gets what the first has written. */
    async add(...[place, cell, made, resultOf]: Parameters<typeof write>): Promise<CellResult> {
      try {
        for (;;) {
          try {
            return await write(place, cell, made, resultOf);
          } catch (error) {
            if (!(error instanceof Overtaken)) throw error;
            const known = await find(place);
            if (!known) continue;
            for (const { segment } of made) await files.discard(segment);
            return known.result;
          }
        }
      } catch (error) {
        for (const { segment } of made) await files.discard(segment);
        throw error;
      }
    },
  };
}

export type Cells = ReturnType<typeof createCells>;

/** The cells whose state the next one finds. */
export function stateOf(cells: readonly WrittenCell[]): WrittenCell[] {
  const begins = cells.findLastIndex(({ beginsAnew, leavesState }) => beginsAnew && leavesState);
  return cells.slice(Math.max(0, begins)).filter(({ leavesState }) => leavesState);
}

async function rowOf(
  db: Db,
  { runId, ordinal, threadId }: Place,
  { code, inputs, result, leavesState, beginsAnew }: NewCell & { readonly result: CellResult },
  now: number,
): Promise<CodeCellRow> {
  const { last } = await db
    .selectFrom('code_cells')
    .select(({ fn }) => fn.max('number').as('last'))
    .where('thread_id', '=', threadId)
    .executeTakeFirstOrThrow();
  return {
    run_id: runId,
    ordinal,
    thread_id: threadId,
    number: (last ?? 0) + 1,
    cell: JSON.stringify({ code, inputs }),
    result: JSON.stringify(result),
    leaves_state: leavesState ? 1 : 0,
    begins_anew: beginsAnew ? 1 : 0,
    created_at: now,
  };
}

const cellIn = (row: CodeCellRow): WrittenCell => ({
  id: `${row.run_id}/${row.ordinal}`,
  ...(JSON.parse(row.cell) as Pick<WrittenCell, 'code' | 'inputs'>),
  result: JSON.parse(row.result) as CellResult,
  leavesState: row.leaves_state === 1,
  beginsAnew: row.begins_anew === 1,
});
