import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '../../test/postgres.ts';
import { newId, type WorkspaceId } from '../core/ids.ts';
import type { Engine } from '../storage/migrate.ts';
import { openPostgres, openSqlite, type Store } from '../storage/store.ts';
import { type Blobs, blobId } from './blobs.ts';
import { createFiles, type Files } from './files.ts';
import { folderBlobs } from './folder-blobs.ts';
import { postgresBlobs } from './postgres-blobs.ts';
import { sweepFiles, sweepOrphans } from './sweep.ts';
import { takesOrphans } from './sweeper.ts';
import { createUploads, type Uploads } from './uploads.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const bytesOf = async function* (text: string) {
  yield Buffer.from(text);
};
const textOf = async (content: Promise<ReadableStream<Uint8Array>>) => new Response(await content).text();
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: { code?: string }) => error.code ?? String(error),
  );

function suite(engine: Engine, open: () => Promise<{ store: Store; blobs: (now: () => number) => Blobs }>) {
  describe(engine, () => {
    let store: Store;
    let blobs: Blobs;
    let isAway = false;
    let time = Date.now();
    const now = () => time;
    let files: Files;
    let uploads: Uploads;
    let workspaceId: WorkspaceId;
    beforeAll(async () => {
      const opened = await open();
      store = opened.store;
      await store.migrate();
      const whole = opened.blobs(now);
      const deleteBlob: Blobs['delete'] = (id) => (isAway ? Promise.reject(new Error('away')) : whole.delete(id));
      blobs = { ...whole, delete: deleteBlob };
      files = createFiles({ store, blobs, now });
      uploads = createUploads({ store, blobs, files, now });
    });
    beforeEach(() => {
      workspaceId = newId<WorkspaceId>();
      time = Date.now();
    });
    afterAll(() => store.close());

    const sweep = () => sweepFiles({ store, blobs, now });
    const kept = async () => new Set((await Array.fromAsync(blobs.list())).map(({ id }) => String(id)));
    const rowsOf = async () =>
      (await store.db.selectFrom('files').select('id').where('workspace_id', '=', workspaceId).execute()).length;
    const given = async (options: { livesSeconds?: number } = {}) => {
      const content = await files.keep(bytesOf('hello'));
      const file = await files.create({
        workspaceId,
        filename: 'a.txt',
        purpose: 'user_data',
        segments: [content],
        ...options,
      });
      return { file, blob: content.blob };
    };
    const givenUpload = () =>
      uploads.create(
        { workspaceId, userId: null },
        { filename: 'a', purpose: 'vision', bytes: 5, mime_type: 'image/png' },
      );
    const givenPart = async (uploadId: string, text: string) =>
      (await uploads.addPart(workspaceId, uploadId, await uploads.keepPart(bytesOf(text)))).id;

    test('an expired file is missing at once, its bytes go with a sweep, and its place is known for a day', async () => {
      const { file, blob } = await given({ livesSeconds: 3_600 });
      const { file: other } = await given();
      expect(await textOf(files.open(file))).toBe('hello');
      time += HOUR;

      expect(await codeOf(files.read(workspaceId, file.id))).toBe('file_not_found');
      expect((await files.list(workspaceId, { limit: 5, order: 'asc' })).data.map(({ id }) => id)).toEqual([other.id]);
      expect((await kept()).has(blob)).toBe(true);
      await sweep();
      expect((await kept()).has(blob)).toBe(false);
      const after = await files.list(workspaceId, { limit: 5, order: 'asc', after: file.id });
      expect(after.data.map(({ id }) => id)).toEqual([other.id]);

      time += DAY + 1;
      await sweep();
      expect(await codeOf(files.list(workspaceId, { limit: 5, order: 'asc', after: file.id }))).toBe(
        'cursor_not_found',
      );
      expect(await textOf(files.open(other))).toBe('hello');
    });

    test('a file is deleted though its bytes cannot be at that moment; a sweep does it later', async () => {
      const { file, blob } = await given();
      isAway = true;
      await files.delete(workspaceId, file.id);
      isAway = false;
      expect(await codeOf(files.read(workspaceId, file.id))).toBe('file_not_found');
      expect((await kept()).has(blob)).toBe(true);

      await sweep();

      expect((await kept()).has(blob)).toBe(false);
      expect(await rowsOf()).toBe(1);
    });

    test('of deletes at the same time one counts', async () => {
      const { file } = await given();
      const outcomes = await Promise.all([1, 2, 3].map(() => codeOf(files.delete(workspaceId, file.id))));
      expect(outcomes.filter((code) => code === null)).toHaveLength(1);
    });

    test('content without a row is swept when it is a day old, and nothing else is', async () => {
      const orphan = await files.keep(bytesOf('orphan'));
      const { blob } = await given();
      const part = await givenPart((await givenUpload()).id, 'part');
      const foreign = blobId(`other-${newId()}`);
      await blobs.put(foreign, bytesOf('foreign'));

      await sweepOrphans({ store, blobs, now });
      expect((await kept()).has(orphan.blob)).toBe(true);
      time += DAY + HOUR;
      await sweepOrphans({ store, blobs, now });

      const left = await kept();
      expect([orphan.blob, blob, part, foreign].map((id) => left.has(id))).toEqual([false, true, true, true]);
      expect(await sweepOrphans({ store, blobs, now })).toBe(0);
    });

    test('an upload expires after an hour, and its parts go', async () => {
      const upload = await givenUpload();
      const part = await givenPart(upload.id, 'hello');
      time += HOUR;
      expect(await codeOf(uploads.complete(workspaceId, upload.id, { part_ids: [part] }))).toBe('upload_not_pending');
      expect((await kept()).has(part)).toBe(true);

      await sweep();

      expect((await kept()).has(part)).toBe(false);
      const refused = await uploads.cancel(workspaceId, upload.id).catch((error: Error) => error.message);
      expect(refused).toContain('is expired');
      time += DAY + 1;
      await sweep();
      expect(await codeOf(uploads.cancel(workspaceId, upload.id))).toBe('upload_not_found');
    });

    test('a part that comes in the moment its upload ends is refused, or unused and swept', async () => {
      for (let round = 0; round < 5; round++) {
        const upload = await givenUpload();
        const part = await givenPart(upload.id, 'hello');
        const late = await uploads.keepPart(bytesOf('late'));
        const [added, { file }] = await Promise.all([
          codeOf(uploads.addPart(workspaceId, upload.id, late)),
          uploads.complete(workspaceId, upload.id, { part_ids: [part] }),
        ]);
        expect([null, 'upload_not_pending']).toContain(added);
        await sweep();

        if (added === null) expect((await kept()).has(late.blob)).toBe(false);
        expect((await kept()).has(part)).toBe(true);
        expect(await textOf(files.open(file!))).toBe('hello');
        expect(await codeOf(uploads.addPart(workspaceId, upload.id, late))).toBe('upload_not_pending');
      }
    });

    test('uploads that have not ended hold so many parts and bytes in a workspace, and not more', async () => {
      const bounded = createUploads({ store, blobs, files, now, bounds: { mostParts: 3, mostBytes: 10 } });
      const upload = await givenUpload();
      const add = async (text: string, id = upload.id) =>
        codeOf(bounded.addPart(workspaceId, id, await bounded.keepPart(bytesOf(text))));
      const outcomes = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((text) => add(text)));
      expect(outcomes.filter((code) => code === null)).toHaveLength(3);
      expect(outcomes.filter((code) => code === 'too_many_upload_parts')).toHaveLength(3);
      // Another of its uploads makes no difference; that of another workspace does.
      expect(await add('g', (await givenUpload()).id)).toBe('too_many_upload_parts');
      expect(await codeOf(bounded.requireRoom(workspaceId, upload.id))).toBe('too_many_upload_parts');
      await bounded.cancel(workspaceId, upload.id);
      const other = await givenUpload();
      expect(await add('12345', other.id)).toBeNull();
      expect(await add('123456', other.id)).toBe('upload_parts_too_large');
      expect(await add('12345', other.id)).toBeNull();
      expect(await codeOf(bounded.requireRoom(workspaceId, other.id))).toBe('upload_parts_too_large');
      workspaceId = newId<WorkspaceId>();
      expect(await add('12345', (await givenUpload()).id)).toBeNull();
    });

    test('the same completion, asked for twice at once, is answered twice', async () => {
      for (let round = 0; round < 5; round++) {
        const upload = await givenUpload();
        const parts = [await givenPart(upload.id, 'hel'), await givenPart(upload.id, 'lo')];
        const md5 = '5d41402abc4b2a76b9719d911017c592';
        const twice = await Promise.all(
          [1, 2].map(() => uploads.complete(workspaceId, upload.id, { part_ids: parts, md5 })),
        );
        expect(twice[0]!.file!.id).toBe(twice[1]!.file!.id);
      }
    });

    test('a file that is deleted between being found and being read is missing, not empty', async () => {
      const { file, blob } = await given();
      isAway = true;
      await files.delete(workspaceId, file.id);
      isAway = false;
      await blobs.delete(blobId(blob));
      expect(await codeOf(files.open(file))).toBe('file_not_found');
      await sweep();
      expect(await codeOf(files.open(file))).toBe('file_not_found');
      const broken = await given();
      await blobs.delete(blobId(broken.blob));
      expect(await codeOf(files.open(broken.file))).toContain('is missing');
    });

    test('of completions and cancellations at the same time one wins, and the file is whole', async () => {
      for (let round = 0; round < 5; round++) {
        const upload = await givenUpload();
        const parts = [await givenPart(upload.id, 'hel'), await givenPart(upload.id, 'lo')];
        const outcomes = await Promise.all([
          codeOf(uploads.complete(workspaceId, upload.id, { part_ids: parts })),
          codeOf(uploads.cancel(workspaceId, upload.id)),
          codeOf(uploads.complete(workspaceId, upload.id, { part_ids: parts.toReversed() })),
        ]);
        expect(outcomes.filter((code) => code === null)).toHaveLength(1);
        await sweep();
        const { data } = await files.list(workspaceId, { limit: 1, order: 'desc' });
        if (outcomes[1] !== null) expect(['hello', 'lohel']).toContain(await textOf(files.open(data[0]!)));
      }
    });

    test('an upload whose completion is interrupted is pending as before', async () => {
      const upload = await givenUpload();
      const part = await givenPart(upload.id, 'hello');
      const failing = { ...files, insert: () => Promise.reject(new Error('killed')) };
      const interrupted = createUploads({ store, blobs, files: failing, now });
      expect(await codeOf(interrupted.complete(workspaceId, upload.id, { part_ids: [part] }))).toBe('Error: killed');

      await sweep();

      expect((await uploads.complete(workspaceId, upload.id, { part_ids: [part] })).status).toBe('completed');
    });

    test('a range may begin and end in any part', async () => {
      const upload = await givenUpload();
      const parts = [];
      for (const text of ['a', 'b', 'cd', 'e']) parts.push(await givenPart(upload.id, text));
      const { file } = await uploads.complete(workspaceId, upload.id, { part_ids: parts });
      for (let start = 0; start <= 5; start++)
        for (let end = start; end <= 6; end++)
          expect(await textOf(files.open(file!, { start, end }))).toBe('abcde'.slice(start, end));
    });

    test('of several nodes one looks for orphans, every six hours', async () => {
      const taken = () => Promise.all([1, 2, 3].map(() => takesOrphans(store.db, time)));
      time += DAY;
      expect((await taken()).filter(Boolean)).toHaveLength(1);
      time += 5 * HOUR;
      expect((await taken()).filter(Boolean)).toHaveLength(0);
      time += HOUR;
      expect((await taken()).filter(Boolean)).toHaveLength(1);
    });
  });
}

const folder = mkdtempSync(join(tmpdir(), 'gateway-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

suite('sqlite', async () => {
  return { store: openSqlite(join(folder, 'state.db')), blobs: () => folderBlobs(join(folder, 'blobs')) };
});

suite('postgres', async () => {
  const store = await openPostgres(await createDatabase());
  return { store, blobs: (now) => postgresBlobs({ store, now }) };
});
