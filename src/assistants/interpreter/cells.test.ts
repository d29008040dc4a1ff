import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '../../../test/postgres.ts';
import { newId, type WorkspaceId } from '../../core/ids.ts';
import type { Blobs } from '../../files/blobs.ts';
import { createFiles, type Files } from '../../files/files.ts';
import { folderBlobs } from '../../files/folder-blobs.ts';
import type { Engine } from '../../storage/migrate.ts';
import type { RunRow } from '../../storage/schema.ts';
import { openPostgres, openSqlite, type Store } from '../../storage/store.ts';
import { type Cells, createCells, stateOf, type WrittenCell } from './cells.ts';

const workspaceId = 'workspace' as WorkspaceId;

function suite(engine: Engine, open: () => Promise<Store>) {
  describe(engine, () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-cells-'));
    let store: Store;
    let blobs: Blobs;
    let files: Files;
    let cells: Cells;
    beforeAll(async () => {
      store = await open();
      await store.migrate();
      blobs = folderBlobs(folder);
      files = createFiles({ store, blobs });
      cells = createCells({ store, files, now: Date.now });
    });
    afterAll(async () => {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const givenRun = async () => {
      const threadId = newId<string>();
      const thread = { id: threadId, workspace_id: workspaceId, tool_resources: '{}', metadata: '{}' };
      await store.db
        .insertInto('threads')
        .values({ ...thread, created_at: 1, deleted_at: null })
        .execute();
      const run = {
        ...{ id: newId<string>(), workspace_id: workspaceId, thread_id: threadId, assistant_id: 'a', api_key_id: 'k' },
        ...{ headers: '{}', status: 'in_progress', body: '{}', metadata: '{}', prompt_tokens: 0, completion_tokens: 0 },
        ...{ repeated_calls: 0, epoch: 0, created_at: 1, expires_at: 2, keeps_events: 1 },
      };
      await store.db
        .insertInto('runs')
        .values(run as unknown as RunRow)
        .execute();
      return { runId: run.id, threadId, workspaceId };
    };
    const content = async function* () {
      yield Buffer.from('made\0by code');
    };
    const made = async () => [{ filename: 'a.txt', segment: await files.keep(content()) }];
    const cell = { code: 'x\0 = "\ud800"', inputs: [], leavesState: true, beginsAnew: false };
    const blobCount = async () => (await Array.fromAsync(blobs.list())).length;
    const filesOf = () => files.list(workspaceId, { limit: 100, order: 'asc' });

    test('of many that carry out the same call one writes it down, with its files, and all get that', async () => {
      const place = { ...(await givenRun()), ordinal: 0 };
      const before = (await filesOf()).data.length;
      const blobsBefore = await blobCount();
      const results = await Promise.all(
        Array.from({ length: 5 }, async (_, number) =>
          cells.add(place, cell, await made(), ([file]) => ({
            outputs: [{ type: 'logs', logs: String(number) }],
            output: '\0',
            files: [{ path: 'a.txt', file_id: file!.id }],
          })),
        ),
      );

      expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
      const { data } = await filesOf();
      expect([data.length - before, (await blobCount()) - blobsBefore]).toEqual([1, 1]);
      expect(data.at(-1)).toMatchObject({ id: results[0]!.files[0]!.file_id as never, purpose: 'assistants_output' });
      expect(await cells.find(place)).toMatchObject({ ...cell, result: results[0]! });
    });

    test('cells of a thread that are written at the same time all have a place in its order', async () => {
      const run = await givenRun();
      const empty = () => ({ outputs: [], output: '', files: [] });
      await Promise.all(Array.from({ length: 8 }, (_, ordinal) => cells.add({ ...run, ordinal }, cell, [], empty)));

      const ids = (await cells.of(run.threadId)).map(({ id }) => id);
      expect(ids.toSorted()).toEqual(Array.from({ length: 8 }, (_, ordinal) => `${run.runId}/${ordinal}`));
    });

    test('what cannot be written down leaves no content behind', async () => {
      const place = { ...(await givenRun()), ordinal: 0 };
      const blobsBefore = await blobCount();
      const failing = cells.add(place, cell, await made(), () => {
        throw new Error('no');
      });

      await expect(failing).rejects.toThrow('no');
      expect([await cells.find(place), await blobCount()]).toEqual([null, blobsBefore]);
    });
  });
}

suite('sqlite', async () => openSqlite(':memory:'));
suite('postgres', async () => openPostgres(await createDatabase()));

test('the state of a thread is what cells have left since the last that began anew', () => {
  const cell = (id: string, leavesState = true, beginsAnew = false) => ({ id, leavesState, beginsAnew }) as WrittenCell;
  const idsOf = (...cells: WrittenCell[]) => stateOf(cells).map(({ id }) => id);

  expect(idsOf(cell('a'), cell('b', false), cell('c'))).toEqual(['a', 'c']);
  expect(idsOf(cell('a'), cell('b', true, true), cell('c'))).toEqual(['b', 'c']);
  expect(idsOf(cell('a'), cell('b', false, true), cell('c'))).toEqual(['a', 'c']);
  expect(idsOf()).toEqual([]);
});
