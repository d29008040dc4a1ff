import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { APIError, toFile } from 'openai';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { startS3, type TestS3 } from '../s3.ts';
import { openaiClient } from '../sdk-clients.ts';

const LINES = '{"custom_id":"1"}\n';
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Bytes that differ at every place, so that a lost or doubled piece shows. */
const patterned = (size: number) => Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8)) & 0xff);

let s3: TestS3;
const s3Settings = () => {
  s3 = startS3();
  return {
    GATEWAY_BLOB_URL: `s3://${s3.bucket}/files?endpoint=${s3.origin}&region=${s3.region}`,
    GATEWAY_BLOB_ACCESS_KEY_ID: s3.accessKeyId,
    GATEWAY_BLOB_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
};

/** One suite, every place where bytes may lie. */
for (const [place, start] of [
  ['a folder beside SQLite', () => startGateway()],
  ['PostgreSQL', () => startGateway({ engine: 'postgres' })],
  ['S3 beside SQLite', () => startGateway({ environment: s3Settings() })],
] as const) {
  describe(`with ${place}`, () => {
    let gateway: TestGateway;
    let key = '';
    const openai = () => openaiClient(gateway.url, key);
    const failure = (work: () => Promise<unknown>) =>
      work().then(
        () => null,
        (error: unknown) => (error instanceof APIError ? { status: error.status, ...(error.error as object) } : error),
      );
    beforeAll(async () => {
      gateway = await start();
      key = (await gateway.given.apiKey()).key;
    });
    afterAll(async () => {
      await gateway.stop();
      if (place.startsWith('S3')) s3.stop();
    });

    test("OpenAI's client uploads, finds, reads and deletes a file", async () => {
      const before = Math.floor(Date.now() / 1_000);
      const file = await openai().files.create({ file: await toFile(Buffer.from(LINES), 'a.jsonl'), purpose: 'batch' });

      expect(file).toEqual({
        id: expect.stringMatching(/^file-[0-9A-Za-z]{24}$/),
        object: 'file',
        bytes: LINES.length,
        created_at: expect.any(Number),
        filename: 'a.jsonl',
        purpose: 'batch',
        status: 'processed',
        expires_at: file.created_at + 30 * 86_400,
      });
      expect(file.created_at).toBeGreaterThanOrEqual(before);
      expect(await openai().files.retrieve(file.id)).toEqual(file);
      expect(await openai().files.waitForProcessing(file.id)).toEqual(file);
      const content = await openai().files.content(file.id);
      expect(content.headers.get('content-type')).toBe('application/octet-stream');
      expect(await content.text()).toBe(LINES);
      expect(await openai().files.delete(file.id)).toEqual({ id: file.id, object: 'file', deleted: true });
      for (const work of [
        () => openai().files.retrieve(file.id),
        () => openai().files.content(file.id),
        () => openai().files.delete(file.id),
      ])
        expect(await failure(work)).toEqual({
          status: 404,
          message: `No such File object: ${file.id}`,
          type: 'invalid_request_error',
          param: 'id',
          code: null,
        });
    });

    test('large files come back byte for byte, whole and in ranges', async () => {
      const bytes = patterned(3_000_001);
      const file = await openai().files.create({ file: await toFile(bytes, 'large.bin'), purpose: 'user_data' });
      expect(file.bytes).toBe(bytes.length);

      const whole = await openai().files.content(file.id);
      expect(sha256(await whole.bytes())).toBe(sha256(bytes));

      for (const [range, start, end] of [
        ['bytes=0-0', 0, 1],
        ['bytes=262140-1500000', 262_140, 1_500_001],
        ['bytes=2999000-', 2_999_000, 3_000_001],
        ['bytes=-5', 2_999_996, 3_000_001],
      ] as const) {
        const part = await openai().files.content(file.id, { headers: { range } });
        expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes ${start}-${end - 1}/3000001`]);
        expect(sha256(await part.bytes())).toBe(sha256(bytes.subarray(start, end)));
      }
      const beyond = await gateway.api.get(`/v1/files/${file.id}/content`, { headers: { range: 'bytes=3000001-' } });
      expect([beyond.status, beyond.json.error.code, beyond.headers.get('content-range')]).toEqual([
        416,
        'range_not_satisfiable',
        'bytes */3000001',
      ]);
      const head = await gateway.api.call('HEAD', `/v1/files/${file.id}/content`);
      expect([head.status, head.headers.get('content-length'), head.text]).toEqual([200, '3000001', '']);
      const other = await gateway.api.get(`/v1/files/${file.id}/content`, {
        headers: { range: 'bytes=0-1', 'if-range': '"file-other"' },
      });
      expect(other.status).toBe(200);
    });

    test('a file is uploaded in parts that come at once, and put together in the order that is asked for', async () => {
      const bytes = patterned(1_200_000);
      const cuts = [bytes.subarray(0, 400_000), bytes.subarray(400_000, 400_001), bytes.subarray(400_001)];
      const upload = await openai().uploads.create({
        filename: 'parts.jsonl',
        purpose: 'fine-tune',
        bytes: bytes.length,
        mime_type: 'application/jsonl',
      });
      expect(upload).toEqual({
        id: expect.stringMatching(/^upload_[0-9A-Za-z]{24}$/),
        object: 'upload',
        bytes: bytes.length,
        created_at: expect.any(Number),
        filename: 'parts.jsonl',
        purpose: 'fine-tune',
        status: 'pending',
        expires_at: upload.created_at + 3_600,
      });

      const parts = await Promise.all(
        [...cuts, new Uint8Array(7)].map(async (cut) =>
          openai().uploads.parts.create(upload.id, { data: await toFile(cut) }),
        ),
      );
      expect(parts[0]).toEqual({
        id: expect.stringMatching(/^part_[0-9A-Za-z]{24}$/),
        object: 'upload.part',
        created_at: expect.any(Number),
        upload_id: upload.id,
      });
      const partIds = parts.slice(0, 3).map(({ id }) => id);
      const md5 = createHash('md5').update(bytes).digest('hex');
      const completed = await openai().uploads.complete(upload.id, { part_ids: partIds, md5 });

      expect(completed).toMatchObject({ ...upload, status: 'completed' });
      expect(completed.file).toMatchObject({ bytes: bytes.length, filename: 'parts.jsonl', purpose: 'fine-tune' });
      const fileId = completed.file!.id;
      expect(sha256(await (await openai().files.content(fileId)).bytes())).toBe(sha256(bytes));
      const across = await openai().files.content(fileId, { headers: { range: 'bytes=399999-400001' } });
      expect([...(await across.bytes())]).toEqual([...bytes.subarray(399_999, 400_002)]);
      // A client that did not see the answer asks again.
      expect(await openai().uploads.complete(upload.id, { part_ids: partIds, md5 })).toEqual(completed);
      expect(
        await failure(() => openai().uploads.complete(upload.id, { part_ids: partIds.toReversed() })),
      ).toMatchObject({
        status: 400,
        code: 'upload_not_pending',
        message: expect.stringContaining('is completed'),
      });
      await openai().files.delete(fileId);
      expect(await failure(() => openai().files.retrieve(fileId))).toMatchObject({ status: 404 });
    });

    test('lists page by cursor, in both orders, filter by purpose, and survive deletes', async () => {
      const { key: another } = await gateway.given.apiKey({
        workspace_id: (await gateway.given.workspace({ slug: 'lister' })).id,
      });
      const lister = openaiClient(gateway.url, another);
      const ids: string[] = [];
      for (let number = 0; number < 5; number++) {
        const purpose = number % 2 === 0 ? 'vision' : 'assistants';
        ids.push((await lister.files.create({ file: await toFile(Buffer.from('x'), `${number}`), purpose })).id);
      }
      const walk = async (query: Parameters<typeof lister.files.list>[0]) =>
        (await Array.fromAsync(lister.files.list(query))).map(({ id }) => ids.indexOf(id));

      expect(await walk({})).toEqual([4, 3, 2, 1, 0]);
      expect(await walk({ limit: 2 })).toEqual([4, 3, 2, 1, 0]);
      expect(await walk({ limit: 1, order: 'asc' })).toEqual([0, 1, 2, 3, 4]);
      expect(await walk({ limit: 2, purpose: 'vision' })).toEqual([4, 2, 0]);
      expect(await walk({ after: ids[3] })).toEqual([2, 1, 0]);
      const page = (await gateway.api.get('/v1/files?limit=2', { key: another })).json;
      expect(page).toMatchObject({ object: 'list', first_id: ids[4], last_id: ids[3], has_more: true });

      await lister.files.delete(ids[2]!);
      expect(await walk({ after: ids[2] })).toEqual([1, 0]);
      expect(await walk({})).toEqual([4, 3, 1, 0]);
      const none = (await gateway.api.get('/v1/files?purpose=batch', { key: another })).json;
      expect(none).toEqual({ object: 'list', data: [], first_id: '', last_id: '', has_more: false });
    });

    test("another workspace's files and uploads are like missing ones, on every verb", async () => {
      const { key: stranger } = await gateway.given.apiKey({
        workspace_id: (await gateway.given.workspace({ slug: 'stranger' })).id,
      });
      const file = await openai().files.create({ file: await toFile(Buffer.from('secret'), 'a'), purpose: 'vision' });
      const upload = await openai().uploads.create({
        filename: 'a',
        purpose: 'vision',
        bytes: 1,
        mime_type: 'image/png',
      });
      const part = await openai().uploads.parts.create(upload.id, { data: await toFile(Buffer.from('x')) });
      const theirs = openaiClient(gateway.url, stranger);

      for (const work of [
        () => theirs.files.retrieve(file.id),
        () => theirs.files.content(file.id),
        () => theirs.files.delete(file.id),
        () => theirs.uploads.cancel(upload.id),
        () => theirs.uploads.complete(upload.id, { part_ids: [part.id] }),
        async () => theirs.uploads.parts.create(upload.id, { data: await toFile(Buffer.from('y')) }),
        () => Array.fromAsync(theirs.files.list({ after: file.id })),
      ])
        expect(await failure(work)).toMatchObject({ status: 404, type: 'invalid_request_error', code: null });
      expect((await gateway.api.get('/v1/files', { key: stranger })).json.data).toEqual([]);
      expect(await (await openai().files.content(file.id)).text()).toBe('secret');
      expect((await openai().uploads.complete(upload.id, { part_ids: [part.id] })).status).toBe('completed');
    });

    test('what a refused form brought along does not stay', async () => {
      const blobs = async () => {
        if (place.startsWith('S3')) return s3.objects.size;
        if (gateway.databaseUrl) return null;
        return readdirSync(join(gateway.dataDir, 'blobs'), { recursive: true, withFileTypes: true }).filter((entry) =>
          entry.isFile(),
        ).length;
      };
      await openai().files.create({ file: await toFile(Buffer.from('x'), 'a'), purpose: 'vision' });
      const before = await blobs();
      const upload = async (name: string, purpose: string) => {
        const form = new FormData();
        form.append('file', new File([LINES], name));
        form.append('purpose', purpose);
        return (await gateway.api.post('/v1/files', form)).json.error;
      };

      expect(await upload('a.txt', 'fine-tune')).toEqual({
        message: 'Invalid file format for Fine-Tuning API. Must be .jsonl',
        type: 'invalid_request_error',
        param: null,
        code: null,
      });
      expect(await upload('a.jsonl', 'party')).toMatchObject({ code: 'invalid_value', param: 'purpose' });
      expect(await blobs()).toBe(before);
    });

    test('a file for batches may have any name, in one request and in parts, and a batch reads it', async () => {
      const line = {
        custom_id: 'a',
        method: 'POST',
        url: '/v1/chat/completions',
        body: { model: 'gpt-5', messages: [{ role: 'user', content: 'Hello' }] },
      };
      const bytes = Buffer.from(JSON.stringify(line));
      const client = openai();
      for (const filename of ['requests', 'requests.txt', 'Anfragen für März.ndjson']) {
        const file = await client.files.create({ file: await toFile(bytes, filename), purpose: 'batch' });
        const upload = await client.uploads.create({
          bytes: bytes.length,
          filename,
          mime_type: 'text/jsonl',
          purpose: 'batch',
        });
        const part = await client.uploads.parts.create(upload.id, { data: await toFile(bytes, 'part') });
        const completed = await client.uploads.complete(upload.id, { part_ids: [part.id] });
        expect([file.filename, completed.file!.filename]).toEqual([filename, filename]);
        for (const input_file_id of [file.id, completed.file!.id]) {
          const headers = { 'x-gateway-virtual-key': 'sim' };
          const asked = { input_file_id, endpoint: '/v1/chat/completions', completion_window: 'immediate' } as const;
          const { id } = (await gateway.api.post('/v1/batches', asked, { headers })).json;
          await eventually('the batch is done', async () => {
            const batch = (await gateway.api.get(`/v1/batches/${id}`, { headers })).json;
            if (batch.status === 'failed') throw new Error(JSON.stringify(batch.errors));
            return batch.status === 'completed';
          });
        }
      }
    });
  });
}
