import { afterAll, expect, test } from 'bun:test';
import { deflateSync } from 'node:zlib';
import { startGateway } from '../gateway.ts';
import { eventually, forTests, newDataDir, removeDataDir, startProcess } from '../process.ts';

/** Pictures that are added to vector stores, and the model that reads them. */

/** Something that begins as a picture does; the model in these tests looks no further. */
const png = (text: string) =>
  Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), deflateSync(Buffer.from(text.padEnd(64)))]);
const jpeg = () => Buffer.concat([Buffer.from('\xff\xd8\xff\xe0', 'latin1'), Buffer.alloc(64, 7)]);
const webp = () => Buffer.concat([Buffer.from('RIFF\x40\x00\x00\x00WEBPVP8 ', 'latin1'), Buffer.alloc(64, 7)]);

interface Seen {
  readonly model: string;
  readonly type: string | undefined;
}

/** A provider that sees what is in a picture, and makes vectors as long as it is told to. */
function startProvider() {
  const seen: Seen[] = [];
  const state = { answers: [] as (number | string)[], holdsEmbeddings: false, embeddings: 0 };
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: async (request) => {
      // biome-ignore lint/suspicious/noExplicitAny: whatever the gateway sends
      const body: any = await request.json();
      if (request.url.endsWith('/embeddings')) {
        state.embeddings++;
        if (state.holdsEmbeddings) await new Promise(() => {});
        return Response.json({ data: body.input.map((_: unknown, index: number) => ({ index, embedding: [1, 0.5] })) });
      }
      const url: string = body.messages[0].content.find((part: { type: string }) => part.type === 'image_url').image_url
        .url;
      seen.push({ model: body.model, type: /^data:([^;]+);base64,/.exec(url)?.[1] });
      const answer = state.answers.shift() ?? 'INVOICE 4711. A red bicycle before a wall.';
      if (typeof answer === 'number') return Response.json({ error: { message: 'not now' } }, { status: answer });
      return Response.json({
        ...{ id: 'c', object: 'chat.completion', created: 1, model: body.model },
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: answer } }],
        usage: { prompt_tokens: 900, completion_tokens: 12, total_tokens: 912 },
      });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/v1`, seen, state, stop: () => server.stop(true) };
}

const provider = startProvider();
afterAll(() => provider.stop());

const VISION = { GATEWAY_VISION_VIRTUAL_KEY: 'sees', GATEWAY_VISION_MODEL: 'seer-1' };

type Api = Awaited<ReturnType<typeof startProcess>>['api'];

const added = async (api: Api, store: string, name: string, bytes: Uint8Array): Promise<string> => {
  const form = new FormData();
  form.set('purpose', 'assistants');
  form.set('file', new File([bytes as Uint8Array<ArrayBuffer>], name));
  const { id } = (await api.post('/v1/files', form)).json;
  await api.post(`/v1/vector_stores/${store}/files`, { file_id: id });
  return id;
};
const ended = async (api: Api, store: string, file: string) => {
  const read = async () => (await api.get(`/v1/vector_stores/${store}/files/${file}`)).json;
  await eventually('the file has ended', async () => (await read()).status !== 'in_progress');
  return read();
};
const giveKey = (api: Api, slug = 'sees') =>
  api.post('/v1/virtual-keys', { name: slug, slug, provider: 'openai', key: 'sk-test', custom_host: provider.url });

test('a picture is found by what a model sees in it, and the call is in the log', async () => {
  const gateway = await startGateway({ environment: VISION });
  const { api } = gateway;
  await giveKey(api);
  const store: string = (await api.post('/v1/vector_stores', {})).json.id;
  const before = provider.seen.length;
  for (const [name, bytes] of [
    ['a.png', png('a')],
    ['b.jpg', jpeg()],
    ['c', webp()],
  ] as const)
    expect((await ended(api, store, await added(api, store, name, bytes))).status).toBe('completed');
  expect(provider.seen.slice(before)).toEqual([
    { model: 'seer-1', type: 'image/png' },
    { model: 'seer-1', type: 'image/jpeg' },
    { model: 'seer-1', type: 'image/webp' },
  ]);
  const { json } = await api.post(`/v1/vector_stores/${store}/search`, { query: 'bicycle' });
  expect(json.data).toHaveLength(3);
  expect(json.data[0].content[0].text).toContain('INVOICE 4711');
  await eventually('the calls are logged', async () => {
    // Asking is logged, too, and would fill a page of everything.
    const { data } = (await api.get('/v1/logs?limit=50&path=/v1/chat/completions')).json;
    return data.length === 3;
  });
  // A text is none, whatever it is called.
  const text = await added(api, store, 'd.png.txt', Buffer.from('plain words'));
  expect((await ended(api, store, text)).status).toBe('completed');
  expect(provider.seen).toHaveLength(before + 3);
  await gateway.stop();
}, 120_000);

test('without the setting, and in a workspace without the key, a picture fails alone and nothing is sent', async () => {
  for (const environment of [{}, VISION]) {
    const gateway = await startGateway({ environment });
    const { api } = gateway;
    await giveKey(api, 'another');
    const store: string = (await api.post('/v1/vector_stores', {})).json.id;
    const before = provider.seen.length;
    const picture = await ended(api, store, await added(api, store, 'a.png', png('alone')));
    expect(picture).toMatchObject({ status: 'failed', last_error: { code: 'unsupported_file' } });
    expect(provider.seen).toHaveLength(before);
    expect((await ended(api, store, await added(api, store, 'b.txt', Buffer.from('words')))).status).toBe('completed');
    await gateway.stop();
  }
}, 120_000);

test('a model that is away is asked again; what it refuses, and what is denied, is told', async () => {
  const gateway = await startGateway({ environment: VISION });
  const { api } = gateway;
  await giveKey(api);
  const store: string = (await api.post('/v1/vector_stores', {})).json.id;
  provider.state.answers.push(400);
  const refused = await ended(api, store, await added(api, store, 'a.png', png('refused')));
  expect(refused.last_error).toMatchObject({ code: 'server_error' });
  expect(refused.last_error.message).toContain('not now');
  provider.state.answers.push('   ');
  const nothing = await ended(api, store, await added(api, store, 'b.png', png('nothing')));
  expect(nothing.last_error).toEqual({
    code: 'invalid_file',
    message: 'The model that reads pictures found nothing in it.',
  });
  provider.state.answers.push(503, 'At last.');
  expect((await ended(api, store, await added(api, store, 'c.png', png('away')))).status).toBe('completed');
  const large = await ended(
    api,
    store,
    await added(api, store, 'd.png', Buffer.concat([png('large'), Buffer.alloc(10 << 20)])),
  );
  expect(large.last_error).toMatchObject({ code: 'invalid_file' });

  const organisation_id = (await api.get('/v1/admin/organisation')).json.id;
  const denied = await api.post('/v1/guardrails', {
    organisation_id,
    name: 'no pictures',
    checks: [{ id: 'default.contains', parameters: { words: ['search index'], operator: 'none' } }],
    actions: { deny: true },
  });
  expect(denied.status).toBe(200);
  const named = await api.put('/v1/admin/organisation/defaults', { input_guardrails: [denied.json.slug] });
  expect(named.status).toBe(200);
  const before = provider.seen.length;
  const stopped = await ended(api, store, await added(api, store, 'e.png', png('denied')));
  expect(stopped.last_error).toMatchObject({ code: 'server_error' });
  expect(provider.seen).toHaveLength(before);
  await gateway.stop();
}, 240_000);

test('killed while it is embedded, a picture is not paid for again', async () => {
  const dataDir = newDataDir();
  const environment = {
    ...forTests,
    ...VISION,
    GATEWAY_EMBEDDINGS_VIRTUAL_KEY: 'sees',
    GATEWAY_EMBEDDINGS_MODEL: 'embedder-1',
  };
  provider.state.holdsEmbeddings = true;
  const first = await startProcess({ dataDir, environment });
  await giveKey(first.api);
  const store: string = (await first.api.post('/v1/vector_stores', {})).json.id;
  const [before, embedded] = [provider.seen.length, provider.state.embeddings];
  const file = await added(first.api, store, 'a.png', png('paid'));
  await eventually('it is being embedded', () => provider.state.embeddings > embedded);
  expect(provider.seen).toHaveLength(before + 1);
  await first.kill();
  provider.state.holdsEmbeddings = false;
  const second = await startProcess({ dataDir, environment });
  expect((await ended(second.api, store, file)).status).toBe('completed');
  expect(provider.seen).toHaveLength(before + 1);
  await second.stop();
  removeDataDir(dataDir);
}, 240_000);

test('a budget of the workspace that is spent lets no picture be read, and the file says so', async () => {
  const gateway = await startGateway({ environment: VISION });
  const { api } = gateway;
  const usage_limits = { type: 'tokens', credit_limit: 900 };
  const { id: workspace_id } = await gateway.given.workspace({ usage_limits });
  const { key } = await gateway.given.apiKey({ workspace_id });
  const custom_host = provider.url;
  await gateway.given.virtualKey({ workspace_id, slug: 'sees', provider: 'openai', key: 'sk-test', custom_host });
  const store: string = (await api.post('/v1/vector_stores', {}, { key })).json.id;
  const before = provider.seen.length;
  const add = async (name: string) => {
    const form = new FormData();
    form.set('purpose', 'assistants');
    form.set('file', new File([png(name) as Uint8Array<ArrayBuffer>], name));
    const { id } = (await api.post('/v1/files', form, { key })).json;
    await api.post(`/v1/vector_stores/${store}/files`, { file_id: id }, { key });
    const read = async () => (await api.get(`/v1/vector_stores/${store}/files/${id}`, { key })).json;
    await eventually('the file has ended', async () => (await read()).status !== 'in_progress');
    return read();
  };
  const spent = await add('over.png');
  expect(spent).toMatchObject({ status: 'failed', last_error: { code: 'server_error' } });
  expect(spent.last_error.message).toContain('budget');
  expect(provider.seen).toHaveLength(before);
  await gateway.stop();
}, 240_000);
