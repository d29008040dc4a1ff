import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { zipSync } from 'fflate';
import OpenAI, { toFile } from 'openai';
import { batchObject, fileObject } from '../../src/assistants/vector-stores/file.ts';
import { storeObject } from '../../src/assistants/vector-stores/store.ts';
import { clientFor } from '../assistants/client.ts';
import { docx, pdf, pptx, xlsx } from '../assistants/documents.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';
import { query } from '../state-tables.ts';

let gateway: TestGateway;
let openai: OpenAI;
beforeAll(async () => {
  gateway = await startGateway();
  ({ openai } = await clientFor(gateway));
});
afterAll(() => gateway.stop());

const encoder = new TextEncoder();
const uploaded = async (content: string | Uint8Array, name = 'a.txt') => {
  const bytes = typeof content === 'string' ? encoder.encode(content) : content;
  return (await openai.files.create({ file: await toFile(bytes, name), purpose: 'assistants' })).id;
};
const textOf = async (storeId: string, fileId: string): Promise<string> => {
  let text = '';
  for await (const part of openai.vectorStores.files.content(fileId, { vector_store_id: storeId })) text += part.text;
  return text;
};
const checked = <Value>(schema: { strict(): { parse(value: unknown): unknown } }, value: Value): Value => {
  const { _request_id: _, ...answered } = value as Record<string, unknown>;
  schema.strict().parse(answered);
  return value;
};
const fault = async (work: Promise<unknown>) => {
  try {
    await work;
  } catch (error) {
    if (error instanceof OpenAI.APIError) return { status: error.status, param: error.param, message: error.message };
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('the vendor’s client', () => {
  test('creates a store, waits for its files, reads, changes, lists and deletes it', async () => {
    const file_ids = [await uploaded('first'), await uploaded('second')];
    const made = checked(
      storeObject(),
      await openai.vectorStores.create({ name: 'Docs', file_ids, metadata: { team: 'search' } }),
    );
    expect(made).toMatchObject({ object: 'vector_store', name: 'Docs', metadata: { team: 'search' } });
    expect(made.file_counts.total).toBe(2);
    await eventually(
      'both are in',
      async () => (await openai.vectorStores.retrieve(made.id)).file_counts.completed === 2,
    );
    const store = checked(storeObject(), await openai.vectorStores.retrieve(made.id));
    expect(store.status).toBe('completed');
    expect(store.usage_bytes).toBeGreaterThan(0);
    const changed = await openai.vectorStores.update(made.id, {
      name: 'Papers',
      expires_after: { anchor: 'last_active_at', days: 3 },
      metadata: null,
    });
    expect(changed).toMatchObject({ name: 'Papers', metadata: {}, expires_after: { days: 3 } });
    expect(changed.expires_at).toBe(changed.last_active_at! + 3 * 86_400);
    const listed: string[] = [];
    for await (const { id } of openai.vectorStores.list({ limit: 1 })) listed.push(id);
    expect(listed).toContain(made.id);
    expect(await openai.vectorStores.delete(made.id)).toMatchObject({
      id: made.id,
      object: 'vector_store.deleted',
      deleted: true,
    });
    expect(await fault(openai.vectorStores.retrieve(made.id))).toMatchObject({
      status: 404,
      message: `404 No vector store found with id '${made.id}'.`,
    });
    // The files are the workspace's, not the store's.
    expect((await openai.files.retrieve(file_ids[0]!)).id).toBe(file_ids[0]!);
  });

  test('uploads and polls one file and a batch', async () => {
    const { id: storeId } = await openai.vectorStores.create({});
    const file = checked(
      fileObject(),
      await openai.vectorStores.files.uploadAndPoll(storeId, await toFile(encoder.encode('alone'), 'alone.md')),
    );
    expect(file).toMatchObject({ status: 'completed', last_error: null, vector_store_id: storeId, attributes: {} });
    expect(file.chunking_strategy).toEqual({
      type: 'static',
      static: { max_chunk_size_tokens: 800, chunk_overlap_tokens: 400 },
    });
    const files = await Promise.all(
      [1, 2, 3].map((number) => toFile(encoder.encode(`text ${number}`), `${number}.txt`)),
    );
    const batch = checked(batchObject(), await openai.vectorStores.fileBatches.uploadAndPoll(storeId, { files }));
    expect(batch).toMatchObject({ status: 'completed', file_counts: { completed: 3, failed: 0, total: 3 } });
    const names: string[] = [];
    for await (const { id } of openai.vectorStores.fileBatches.listFiles(batch.id, { vector_store_id: storeId }))
      names.push(id);
    expect(names.length).toBe(3);
  });

  test('adds files that each say their own, though something is said beside them, which counts for none', async () => {
    const { id: storeId } = await openai.vectorStores.create({});
    const [first, second] = [await uploaded('first'), await uploaded('second')];
    const cut = (size: number) => ({
      type: 'static' as const,
      static: { max_chunk_size_tokens: size, chunk_overlap_tokens: 0 },
    });
    const batch = await openai.vectorStores.fileBatches.createAndPoll(storeId, {
      files: [{ file_id: first, attributes: { year: 2026 }, chunking_strategy: cut(200) }, { file_id: second }],
      attributes: { year: 1999, by: 'nobody' },
      chunking_strategy: cut(300),
    });
    expect(batch.file_counts).toMatchObject({ completed: 2, failed: 0 });
    const files = await Promise.all(
      [first, second].map((id) => openai.vectorStores.files.retrieve(id, { vector_store_id: storeId })),
    );
    expect(files.map(({ attributes }) => attributes)).toEqual([{ year: 2026 }, {}]);
    const sizes = files.map(({ chunking_strategy }) => (chunking_strategy as ReturnType<typeof cut>).static);
    expect(sizes.map(({ max_chunk_size_tokens: size }) => size)).toEqual([200, 800]);
  });

  test('adds files with attributes and a chunking of their own, changes and removes them', async () => {
    const { id: storeId } = await openai.vectorStores.create({});
    const fileId = await uploaded(Array.from({ length: 400 }, (_, number) => `word${number}`).join(' '));
    const file = await openai.vectorStores.files.createAndPoll(storeId, {
      file_id: fileId,
      attributes: { year: 2026, draft: false, by: 'Ada' },
      chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 10 } },
    });
    expect(file).toMatchObject({ status: 'completed', attributes: { year: 2026, draft: false, by: 'Ada' } });
    const parts = [];
    for await (const part of openai.vectorStores.files.content(fileId, { vector_store_id: storeId })) parts.push(part);
    expect(parts.length).toBeGreaterThan(5);
    const changed = await openai.vectorStores.files.update(fileId, {
      vector_store_id: storeId,
      attributes: { year: 2027 },
    });
    expect(changed.attributes).toEqual({ year: 2027 });
    expect(await openai.vectorStores.files.delete(fileId, { vector_store_id: storeId })).toMatchObject({
      id: fileId,
      object: 'vector_store.file.deleted',
      deleted: true,
    });
    expect(await fault(openai.vectorStores.files.retrieve(fileId, { vector_store_id: storeId }))).toMatchObject({
      status: 404,
      message: `404 No file found with id '${fileId}' in vector store '${storeId}'.`,
    });
    expect((await openai.vectorStores.retrieve(storeId)).file_counts.total).toBe(0);
  });
});

describe('formats', () => {
  const phrase = 'The quarterly figures of Wyndham & Sons';
  const formats: Record<string, string | Uint8Array> = {
    'a.txt': phrase,
    'a.md': `# Title\n\n${phrase}`,
    'a.html': `<h1>Title</h1><p>${phrase.replace('&', '&amp;')}</p>`,
    'a.json': JSON.stringify({ text: phrase }),
    'a.csv': `name,text\nx,"${phrase}"`,
    'a.py': `# ${phrase}\nprint(1)`,
    'utf16.txt': Buffer.from(`\ufeff${phrase}`, 'utf16le'),
    'a.pdf': pdf([phrase]),
    'a.docx': docx([phrase]),
    'a.pptx': pptx([[phrase]], 'Notes'),
    'a.xlsx': xlsx('Sheet', [[phrase, 1]]),
  };

  test('of every kind become text that can be read back', async () => {
    const { id: storeId } = await openai.vectorStores.create({});
    const ids = new Map<string, string>();
    for (const [name, content] of Object.entries(formats)) ids.set(name, await uploaded(content, name));
    const batch = await openai.vectorStores.fileBatches.createAndPoll(storeId, { file_ids: [...ids.values()] });
    expect(batch.file_counts).toMatchObject({ completed: ids.size, failed: 0 });
    for (const [name, id] of ids)
      expect([name, await textOf(storeId, id)]).toEqual([name, expect.stringContaining(phrase)]);
  });

  test('that are hostile, broken, encrypted or unknown fail by themselves, and each says why', async () => {
    const { id: storeId } = await openai.vectorStores.create({});
    const hostile: Record<string, [content: string | Uint8Array, code: string]> = {
      'a.png': [Uint8Array.from({ length: 300 }, (_, at) => (at * 31) & 0xff), 'unsupported_file'],
      'a.zip': [zipSync({ 'a.txt': encoder.encode('x') }), 'unsupported_file'],
      'a.doc': [Uint8Array.from([0xd0, 0xcf, 0x11, 0xe0, 0, 0]), 'unsupported_file'],
      'locked.docx': [Uint8Array.from([0xd0, 0xcf, 0x11, 0xe0, 0, 0]), 'invalid_file'],
      'cut.docx': [docx(['x']).subarray(0, 300), 'invalid_file'],
      'broken.pdf': ['%PDF-1.7 and no more', 'invalid_file'],
      'bomb.docx': [zipSync({ 'word/document.xml': new Uint8Array(4 << 20) }), 'invalid_file'],
      'deep.docx': [docx([], { 'word/document.xml': '<w:document>'.repeat(100_000) }), 'invalid_file'],
      'empty.txt': [' ', 'invalid_file'],
      'binary.txt': [Uint8Array.from({ length: 300 }, (_, at) => (at * 31) & 0xff), 'invalid_file'],
    };
    const ids = new Map<string, string>();
    for (const [name, [content]] of Object.entries(hostile)) ids.set(await uploaded(content, name), name);
    const good = await uploaded('This one is fine', 'good.txt');
    const batch = await openai.vectorStores.fileBatches.createAndPoll(storeId, { file_ids: [...ids.keys(), good] });
    expect(batch).toMatchObject({ status: 'completed', file_counts: { completed: 1, failed: ids.size } });
    const failed = await openai.vectorStores.files.list(storeId, { filter: 'failed', limit: 100 });
    for (const { id, last_error } of failed.data) {
      expect([ids.get(id), last_error?.code as string]).toEqual([ids.get(id), hostile[ids.get(id)!]![1]]);
      expect(last_error!.message.length).toBeGreaterThan(10);
    }
    expect((await gateway.api.get('/health')).status).toBe(200);
  });
});

describe('rules', () => {
  let storeId: string;
  let fileId: string;
  beforeAll(async () => {
    ({ id: storeId } = await openai.vectorStores.create({}));
    fileId = await uploaded('text');
  });

  const cases: [title: string, path: () => string, body: () => unknown, message: string][] = [
    ['unknown members', () => '', () => ({ nam: 'x' }), "Unknown parameter: 'nam'."],
    [
      'too many files',
      () => '',
      () => ({ file_ids: Array.from({ length: 501 }, (_, number) => `file-${number}`) }),
      "Invalid 'file_ids': array too long. Expected an array with maximum length 500, but got an array with length 501 instead.",
    ],
    [
      'another anchor',
      () => '',
      () => ({ expires_after: { anchor: 'created_at', days: 1 } }),
      "Invalid value: 'created_at'. Supported values are: 'last_active_at'.",
    ],
    [
      'a life of more than a year',
      () => '',
      () => ({ expires_after: { anchor: 'last_active_at', days: 366 } }),
      "Invalid 'expires_after.days': integer above maximum value. Expected a value <= 365, but got 366 instead.",
    ],
    [
      'chunks that are too small',
      () => `/${storeId}/files`,
      () => ({
        file_id: fileId,
        chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 99, chunk_overlap_tokens: 0 } },
      }),
      "Invalid 'chunking_strategy.static.max_chunk_size_tokens': integer below minimum value. Expected a value >= 100, but got 99 instead.",
    ],
    [
      'an overlap of more than half',
      () => `/${storeId}/files`,
      () => ({
        file_id: fileId,
        chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 200, chunk_overlap_tokens: 101 } },
      }),
      "Invalid 'chunking_strategy.static.chunk_overlap_tokens': chunks of 200 tokens overlap by at most half of that, 100.",
    ],
    [
      'another chunking',
      () => `/${storeId}/files`,
      () => ({ file_id: fileId, chunking_strategy: { type: 'semantic' } }),
      "Invalid value: 'semantic'. Supported values are: 'auto', 'static'.",
    ],
    ['no file', () => `/${storeId}/files`, () => ({}), "Missing required parameter: 'file_id'."],
    [
      'attributes that are neither texts, numbers nor booleans',
      () => `/${storeId}/files`,
      () => ({ file_id: fileId, attributes: { tags: ['a'] } }),
      "Invalid 'attributes.tags': a value is a text, a number or a boolean.",
    ],
    [
      'too many attributes',
      () => `/${storeId}/files/${fileId}`,
      () => ({ attributes: Object.fromEntries(Array.from({ length: 17 }, (_, number) => [`k${number}`, 1])) }),
      "Invalid 'attributes': too many properties. Expected an object with at most 16 properties, but got an object with 17 properties instead.",
    ],
    ['a batch of nothing', () => `/${storeId}/file_batches`, () => ({}), "Missing required parameter: 'file_ids'."],
    [
      'a batch of ids and files',
      () => `/${storeId}/file_batches`,
      () => ({ file_ids: [fileId], files: [{ file_id: fileId }] }),
      "Invalid 'files': give either 'file_ids' or 'files', not both.",
    ],
    [
      'attributes beside files that are none, though they would not count',
      () => `/${storeId}/file_batches`,
      () => ({ files: [{ file_id: fileId }], attributes: { a: [] } }),
      "Invalid 'attributes.a': a value is a text, a number or a boolean.",
    ],
  ];
  for (const [title, path, body, message] of cases)
    test(`${title}: 400, in the vendor’s words`, async () => {
      const reply = await gateway.api.post(`/v1/vector_stores${path()}`, body());
      expect([reply.status, reply.json.error.message]).toEqual([400, message]);
    });

  test('a status that files do not have: 400', async () => {
    const reply = await gateway.api.get(`/v1/vector_stores/${storeId}/files?filter=done`);
    expect([reply.status, reply.json.error.param]).toEqual([400, 'filter']);
  });

  test('another version of the API is refused, and the header may be missing', async () => {
    const headers = { 'openai-beta': 'assistants=v1' };
    const reply = await gateway.api.get('/v1/vector_stores', { headers });
    expect([reply.status, reply.json.error.code]).toEqual([400, 'invalid_beta']);
    expect((await gateway.api.get('/v1/vector_stores')).status).toBe(200);
  });

  test('another workspace sees nothing of it, and cannot add its files', async () => {
    const { slug } = await gateway.given.workspace();
    const { key } = await gateway.given.apiKey({ workspace_id: slug });
    const stranger = openaiClient(gateway.url, key);
    expect(await fault(stranger.vectorStores.retrieve(storeId))).toMatchObject({ status: 404 });
    expect(await fault(stranger.vectorStores.files.list(storeId))).toMatchObject({ status: 404 });
    expect(await fault(stranger.vectorStores.delete(storeId))).toMatchObject({ status: 404 });
    expect(await fault(stranger.vectorStores.create({ file_ids: [fileId] }))).toMatchObject({
      status: 404,
      message: `404 No such File object: ${fileId}`,
    });
  });

  test('a key without the scope is refused', async () => {
    const { key } = await gateway.given.apiKey({ scopes: ['assistants.read'] });
    expect((await gateway.api.post('/v1/vector_stores', {}, { key })).status).toBe(403);
    expect((await gateway.api.get('/v1/vector_stores', { key })).status).toBe(200);
  });

  test('whoever polls is told how long to wait', async () => {
    const reply = await gateway.api.post(`/v1/vector_stores/${storeId}/files`, { file_id: await uploaded('poll') });
    expect(reply.json.status).toBe('in_progress');
    expect(Number(reply.headers.get('openai-poll-after-ms'))).toBeGreaterThan(0);
  });

  test('an expired store is shown as such and takes nothing', async () => {
    const { id } = await openai.vectorStores.create({ expires_after: { anchor: 'last_active_at', days: 1 } });
    await query(gateway, `update vector_stores set expires_at = 1 where id = '${id}'`);
    expect((await openai.vectorStores.retrieve(id)).status).toBe('expired');
    expect(await fault(openai.vectorStores.files.create(id, { file_id: fileId }))).toMatchObject({
      status: 400,
      message: `400 Vector store '${id}' has expired`,
    });
  });

  test('a file that is deleted has left its stores when the answer is there', async () => {
    const doomed = await uploaded('doomed');
    await openai.vectorStores.files.createAndPoll(storeId, { file_id: doomed });
    await openai.files.delete(doomed);
    expect(await fault(openai.vectorStores.files.retrieve(doomed, { vector_store_id: storeId }))).toMatchObject({
      status: 404,
    });
  });

  test('two thousand files can be added at once, and stopped', async () => {
    const many: string[] = [];
    const one = await uploaded('one of many');
    await query(
      gateway,
      `insert into files with recursive numbers(value) as (select 1 union all select value + 1 from numbers where value < 2000)
       select 'file-many' || value, workspace_id, user_id, filename, purpose, bytes, created_at, expires_at, deleted_at
       from files, numbers where id = '${one}'`,
    );
    for (let number = 1; number <= 2_000; number++) many.push(`file-many${number}`);
    const { id } = await openai.vectorStores.create({});
    const batch = await openai.vectorStores.fileBatches.create(id, { file_ids: many });
    expect(batch.file_counts.total).toBe(2_000);
    const cancelled = await openai.vectorStores.fileBatches.cancel(batch.id, { vector_store_id: id });
    expect(cancelled.status).toBe('cancelled');
    const { in_progress, completed, failed, cancelled: stopped, total } = cancelled.file_counts;
    expect([in_progress, completed + failed + stopped, total]).toEqual([0, 2_000, 2_000]);
  });
});
