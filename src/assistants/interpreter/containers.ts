import type { Principal } from '../../core/principal.ts';
import type { FileObject } from '../../files/file.ts';
import type { Files } from '../../files/files.ts';
import type { Store } from '../../storage/store.ts';
import type { CellResult, WrittenCell } from './cells.ts';
import type { WriteCell } from './execute.ts';

/** Where code of responses runs: what it finds, and what it has left. */
export interface Container {
  readonly id: string;
  readonly fileIds: readonly string[];
  /** In their order. */
  readonly cells: readonly WrittenCell[];
}

export interface ContainersDeps {
  readonly store: Store;
  readonly files: Pick<Files, 'insert' | 'discard'>;
  readonly now: () => number;
}

const PREFIX = 'cntr_';
/** After its last code: as long as a response that could go on from it. */
const KEPT_MS = 30 * 86_400_000;

/** Another node that went on with the response has run the same cell meanwhile. */
class RanElsewhere extends Error {
  readonly result: CellResult;

  constructor(result: CellResult) {
    super('The cell ran on another node.');
    this.result = result;
  }
}

/**
 * Containers, per workspace. One is kept like a response that has only items, which are its cells: it is swept, and goes with its
 * workspace and its user, as these do.
 */
export function createContainers({ store, files, now }: ContainersDeps) {
  const written = async (id: string): Promise<WrittenCell[]> => {
    const rows = await store.db
      .selectFrom('response_items')
      .select('body')
      .where('response_id', '=', id)
      .where('side', '=', 'cell')
      .orderBy('position')
      .execute();
    return rows.map(({ body }) => JSON.parse(body));
  };

  return {
    /** Null: it is gone, or of another workspace, or was never there. */
    async find({ workspaceId }: Principal, id: string): Promise<Container | null> {
      if (!id.startsWith(PREFIX)) return null;
      const row = await store.db
        .selectFrom('responses')
        .select('body')
        .where('id', '=', id)
        .where('workspace_id', '=', workspaceId)
        .where('expires_at', '>', now())
        .executeTakeFirst();
      return row ? { id, fileIds: JSON.parse(row.body).file_ids, cells: await written(id) } : null;
    },

    cells: written,

    /** Writes a cell down with its files, in one transaction; with the first one, the container is there. */
    async add(
      who: Principal,
      { id, fileIds }: Pick<Container, 'id' | 'fileIds'>,
      cellId: string,
      ...[cell, made, resultOf]: Parameters<WriteCell>
    ): Promise<CellResult> {
      const at = now();
      const body = JSON.stringify({ file_ids: fileIds });
      try {
        return await store.transaction(async (db) => {
          const row = { id, workspace_id: who.workspaceId, user_id: who.userId, previous_id: null, bytes: 0, body };
          // Until the transaction ends, no other one adds to it.
          await db
            .insertInto('responses')
            .values({ ...row, created_at: at, expires_at: at + KEPT_MS })
            .onConflict((conflict) => conflict.column('id').doUpdateSet({ body, expires_at: at + KEPT_MS }))
            .execute();
          const same = await db
            .selectFrom('response_items')
            .select('body')
            .where('response_id', '=', id)
            .where('item_id', '=', cellId)
            .executeTakeFirst();
          if (same) throw new RanElsewhere((JSON.parse(same.body) as WrittenCell).result);
          const common = { workspaceId: who.workspaceId, userId: who.userId, purpose: 'assistants_output' } as const;
          const objects: FileObject[] = [];
          for (const { filename, segment } of made)
            objects.push(await files.insert(db, { ...common, filename, segments: [segment] }));
          const result = resultOf(objects);
          const { last } = await db
            .selectFrom('response_items')
            .select(({ fn }) => fn.max('position').as('last'))
            .where('response_id', '=', id)
            .executeTakeFirstOrThrow();
          const position = last === null ? 0 : Number(last) + 1;
          const kept: WrittenCell = { id: cellId, ...cell, result };
          await db
            .insertInto('response_items')
            .values({ response_id: id, position, side: 'cell', item_id: cellId, body: JSON.stringify(kept) })
            .execute();
          return result;
        });
      } catch (error) {
        for (const { segment } of made) await files.discard(segment);
        if (error instanceof RanElsewhere) return error.result;
        throw error;
      }
    },
  };
}

export type Containers = ReturnType<typeof createContainers>;
