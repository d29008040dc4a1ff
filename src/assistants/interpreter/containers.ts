import { fail, GatewayError } from '../../core/errors.ts';
import { newId, type WorkspaceId } from '../../core/ids.ts';
import { type List, type ListQuery, listed, listPage } from '../../core/list.ts';
import { isObjectId, newObjectId } from '../../core/object-ids.ts';
import type { Principal } from '../../core/principal.ts';
import type { Segment } from '../../files/content.ts';
import type { FileObject } from '../../files/file.ts';
import type { Files } from '../../files/files.ts';
import { withinBounds } from '../../storage/keyset.ts';
import type { FileRow, ResponseRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { type CellResult, type Input, stateOf, type WrittenCell } from './cells.ts';
import {
  bodyOf,
  type ContainerBody,
  type ContainerFileObject,
  type ContainerInput,
  type ContainerObject,
  checkRoom,
  expiryOf,
  MOST_CONTAINERS,
  newBody,
  shownContainer,
} from './container.ts';
import type { WriteCell } from './execute.ts';
import { namesOf } from './inputs.ts';

/** Where code of responses runs: what it finds, and what it has left. */
export interface Container {
  readonly id: string;
  readonly fileIds: readonly string[];
  /** In their order. */
  readonly cells: readonly WrittenCell[];
  /** It is not there before its first code. */
  readonly isNew?: true;
}

export interface ContainersDeps {
  readonly store: Store;
  readonly files: Pick<Files, 'insert' | 'discard' | 'row' | 'open' | 'delete' | 'find'>;
  readonly now: () => number;
}

/** A container's files are told by where they lie. */
const FOLDER = '/mnt/data/';
const SWEPT_AT_ONCE = 20;
/** Of the ids that follow the prefix, the first that is not one of them. */
const FIRST = 'cntr_';
const BEHIND = 'cntr`';

/** Another node that went on with the response has run the same cell meanwhile. */
class RanElsewhere extends Error {
  readonly result: CellResult;

  constructor(result: CellResult) {
    super('The cell ran on another node.');
    this.result = result;
  }
}

type Owner = { readonly workspaceId: WorkspaceId };

/**
 * Containers, per workspace. One is kept like a response that has only items, which are its cells: it goes with its workspace and
 * its user, as these do.
 */
export function createContainers({ store, files, now }: ContainersDeps) {
  const rowOf = async (db: Db, { workspaceId }: Owner, id: string): Promise<ResponseRow | null> => {
    if (!isObjectId('container', id)) return null;
    const rows = db.selectFrom('responses').selectAll().where('id', '=', id).where('workspace_id', '=', workspaceId);
    return (await rows.executeTakeFirst()) ?? null;
  };
  const found = async (db: Db, who: Owner, id: string): Promise<ResponseRow> =>
    (await rowOf(db, who, id)) ?? fail('object_not_found', 'container', id.slice(0, 80));

  const written = async (id: string, db: Db = store.db): Promise<WrittenCell[]> => {
    const rows = await db
      .selectFrom('response_items')
      .select('body')
      .where('response_id', '=', id)
      .where('side', '=', 'cell')
      .orderBy('position')
      .execute();
    return rows.map(({ body }) => JSON.parse(body));
  };

  const addCell = async (db: Db, id: string, cell: WrittenCell): Promise<void> => {
    const { last } = await db
      .selectFrom('response_items')
      .select(({ fn }) => fn.max('position').as('last'))
      .where('response_id', '=', id)
      .executeTakeFirstOrThrow();
    const position = last === null ? 0 : Number(last) + 1;
    await db
      .insertInto('response_items')
      .values({ response_id: id, position, side: 'cell', item_id: cell.id, body: JSON.stringify(cell) })
      .execute();
  };

  /** It is used now, so it stays longer. */
  const save = async (db: Db, id: string, body: ContainerBody): Promise<void> => {
    const at = now();
    await db
      .updateTable('responses')
      .set({ body: JSON.stringify({ ...body, last_active_at: at }), expires_at: expiryOf(body, at) })
      .where('id', '=', id)
      .execute();
  };

  /** Changes a container that can be used. Until the transaction ends, no other one changes it. */
  const change = <Result>(
    who: Owner,
    id: string,
    step: (db: Db, body: ContainerBody) => Promise<{ body: ContainerBody; result: Result }>,
  ): Promise<Result> =>
    store.transaction(async (db) => {
      if (store.engine === 'postgres')
        await db.selectFrom('responses').select('id').where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
      const { body, result } = await step(db, bodyOf(active(await found(db, who, id))));
      await save(db, id, body);
      return result;
    });

  const isOver = (row: ResponseRow): boolean => Number(row.expires_at) <= now();
  const active = (row: ResponseRow): ResponseRow =>
    !isOver(row)
      ? row
      : fail('invalid_request', 'container_id', `the container ${row.id} has expired; make another one`);

  /** What lies in it: files that were given, and of those that code wrote the last of each path. */
  const filesIn = async ({ workspaceId }: Owner, { id, body }: ResponseRow): Promise<ContainerFileObject[]> => {
    const { file_ids, removed = [] } = bodyOf({ body });
    const cells = await written(id);
    const mounted = stateOf(cells).flatMap(({ inputs }) => inputs);
    const given = await namesOf(file_ids, mounted, { workspaceId, files });
    const made = new Map(
      cells.flatMap(({ result }) => result.files.map(({ path, file_id }) => [path, file_id] as const)),
    );
    const lying = [
      ...given.map(({ file_id, name }) => ({ file_id, path: name, source: 'user' as const })),
      ...[...made].map(([path, file_id]) => ({ file_id, path, source: 'assistant' as const })),
    ].filter(({ file_id }) => !removed.includes(file_id));
    const rows = await fileRows(
      store.db,
      workspaceId,
      lying.map(({ file_id }) => file_id),
    );
    return lying.flatMap(({ file_id, path, source }) => {
      const row = rows.get(file_id);
      return row ? [shownFile(id, row, path, source)] : [];
    });
  };

  const fileRows = async (db: Db, workspaceId: WorkspaceId, ids: readonly string[]): Promise<Map<string, FileRow>> => {
    const all = new Map<string, FileRow>();
    for (let from = 0; from < ids.length; from += 100) {
      const rows = await db
        .selectFrom('files')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where('id', 'in', ids.slice(from, from + 100))
        .where('deleted_at', 'is', null)
        .execute();
      for (const row of rows) if (row.expires_at === null || Number(row.expires_at) > now()) all.set(row.id, row);
    }
    return all;
  };

  const fileIn = async (who: Owner, id: string, fileId: string): Promise<ContainerFileObject> => {
    const lying = await filesIn(who, await found(store.db, who, id));
    return lying.find((file) => file.id === fileId) ?? fail('file_not_found', fileId.slice(0, 80));
  };

  const roomFor = async (db: Db, { workspaceId }: Owner, body: ContainerBody, param: string): Promise<void> => {
    const rows = await fileRows(db, workspaceId, body.file_ids);
    checkRoom(
      body.file_ids.map((fileId) => Number(rows.get(fileId)?.bytes ?? 0)),
      param,
    );
  };

  /** What was uploaded into it goes first; files that code wrote are the workspace's, and stay. */
  const remove = async (row: ResponseRow): Promise<void> => {
    for (const fileId of bodyOf(row).uploaded ?? [])
      await files.delete(row.workspace_id as WorkspaceId, fileId).catch(ifThere);
    await store.db.deleteFrom('responses').where('id', '=', row.id).execute();
  };

  return {
    /** Null: it is gone or has expired, or of another workspace, or was never there. */
    async find(who: Owner, id: string): Promise<Container | null> {
      const row = await rowOf(store.db, who, id);
      if (!row || isOver(row)) return null;
      return { id, fileIds: bodyOf(row).file_ids, cells: await written(id) };
    },

    async hasExpired(who: Owner, id: string): Promise<boolean> {
      const row = await rowOf(store.db, who, id);
      return row !== null && isOver(row);
    },

    cells: written,

    /** Writes a cell down with its files, in one transaction; a container that is not there yet comes with its first one. */
    async add(
      who: Principal,
      { id, fileIds, isNew }: Pick<Container, 'id' | 'fileIds' | 'isNew'>,
      cellId: string,
      ...[cell, made, resultOf]: Parameters<WriteCell>
    ): Promise<CellResult> {
      const at = now();
      try {
        return await store.transaction(async (db) => {
          if (isNew) {
            const body: ContainerBody = { file_ids: fileIds };
            const row = { id, workspace_id: who.workspaceId, user_id: who.userId, previous_id: null, bytes: 0 };
            await db
              .insertInto('responses')
              .values({ ...row, body: JSON.stringify(body), created_at: at, expires_at: expiryOf(body, at) })
              .onConflict((conflict) => conflict.column('id').doNothing())
              .execute();
          }
          // Until the transaction ends, no other one adds to it.
          await db.updateTable('responses').set({ bytes: 0 }).where('id', '=', id).execute();
          const body = bodyOf(await found(db, who, id));
          const removed = new Set(body.removed);
          const file_ids = [...new Set([...body.file_ids, ...fileIds])].filter((fileId) => !removed.has(fileId));
          await save(db, id, { ...body, file_ids });
          const same = (await written(id, db)).find((each) => each.id === cellId);
          if (same) throw new RanElsewhere(same.result);
          const common = { workspaceId: who.workspaceId, userId: who.userId, purpose: 'assistants_output' } as const;
          const objects: FileObject[] = [];
          for (const { filename, segment } of made)
            objects.push(await files.insert(db, { ...common, filename, segments: [segment] }));
          const result = resultOf(objects);
          await addCell(db, id, { id: cellId, ...cell, result });
          return result;
        });
      } catch (error) {
        for (const { segment } of made) await files.discard(segment);
        if (error instanceof RanElsewhere) return error.result;
        throw error;
      }
    },

    async create(who: Principal, input: ContainerInput, memoryMb: number): Promise<ContainerObject> {
      const body = newBody(input, memoryMb);
      for (const fileId of body.file_ids) await files.row(who.workspaceId, fileId);
      await roomFor(store.db, who, body, 'file_ids');
      const at = now();
      return store.transaction(async (db) => {
        const { count } = await db
          .selectFrom('responses')
          .select(({ fn }) => fn.countAll().as('count'))
          .where('workspace_id', '=', who.workspaceId)
          .where('id', '>=', FIRST)
          .where('id', '<', BEHIND)
          .where('expires_at', '>', at)
          .executeTakeFirstOrThrow();
        if (Number(count) >= MOST_CONTAINERS)
          fail(
            'invalid_request',
            'name',
            `the workspace has ${MOST_CONTAINERS} containers; delete some, or let them expire`,
          );
        const row: ResponseRow = {
          ...{ id: newObjectId('container', at), workspace_id: who.workspaceId, user_id: who.userId },
          ...{ previous_id: null, bytes: 0, body: JSON.stringify({ ...body, last_active_at: at }) },
          ...{ created_at: at, expires_at: expiryOf(body, at) },
        };
        await db.insertInto('responses').values(row).execute();
        return shownContainer(row, at);
      });
    },

    list(
      { workspaceId }: Owner,
      { name, ...query }: ListQuery & { readonly name?: string },
    ): Promise<List<ContainerObject>> {
      const at = now();
      const rows = store.db.selectFrom('responses').selectAll().where('workspace_id', '=', workspaceId);
      const containers = rows.where('id', '>=', FIRST).where('id', '<', BEHIND);
      const isNamed = (row: ResponseRow) => name === undefined || bodyOf(row).name === name;
      return listPage(query, 'container', {
        has: async (id) => (await containers.where('id', '=', id).executeTakeFirst()) !== undefined,
        between: async (bounds) => {
          // Names are part of a document: pages of a name are looked for among all.
          const some = withinBounds(
            containers,
            name === undefined ? bounds : { ...bounds, limit: MOST_CONTAINERS * 2 },
          );
          const page = (await some.execute()).filter(isNamed).slice(0, bounds.limit);
          return page.map((row) => shownContainer(row, at));
        },
      });
    },

    async read(who: Owner, id: string): Promise<ContainerObject> {
      return shownContainer(await found(store.db, who, id), now());
    },

    async delete(who: Owner, id: string) {
      await remove(await found(store.db, who, id));
      return { id, object: 'container.deleted' as const, deleted: true as const };
    },

    /** Throws when nothing can be put into it, before anything is received. */
    async requireRoom(who: Owner, id: string): Promise<void> {
      const body = bodyOf(active(await found(store.db, who, id)));
      await roomFor(store.db, who, { ...body, file_ids: [...body.file_ids, ''] }, 'file');
    },

    /** A file of the workspace. */
    async addFile(who: Owner, id: string, fileId: string): Promise<ContainerFileObject> {
      await change(who, id, async (db, body) => {
        await files.find(db, who.workspaceId, fileId);
        if (body.removed?.includes(fileId))
          fail(
            'invalid_request',
            'file_id',
            'was deleted from this container before; upload its content as another file',
          );
        const changed = { ...body, file_ids: [...new Set([...body.file_ids, fileId])] };
        await roomFor(db, who, changed, 'file_id');
        return { body: changed, result: null };
      });
      return fileIn(who, id, fileId);
    },

    /** Content that was received for it becomes a file of the workspace that goes with the container. */
    async upload(who: Principal, id: string, filename: string, segment: Segment): Promise<ContainerFileObject> {
      const { workspaceId, userId } = who;
      const fileId = await change(who, id, async (db, body) => {
        const known = await fileRows(db, workspaceId, body.file_ids);
        checkRoom([...body.file_ids.map((each) => Number(known.get(each)?.bytes ?? 0)), segment.bytes], 'file');
        const file = await files.insert(db, {
          workspaceId,
          userId,
          filename,
          purpose: 'user_data',
          segments: [segment],
        });
        const uploaded = [...(body.uploaded ?? []), file.id];
        return { body: { ...body, file_ids: [...body.file_ids, file.id], uploaded }, result: file.id };
      });
      return fileIn(who, id, fileId);
    },

    async listFiles(who: Owner, id: string, query: ListQuery): Promise<List<ContainerFileObject>> {
      const all = (await filesIn(who, await found(store.db, who, id))).sort((one, other) =>
        one.id < other.id ? -1 : 1,
      );
      const { limit, order, after } = query;
      const ordered = order === 'asc' ? all : all.reverse();
      const from = after === undefined ? 0 : ordered.findIndex((file) => file.id === after) + 1;
      if (after !== undefined && from === 0) fail('cursor_not_found', 'after');
      return listed(ordered.slice(from, from + limit), ordered.length > from + limit);
    },

    file: fileIn,

    /**
     * Code does not find it any more from here on. What was uploaded goes at once, unless code has been given it: that code may have
     * to be repeated, so the file goes with the container.
     */
    async deleteFile(who: Owner, id: string, fileId: string) {
      const { path } = await fileIn(who, id, fileId);
      const isLeft = await change(who, id, async (db, body) => {
        const state = stateOf(await written(id, db));
        // Code that runs later starts from what ran before, so the removal is a part of that.
        if (state.length > 0) await addCell(db, id, removalOf(path));
        const isNeeded = state.some(({ inputs }) => inputs.some(({ file_id }) => file_id === fileId));
        const isUploaded = body.uploaded?.includes(fileId) ?? false;
        const changed = {
          ...body,
          file_ids: body.file_ids.filter((each) => each !== fileId),
          uploaded: body.uploaded?.filter((each) => isNeeded || each !== fileId),
          removed: [...(body.removed ?? []), fileId],
        };
        return { body: changed, result: isUploaded && !isNeeded };
      });
      if (isLeft) await files.delete(who.workspaceId, fileId).catch(ifThere);
      return { id: fileId, object: 'container.file.deleted' as const, deleted: true as const };
    },

    /** Removes containers that have expired, with what was uploaded into them; answers how many. */
    async sweep(signal?: AbortSignal): Promise<number> {
      for (let swept = 0; ; ) {
        const rows = await store.db
          .selectFrom('responses')
          .selectAll()
          .where('id', '>=', FIRST)
          .where('id', '<', BEHIND)
          .where('expires_at', '<=', now())
          .limit(SWEPT_AT_ONCE)
          .execute();
        for (const row of rows) await remove(row);
        swept += rows.length;
        if (rows.length < SWEPT_AT_ONCE || signal?.aborted) return swept;
      }
    },
  };
}

export type Containers = ReturnType<typeof createContainers>;

const shownFile = (
  container_id: string,
  { id, bytes, created_at }: FileRow,
  path: string,
  source: ContainerFileObject['source'],
): ContainerFileObject => ({
  ...{ id, object: 'container.file', created_at: Math.floor(Number(created_at) / 1_000), bytes: Number(bytes) },
  ...{ container_id, path: `${FOLDER}${path}`, source },
});

/** A client has deleted it as a file of the workspace before. */
const ifThere = (error: unknown): void => {
  if (!(error instanceof GatewayError) || error.code !== 'file_not_found') throw error;
};

const NO_INPUTS: readonly Input[] = [];

/** Code that takes a file away. JSON's texts are Python's, too. */
const removalOf = (path: string): WrittenCell => ({
  id: newId<string>(),
  code: `import os as _os\ntry: _os.remove(${JSON.stringify(path)})\nexcept OSError: pass\ndel _os`,
  inputs: NO_INPUTS,
  result: { outputs: [], output: '', files: [] },
  leavesState: true,
  beginsAnew: false,
});
