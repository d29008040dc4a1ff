import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  type LabNode,
  openVectorStoreLab,
  type VectorStoreLab,
  wordReader,
} from '../../../test/assistants/vector-store-lab.ts';
import { eventually } from '../../../test/process.ts';
import type { Engine } from '../../storage/migrate.ts';
import { DocumentFault } from '../documents/document.ts';
import { ReadingFailed } from '../documents/reading-process.ts';
import { takeOutEverywhere } from './store-files.ts';
import { whenTakenIn } from './waiting.ts';

const DAY_MS = 86_400_000;
const page = { limit: 20, order: 'asc' as const };

/** Something that happens when it is told to. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: () => promise, open: () => resolve() };
}

for (const engine of ['sqlite', 'postgres'] as const satisfies readonly Engine[])
  describe(engine, () => {
    let lab: VectorStoreLab;
    beforeEach(async () => {
      lab = await openVectorStoreLab(engine);
    });
    afterEach(() => lab.close());

    const newStore = async ({ stores }: LabNode, input: object = {}) =>
      (await stores.create(lab.workspaceId, { metadata: {}, ...input })).id;
    const counts = async ({ stores }: LabNode, id: string) => (await stores.read(lab.workspaceId, id)).file_counts;
    const add = async ({ files }: LabNode, storeId: string, fileId: string) =>
      files.add(lab.workspaceId, storeId, { file_id: fileId });
    const settled = async (node: LabNode, storeId: string) => {
      await eventually('nothing is in progress', async () => (await counts(node, storeId)).in_progress === 0);
      return node.stores.read(lab.workspaceId, storeId);
    };
    const workLeft = async (kind: string) =>
      (await lab.store.db.selectFrom('work').select('id').where('kind', '=', kind).execute()).length;
    const workDone = () => eventually('no work is left', async () => (await workLeft('vector-store.ingest')) === 0);

    test('a file is in progress, then completed, and the store counts it and its bytes', async () => {
      const node = await lab.startNode();
      const storeId = await newStore(node, { file_ids: [await lab.newFile('some words')] });
      const store = await settled(node, storeId);
      expect(store.file_counts).toEqual({ in_progress: 0, completed: 1, failed: 0, cancelled: 0, total: 1 });
      expect(store.status).toBe('completed');
      expect(store.usage_bytes).toBe(9);
      const { data } = await node.files.list(lab.workspaceId, storeId, page);
      expect(data.map(({ status, last_error, usage_bytes }) => [status, last_error, usage_bytes])).toEqual([
        ['completed', null, 9],
      ]);
    });

    test('a document that cannot be read fails with its reason and is not tried again', async () => {
      let reads = 0;
      const reader = wordReader(async () => {
        reads++;
        throw new DocumentFault('unsupported_file', 'No.');
      });
      const node = await lab.startNode(reader);
      const storeId = await newStore(node);
      const fileId = await lab.newFile('x');
      await add(node, storeId, fileId);
      await settled(node, storeId);
      const { status, last_error } = await node.files.read(lab.workspaceId, storeId, fileId);
      expect({ status, last_error }).toEqual({
        status: 'failed',
        last_error: { code: 'unsupported_file', message: 'No.' },
      });
      expect(reads).toBe(1);
      expect(lab.errors).toEqual([]);
    });

    test('a document at which the reading process ends twice is called invalid', async () => {
      let reads = 0;
      const reader = wordReader(async () => {
        reads++;
        throw new ReadingFailed('gone');
      });
      const node = await lab.startNode(reader);
      const storeId = await newStore(node, { file_ids: [await lab.newFile('x')] });
      const { file_counts } = await settled(node, storeId);
      expect(file_counts.failed).toBe(1);
      expect(reads).toBe(2);
      const { data } = await node.files.list(lab.workspaceId, storeId, page);
      expect(data[0]!.last_error!.code).toBe('invalid_file');
    });

    test('what nobody foresaw is tried four times, and then it is the server’s error', async () => {
      let reads = 0;
      const reader = wordReader(async () => {
        reads++;
        throw new Error('the disk said something private');
      });
      const node = await lab.startNode(reader);
      const storeId = await newStore(node, { file_ids: [await lab.newFile('x')] });
      await settled(node, storeId);
      const { data } = await node.files.list(lab.workspaceId, storeId, page);
      expect(data[0]!.last_error!.code).toBe('server_error');
      expect(data[0]!.last_error!.message).not.toContain('private');
      expect(reads).toBe(4);
    });

    test('when the process that takes a file in dies, another one does, and the file is counted once', async () => {
      const stuck = gate();
      let isStuck = false;
      const reader = wordReader(async (_, word) => {
        isStuck = word === 'three';
        if (isStuck) await stuck.wait();
      });
      // With one slot, which is taken: what it loses does not come back to it.
      const dying = await lab.startNode(reader, { concurrency: 1 });
      const storeId = await newStore(dying, { file_ids: [await lab.newFile('one two three')] });
      await eventually('somebody is at it', () => isStuck);
      const living = await lab.startNode();
      await lab.store.db.updateTable('work').set({ owner: null, lease_until: 0 }).execute();
      const store = await settled(living, storeId);
      expect(store.file_counts).toEqual({ in_progress: 0, completed: 1, failed: 0, cancelled: 0, total: 1 });
      // The zombie comes back, and what it writes is not taken.
      stuck.open();
      await Bun.sleep(50);
      expect((await living.stores.read(lab.workspaceId, storeId)).usage_bytes).toBe('onetwothree'.length);
      expect([...lab.chunks.values()]).toEqual([['one', 'two', 'three']]);
    });

    test('a file that is taken out while it is taken in leaves nothing behind', async () => {
      const stuck = gate();
      const node = await lab.startNode(wordReader(() => stuck.wait()));
      const storeId = await newStore(node);
      const fileId = await lab.newFile('x y');
      await add(node, storeId, fileId);
      await node.files.remove(lab.workspaceId, storeId, fileId);
      expect((await counts(node, storeId)).total).toBe(0);
      stuck.open();
      await workDone();
      expect(lab.chunks.size).toBe(0);
      expect((await counts(node, storeId)).total).toBe(0);
    });

    test('a file that is added again stays, and one that is to be cut otherwise is taken in anew', async () => {
      const node = await lab.startNode();
      const fileId = await lab.newFile('x y');
      const storeId = await newStore(node, { file_ids: [fileId] });
      await settled(node, storeId);
      const again = await node.files.add(lab.workspaceId, storeId, { file_id: fileId, attributes: { year: 2026 } });
      expect(again).toMatchObject({ status: 'completed', attributes: { year: 2026 } });
      const cut = await node.files.add(lab.workspaceId, storeId, {
        file_id: fileId,
        chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 200, chunk_overlap_tokens: 0 } },
      });
      expect(cut).toMatchObject({ status: 'in_progress', usage_bytes: 0 });
      expect((await settled(node, storeId)).file_counts).toMatchObject({ completed: 1, total: 1 });
    });

    describe('batches', () => {
      const batchOf = (node: LabNode, storeId: string, fileIds: readonly string[]) =>
        node.batches.create(lab.workspaceId, storeId, { file_ids: [...fileIds] });
      const ended = async (node: LabNode, storeId: string, id: string) => {
        await eventually('the batch has ended', async () => {
          return (await node.batches.read(lab.workspaceId, storeId, id)).status !== 'in_progress';
        });
        return node.batches.read(lab.workspaceId, storeId, id);
      };

      test('are completed when all their files have come to an end, whichever', async () => {
        const node = await lab.startNode(
          wordReader(async (_, word) => {
            if (word === 'bad') throw new DocumentFault('invalid_file', 'Bad.');
          }),
        );
        const storeId = await newStore(node);
        const fileIds = [await lab.newFile('good'), await lab.newFile('bad'), await lab.newFile('good too')];
        const { id } = await batchOf(node, storeId, fileIds);
        const batch = await ended(node, storeId, id);
        expect(batch).toMatchObject({
          object: 'vector_store.files_batch',
          status: 'completed',
          file_counts: { in_progress: 0, completed: 2, failed: 1, cancelled: 0, total: 3 },
        });
        const failed = await node.batches.listFiles(lab.workspaceId, storeId, id, { ...page, filter: 'failed' });
        expect(failed.data.map(({ id: fileId }) => fileId)).toEqual([fileIds[1]!]);
      });

      test('that bring nothing new are completed at once', async () => {
        const node = await lab.startNode();
        const fileId = await lab.newFile('x');
        const storeId = await newStore(node, { file_ids: [fileId] });
        await settled(node, storeId);
        expect(await batchOf(node, storeId, [fileId, fileId])).toMatchObject({
          status: 'completed',
          file_counts: { completed: 1, total: 1 },
        });
      });

      test('that are cancelled stop at once, keep what is in, and stay cancelled', async () => {
        const stuck = gate();
        const node = await lab.startNode(wordReader(async (_, word) => (word === 'slow' ? stuck.wait() : undefined)));
        const storeId = await newStore(node);
        const fast = await lab.newFile('fast');
        const slow = await Promise.all(Array.from({ length: 6 }, () => lab.newFile('slow')));
        const { id } = await batchOf(node, storeId, [fast, ...slow]);
        await eventually('one is in', async () => (await counts(node, storeId)).completed === 1);
        const cancelled = await node.batches.cancel(lab.workspaceId, storeId, id);
        expect(cancelled).toMatchObject({
          status: 'cancelled',
          file_counts: { in_progress: 0, completed: 1, failed: 0, cancelled: 6, total: 7 },
        });
        stuck.open();
        await workDone();
        expect(await node.batches.read(lab.workspaceId, storeId, id)).toEqual(cancelled);
        expect(await counts(node, storeId)).toEqual({
          in_progress: 0,
          completed: 1,
          failed: 0,
          cancelled: 6,
          total: 7,
        });
        expect(lab.chunks.size).toBe(1);
        expect(await node.batches.cancel(lab.workspaceId, storeId, id)).toEqual(cancelled);
      });

      test('a batch that has ended cannot be cancelled', async () => {
        const node = await lab.startNode();
        const storeId = await newStore(node);
        const { id } = await batchOf(node, storeId, [await lab.newFile('x')]);
        await ended(node, storeId, id);
        await expect(node.batches.cancel(lab.workspaceId, storeId, id)).rejects.toThrow(
          `File batch '${id}' is completed; only a batch that is still in progress can be cancelled.`,
        );
      });

      test('a file that another batch takes over, or that is taken out, does not hold up the first one', async () => {
        const stuck = gate();
        const node = await lab.startNode(wordReader(() => stuck.wait()));
        const storeId = await newStore(node);
        const [one, two] = [await lab.newFile('one'), await lab.newFile('two')];
        const first = await batchOf(node, storeId, [one, two]);
        const second = await batchOf(node, storeId, [one]);
        await node.files.remove(lab.workspaceId, storeId, two);
        expect(await node.batches.read(lab.workspaceId, storeId, first.id)).toMatchObject({
          status: 'completed',
          file_counts: { in_progress: 0, completed: 0, failed: 0, cancelled: 2, total: 2 },
        });
        stuck.open();
        expect(await ended(node, storeId, second.id)).toMatchObject({ file_counts: { completed: 1, total: 1 } });
      });
    });

    describe('what is deleted', () => {
      test('a store is gone at once, with the work for it, and its rows follow', async () => {
        const stuck = gate();
        const node = await lab.startNode(wordReader(async (_, word) => (word === 'slow' ? stuck.wait() : undefined)));
        const storeId = await newStore(node, { file_ids: [await lab.newFile('fast')] });
        await settled(node, storeId);
        await add(node, storeId, await lab.newFile('slow'));
        const batch = await node.batches.create(lab.workspaceId, storeId, { file_ids: [await lab.newFile('slow')] });
        expect(batch.status).toBe('in_progress');
        await node.stores.delete(lab.workspaceId, storeId);
        await expect(node.stores.read(lab.workspaceId, storeId)).rejects.toThrow(
          `No vector store found with id '${storeId}'.`,
        );
        expect(await workLeft('vector-store.ingest')).toBe(0);
        stuck.open();
        await eventually('nothing is left of it', async () => {
          const rows = await lab.store.db.selectFrom('vector_store_files').select('file_id').execute();
          return rows.length === 0 && (await workLeft('vector-store.clear')) === 0;
        });
        expect(lab.chunks.size).toBe(0);
      });

      test('a file that is deleted leaves every store', async () => {
        const node = await lab.startNode();
        const fileId = await lab.newFile('x');
        const [one, two] = [await newStore(node, { file_ids: [fileId] }), await newStore(node, { file_ids: [fileId] })];
        await settled(node, one);
        await settled(node, two);
        await lab.store.transaction((db) =>
          takeOutEverywhere(db, fileId, { store: lab.store, now: Date.now, index: { remove: async () => {} } }),
        );
        expect((await counts(node, one)).total + (await counts(node, two)).total).toBe(0);
      });

      test('a file that was deleted before it was read fails', async () => {
        const node = await lab.startNode();
        const fileId = await lab.newFile('x');
        await node.workers.stop(0);
        const storeId = await newStore(node, { file_ids: [fileId] });
        await lab.files.delete(lab.workspaceId, fileId);
        const living = await lab.startNode();
        const { file_counts } = await settled(living, storeId);
        expect(file_counts.failed + (1 - file_counts.total)).toBe(1);
      });
    });

    describe('expiry', () => {
      const policy = { expires_after: { anchor: 'last_active_at' as const, days: 2 } };

      test('a store that nobody used expires, and takes no files; its files can still be listed', async () => {
        const node = await lab.startNode();
        const fileId = await lab.newFile('x');
        const storeId = await newStore(node, { ...policy, file_ids: [fileId] });
        const fresh = await settled(node, storeId);
        expect(fresh.expires_at).toBe(fresh.last_active_at + 2 * 86_400);
        lab.pass(2 * DAY_MS + 1_000);
        expect((await node.stores.read(lab.workspaceId, storeId)).status).toBe('expired');
        await expect(add(node, storeId, fileId)).rejects.toThrow(`Vector store '${storeId}' has expired`);
        await eventually('its chunks are removed', () => lab.chunks.size === 0);
        await eventually('it takes up nothing', async () => {
          return (await node.stores.read(lab.workspaceId, storeId)).usage_bytes === 0;
        });
        const { data } = await node.files.list(lab.workspaceId, storeId, page);
        expect(data.map(({ id }) => id)).toEqual([fileId]);
        await expect(
          node.stores.update(lab.workspaceId, storeId, { expires_after: { anchor: 'last_active_at', days: 9 } }),
        ).rejects.toThrow('has expired');
      });

      test('use puts it off', async () => {
        const node = await lab.startNode();
        const storeId = await newStore(node, policy);
        lab.pass(DAY_MS);
        await node.stores.touch([storeId]);
        lab.pass(1.5 * DAY_MS);
        const store = await node.stores.read(lab.workspaceId, storeId);
        expect(store.status).toBe('completed');
        expect(store.expires_at).toBe(store.last_active_at + 2 * 86_400);
      });

      test('what is on its way when the store expires is cancelled', async () => {
        const stuck = gate();
        const node = await lab.startNode(wordReader(() => stuck.wait()));
        const storeId = await newStore(node, policy);
        const batch = await node.batches.create(lab.workspaceId, storeId, { file_ids: [await lab.newFile('x')] });
        lab.pass(3 * DAY_MS);
        await eventually('it is cancelled', async () => (await counts(node, storeId)).cancelled === 1);
        expect((await node.batches.read(lab.workspaceId, storeId, batch.id)).status).toBe('cancelled');
        stuck.open();
        await workDone();
        expect(lab.chunks.size).toBe(0);
      });
    });

    test('whoever is about to search waits for what is on its way, and not for ever', async () => {
      const stuck = gate();
      const node = await lab.startNode(wordReader(() => stuck.wait()));
      const storeId = await newStore(node, { file_ids: [await lab.newFile('x')] });
      const { signal } = new AbortController();
      await whenTakenIn(lab.store.db, [storeId], { signal, mostMs: 100 });
      expect((await counts(node, storeId)).in_progress).toBe(1);
      setTimeout(stuck.open, 50);
      await whenTakenIn(lab.store.db, [storeId], { signal });
      expect((await counts(node, storeId)).completed).toBe(1);
    });

    test('files are listed in the order in which they were added, also around one that was taken out', async () => {
      const node = await lab.startNode();
      const made: string[] = [];
      for (let number = 0; number < 5; number++) made.push(await lab.newFile(`file ${number}`));
      const added = made.toReversed();
      const storeId = await newStore(node);
      for (const fileId of added) await add(node, storeId, fileId);
      const ids = async (query: object) =>
        (await node.files.list(lab.workspaceId, storeId, { ...page, ...query })).data.map(({ id }) => id);
      expect(await ids({})).toEqual(added);
      expect(await ids({ order: 'desc', limit: 2 })).toEqual([added[4]!, added[3]!]);
      expect(await ids({ after: added[1]!, limit: 2 })).toEqual([added[2]!, added[3]!]);
      expect(await ids({ before: added[3]!, limit: 2 })).toEqual([added[1]!, added[2]!]);
      await node.files.remove(lab.workspaceId, storeId, added[1]!);
      expect(await ids({ after: added[1]! })).toEqual([added[2]!, added[3]!, added[4]!]);
    });

    test('a file that is not the workspace’s is missing, and nothing is added beside it', async () => {
      const node = await lab.startNode();
      const own = await lab.newFile('x');
      await expect(newStore(node, { file_ids: [own, 'file-of-somebody'] })).rejects.toThrow(
        'No such File object: file-of-somebody',
      );
      const { data } = await node.stores.list(lab.workspaceId, page);
      expect(data).toEqual([]);
    });

    test('many files that are added, taken out and cancelled at once are counted rightly', async () => {
      const nodes = [await lab.startNode(), await lab.startNode()];
      const storeId = await newStore(nodes[0]!);
      const fileIds = await Promise.all(Array.from({ length: 30 }, (_, number) => lab.newFile(`file ${number}`)));
      const work: Promise<unknown>[] = [];
      for (const [number, fileId] of fileIds.entries()) {
        const node = nodes[number % 2]!;
        if (number % 3 === 0) work.push(add(node, storeId, fileId));
        else
          work.push(
            node.batches
              .create(lab.workspaceId, storeId, { file_ids: [fileId, fileIds[(number + 1) % 30]!] })
              .then(({ id }) =>
                number % 3 === 1 ? node.batches.cancel(lab.workspaceId, storeId, id).catch(() => {}) : undefined,
              ),
          );
        if (number % 7 === 0)
          work.push(Bun.sleep(number).then(() => node.files.remove(lab.workspaceId, storeId, fileId).catch(() => {})));
      }
      await Promise.all(work);
      await workDone();
      const { file_counts, usage_bytes } = await settled(nodes[0]!, storeId);
      const { data } = await nodes[0]!.files.list(lab.workspaceId, storeId, { ...page, limit: 100 });
      const completed = data.filter(({ status }) => status === 'completed');
      expect(file_counts).toEqual({
        in_progress: 0,
        completed: completed.length,
        failed: 0,
        cancelled: data.length - completed.length,
        total: data.length,
      });
      expect(usage_bytes).toBe(completed.reduce((sum, file) => sum + file.usage_bytes, 0));
      expect(lab.chunks.size).toBe(completed.length);
      expect(lab.errors).toEqual([]);
      const open = await lab.store.db
        .selectFrom('vector_store_batches')
        .select('id')
        .where('status', '=', 'in_progress')
        .execute();
      expect(open).toEqual([]);
    });
  });
