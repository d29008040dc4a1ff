import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '../../test/postgres.ts';
import { startS3 } from '../../test/s3.ts';
import { Secret } from '../core/secret.ts';
import { createEgressPolicy } from '../http/egress.ts';
import { createUpstream } from '../http/upstream.ts';
import { openPostgres, type Store } from '../storage/store.ts';
import { type Blobs, blobId } from './blobs.ts';
import { folderBlobs } from './folder-blobs.ts';
import { postgresBlobs } from './postgres-blobs.ts';
import { s3Blobs } from './s3-blobs.ts';

/** Bytes that differ at every place, so that a lost or doubled piece shows. */
function bytesOf(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at++) bytes[at] = (at * 31 + (at >> 8)) & 0xff;
  return bytes;
}

/** The bytes cut into odd pieces. */
async function* cut(bytes: Uint8Array, sizes: readonly number[] = [1, 70_000, 3, 300_001]) {
  for (let at = 0, turn = 0; at < bytes.byteLength; turn++) {
    const size = sizes[turn % sizes.length]!;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

const wholeOf = async (stream: ReadableStream<Uint8Array> | null) => (stream ? new Response(stream).bytes() : null);
const isSame = (a: Uint8Array | null, b: Uint8Array) => a !== null && Buffer.compare(a, b) === 0;

interface Subject {
  readonly blobs: Blobs;
  /** What puts that have not finished occupy. */
  readonly leftovers: () => Promise<number>;
  readonly close: () => unknown;
}

/** One suite, every store. */
function blobsContract(name: string, open: () => Promise<Subject>) {
  describe(name, () => {
    let subject: Subject;
    let blobs: Blobs;
    beforeAll(async () => {
      subject = await open();
      blobs = subject.blobs;
    });
    afterAll(() => subject.close());

    test('what was put comes back byte for byte, from nothing to many chunks', async () => {
      for (const size of [0, 1, 262_143, 262_144, 262_145, 8 << 20, (17 << 20) + 5]) {
        const [id, bytes] = [blobId(`size-${size}`), bytesOf(size)];

        expect(await blobs.put(id, cut(bytes, [1_000_003]))).toBe(size);

        expect(await blobs.size(id)).toBe(size);
        expect(isSame(await wholeOf(await blobs.get(id)), bytes)).toBe(true);
      }
    });

    test('any range can be read, also beyond the end', async () => {
      const [id, bytes] = [blobId('ranges'), bytesOf(600_000)];
      await blobs.put(id, new Response(bytes as Uint8Array<ArrayBuffer>).body!);

      for (const [start, end] of [
        [0, 10],
        [262_140, 262_150],
        [262_144, 524_288],
        [599_999, undefined],
        [100, 900_000],
        [600_000, undefined],
        [700_000, 800_000],
        [5, 5],
      ] as const) {
        const read = await wholeOf(await blobs.get(id, { start, end }));
        expect([start, end, isSame(read, bytes.subarray(start, end))]).toEqual([start, end, true]);
      }
    });

    test('an absent blob has no content and no size, and deleting it is harmless', async () => {
      const id = blobId('absent');

      expect([await blobs.get(id), await blobs.get(id, { start: 3 }), await blobs.size(id)]).toEqual([
        null,
        null,
        null,
      ]);
      await blobs.delete(id);
    });

    test('a blob is not seen before it is whole, and content that fails leaves nothing', async () => {
      const id = blobId('broken');
      const failing = async function* () {
        yield* cut(bytesOf(9 << 20));
        expect(await blobs.size(id)).toBeNull();
        throw new Error('the client left');
      };

      await expect(blobs.put(id, failing())).rejects.toThrow('the client left');

      expect([await blobs.size(id), await blobs.get(id), await subject.leftovers()]).toEqual([null, null, 0]);
    });

    test('a second put replaces the first as a whole, and one that fails leaves the first', async () => {
      const id = blobId('replaced');
      await blobs.put(id, cut(bytesOf(1_000_000)));
      const next = bytesOf(300_000).reverse();
      await blobs.put(id, cut(next));
      const failing = async function* () {
        yield bytesOf(10);
        throw new Error('no');
      };
      await expect(blobs.put(id, failing())).rejects.toThrow('no');

      expect(isSame(await wholeOf(await blobs.get(id)), next)).toBe(true);
    });

    test('of puts at the same time one wins, whole', async () => {
      const id = blobId('raced');
      const contents = [1, 2, 3, 4].map((fill) => new Uint8Array(400_000).fill(fill));

      await Promise.all(contents.map((bytes) => blobs.put(id, cut(bytes))));

      const read = await wholeOf(await blobs.get(id));
      expect(contents.filter((bytes) => isSame(read, bytes))).toHaveLength(1);
      expect(await subject.leftovers()).toBe(0);
    });

    test('a deleted blob is gone', async () => {
      const id = blobId('deleted');
      await blobs.put(id, cut(bytesOf(30_000_000), [2_000_000]));
      await blobs.delete(id);

      expect([await blobs.get(id), await blobs.size(id), await subject.leftovers()]).toEqual([null, null, 0]);
    });

    test('a reader that leaves early is no trouble', async () => {
      const id = blobId('left');
      await blobs.put(id, cut(bytesOf(2_000_000)));
      const reader = (await blobs.get(id))!.getReader();
      expect((await reader.read()).value!.byteLength).toBeGreaterThan(0);
      await reader.cancel();

      expect(await blobs.size(id)).toBe(2_000_000);
    });

    test('every blob is listed with its size and time', async () => {
      const before = Date.now() - 2_000;
      for (let number = 0; number < 5; number++) await blobs.put(blobId(`list-${number}`), cut(bytesOf(number)));

      const listed = new Map<string, { size: number; storedAt: number }>();
      for await (const { id, ...rest } of blobs.list()) listed.set(id, rest);

      for (let number = 0; number < 5; number++) {
        const { size, storedAt } = listed.get(`list-${number}`)!;
        expect([size, storedAt >= before, storedAt <= Date.now() + 2_000]).toEqual([number, true, true]);
      }
      expect(listed.has('deleted')).toBe(false);
    });

    test('sweeping removes what unfinished puts left, when they are old enough, and nothing else', async () => {
      const id = blobId('unfinished');
      const gate = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const waiting = async function* () {
        yield* cut(bytesOf(17 << 20), [1 << 20]);
        begun.resolve();
        await gate.promise;
        throw new Error('never mind');
      };
      const putting = blobs.put(id, waiting()).catch((error: Error) => error.message);
      await begun.promise;

      expect([await blobs.sweep(Date.now() - 60_000), await subject.leftovers()]).toEqual([0, 1]);
      expect([await blobs.sweep(Date.now() + 60_000), await subject.leftovers()]).toEqual([1, 0]);

      expect(await blobs.size(blobId('size-1'))).toBe(1);
      gate.resolve();
      expect(await putting).toBe('never mind');
    });
  });
}

blobsContract('folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-blobs-'));
  return {
    blobs: folderBlobs(folder),
    leftovers: async () => readdirSync(join(folder, 'drafts')).length,
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
});

blobsContract('postgres', async () => {
  const store: Store = await openPostgres(await createDatabase());
  await store.migrate();
  const uploadsWithoutBlob = async () => {
    const rows = await store.db.selectFrom('blob_chunks').select('upload').distinct().execute();
    const whole = await store.db.selectFrom('blobs').select('upload').where('size', 'is not', null).execute();
    return rows.filter(({ upload }) => !whole.some((blob) => blob.upload === upload)).length;
  };
  return {
    blobs: postgresBlobs({ store, now: Date.now }),
    leftovers: uploadsWithoutBlob,
    close: () => store.close(),
  };
});

const givenS3 = (overrides: { secretAccessKey?: string; trusted?: string[] } = {}) => {
  const s3 = startS3();
  const egress = createEgressPolicy({ trustedHosts: overrides.trusted ?? ['127.0.0.1'] });
  const place = {
    endpoint: s3.origin,
    region: s3.region,
    bucket: s3.bucket,
    prefix: 'some/prefix',
    accessKeyId: s3.accessKeyId,
    secretAccessKey: new Secret(overrides.secretAccessKey ?? s3.secretAccessKey),
  };
  return { s3, blobs: s3Blobs({ place, upstream: createUpstream({ egress }), now: Date.now }) };
};

blobsContract('s3', async () => {
  const { s3, blobs } = givenS3();
  return { blobs, leftovers: async () => s3.uploads.size, close: () => s3.stop() };
});

test('an id that could be a path is refused', () => {
  for (const text of ['', '../x', 'a/b', 'a.b', 'a b', 'a\0', 'x'.repeat(129)]) expect(() => blobId(text)).toThrow();
});

test('folder: foreign files in it are not listed, and a store that was never written to is empty', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-blobs-'));
  writeFileSync(join(folder, 'notes.txt'), 'x');
  const blobs = folderBlobs(folder);

  expect(await Array.fromAsync(blobs.list())).toEqual([]);
  expect(await blobs.sweep(Date.now())).toBe(0);
  rmSync(folder, { recursive: true, force: true });
});

test('s3: a passing failure is tried again, a lasting one says what the storage said and no key', async () => {
  const { s3, blobs } = givenS3();
  const bytes = bytesOf(20 << 20);
  s3.faults.push(500, 503);
  await blobs.put(blobId('tried-again'), cut(bytes, [1 << 20]));
  expect(isSame(await wholeOf(await blobs.get(blobId('tried-again'))), bytes)).toBe(true);

  s3.faults.push(500, 500, 500);
  const failure = await blobs.size(blobId('x')).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'blob_store_unavailable', status: 503 });
  s3.stop();
  const unreachable = await blobs.size(blobId('x')).catch((error: unknown) => error);
  expect(unreachable).toMatchObject({ code: 'blob_store_unavailable' });
  expect(String(unreachable)).not.toContain(s3.secretAccessKey);
});

test('s3: a completion whose answer was lost counts as done', async () => {
  const { s3, blobs } = givenS3();
  const bytes = bytesOf(9 << 20);
  // initiate, two parts, and then the completion happens but its answer does not arrive.
  const asItIs = (done: Response) => done;
  s3.faults.push(asItIs, asItIs, asItIs, () => new Response('', { status: 502 }));

  expect(await blobs.put(blobId('lost-answer'), cut(bytes, [1 << 20]))).toBe(bytes.byteLength);

  expect([s3.objects.size, s3.uploads.size]).toEqual([1, 0]);
  s3.stop();
});

test('s3: a wrong secret and a storage that is not trusted are refused', async () => {
  const wrong = givenS3({ secretAccessKey: 'wrong' });
  const refused = await wrong.blobs.put(blobId('a'), cut(bytesOf(3))).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'blob_store_unavailable' });
  expect(String(refused)).toContain('SignatureDoesNotMatch');
  wrong.s3.stop();

  const untrusted = givenS3({ trusted: [] });
  const stopped = await untrusted.blobs.size(blobId('a')).catch((error: unknown) => error);
  expect(stopped).toMatchObject({ code: 'egress_refused' });
  expect(untrusted.s3.requests).toEqual([]);
  untrusted.s3.stop();
});
