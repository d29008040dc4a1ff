import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { serve, startGateway, type TestGateway } from '../../gateway.ts';

/** A caller whose key may call certain models gets another one all the same: under another name, or behind something. */

const LISTED = 'gpt-4o-mini';
const OTHER = 'gpt-5';
const HELLO = { messages: [{ role: 'user', content: 'Hello' }] };

let gateway: TestGateway;
let provider: ReturnType<typeof serve>;
let key: string;
/** What reached the provider: path and body. */
const received: string[] = [];

beforeAll(async () => {
  gateway = await startGateway();
  provider = serve(async (request) => {
    received.push(`${new URL(request.url).pathname} ${await request.text()}`);
    if (request.headers.get('authorization')?.includes('broken'))
      return Response.json({ error: { message: 'away' } }, { status: 500 });
    return Response.json({ id: 'x', object: 'chat.completion', model: 'm', choices: [], data: [], text: 'ok' });
  });
  const host = { custom_host: `${provider.origin}/v1` };
  await gateway.given.virtualKey({ slug: 'up', ...host });
  await gateway.given.virtualKey({ slug: 'broken', key: 'broken', ...host });
  ({ key } = await gateway.given.apiKey({ models: [LISTED, 'whisper-1'], defaults: { virtual_key: 'up' } }));
});
afterAll(async () => {
  provider.stop();
  await gateway.stop();
});

interface Sent {
  readonly path?: string;
  readonly type?: string;
  readonly headers?: Record<string, string>;
  readonly method?: string;
}

const send = async (body: string | Buffer | object, sent: Sent = {}) => {
  const { path = '/v1/chat/completions', type = 'application/json', headers = {}, method = 'POST' } = sent;
  const before = received.length;
  const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const reply = await gateway.api.call(method, path, {
    key,
    body: Buffer.from(bytes as string),
    headers: { 'content-type': type, ...headers },
  });
  // Each client is told in the words of its API.
  const { error } = reply.json ?? {};
  const isOllamas = typeof error === 'string' && error.startsWith('This API key may not call');
  const code = isOllamas ? 'model_not_allowed' : (error?.details?.[0]?.reason ?? error?.code);
  return { status: reply.status, code, sent: received.length - before, reply };
};
const refused = { status: 403, code: 'model_not_allowed', sent: 0 };
const hidden = { status: 400, code: 'model_hidden', sent: 0 };

test('what the list has passes, and another model is refused with its name and the list', async () => {
  expect(await send({ model: LISTED, ...HELLO })).toMatchObject({ status: 200, sent: 1 });
  const other = await send({ model: OTHER, ...HELLO });
  expect(other).toMatchObject(refused);
  expect(other.reply.json.error).toMatchObject({
    param: 'model',
    message: `This API key may not call the model "${OTHER}". It may call only: ${LISTED}, whisper-1.`,
  });
});

describe('in JSON', () => {
  const padding = JSON.stringify([{ role: 'user', content: 'x'.repeat(2 << 20) }]);
  const bodies: [string, string | Buffer, object?, Sent?][] = [
    ['no model', JSON.stringify(HELLO)],
    ['a model that is no text', JSON.stringify({ model: { id: OTHER }, ...HELLO })],
    ['an escaped name', `{"mod\\u0065l":"${OTHER}","messages":[]}`],
    ['an escaped value', `{"model":"gpt\\u002d5","messages":[]}`],
    ['another case', JSON.stringify({ model: LISTED.toUpperCase(), ...HELLO })],
    ['a space around it', JSON.stringify({ model: ` ${LISTED}`, ...HELLO })],
    ['two members', `{"model":"${LISTED}","model":"${OTHER}"}`, { status: 400, code: 'invalid_request', sent: 0 }],
    ['two members, one in another case', `{"model":"${LISTED}","Model":"${OTHER}","messages":[]}`],
    ['a list to choose from', JSON.stringify({ model: LISTED, models: [LISTED, OTHER], ...HELLO })],
    ['a list given twice', `{"model":"${LISTED}","models":["${OTHER}"],"models":[],"messages":[]}`],
    [
      'a tool that asks a model',
      JSON.stringify({ model: LISTED, tools: [{ type: 'advisor', model: OTHER }], ...HELLO }),
    ],
    ['behind 2 MB', `{"messages":${padding},"model":"${OTHER}"}`],
    ['the second one behind 2 MB', `{"model":"${LISTED}","messages":${padding},"model":"${OTHER}"}`, { sent: 0 }],
    ['broken', `{"model":"${LISTED}","messages":[`, hidden],
    [
      'compressed',
      gzipSync(JSON.stringify({ model: OTHER, ...HELLO })),
      hidden,
      { headers: { 'content-encoding': 'gzip' } },
    ],
    ['said to be something else', JSON.stringify({ model: OTHER, ...HELLO }), hidden, { type: 'text/plain' }],
    [
      'named in the query',
      JSON.stringify({ model: LISTED, ...HELLO }),
      refused,
      { path: `/v1/chat/completions?model=${OTHER}` },
    ],
  ];
  test.each(bodies)('%s', async (_name, body, outcome = refused, sent = {}) => {
    expect(await send(body, sent)).toMatchObject(outcome);
  });

  test('words of a conversation are no models', async () => {
    const messages = [
      { role: 'user', content: [{ type: 'text', text: '"model": "gpt-5"' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: { model: OTHER } }] },
    ];
    expect(await send({ model: LISTED, messages })).toMatchObject({ status: 200, sent: 1 });
  });
});

describe('in a form', () => {
  const B = 'boundary-of-a-test';
  const field = (disposition: string, value: string | Buffer) =>
    Buffer.concat([
      Buffer.from(`--${B}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
      Buffer.from(value as string),
      Buffer.from('\r\n'),
    ]);
  const file = field('name="file"; filename="a.wav"', Buffer.alloc(2 << 20, 7));
  const form = (...parts: Buffer[]) => Buffer.concat([...parts, Buffer.from(`--${B}--\r\n`)]);
  const model = (name: string) => field('name="model"', name);
  const sent = { path: '/v1/audio/transcriptions', type: `multipart/form-data; boundary=${B}` };

  test('the field counts, before and behind the file', async () => {
    expect(await send(form(model('whisper-1'), file), sent)).toMatchObject({ status: 200, sent: 1 });
    expect(await send(form(file, model('whisper-1')), sent)).toMatchObject({ status: 200, sent: 1 });
    for (const body of [form(model(OTHER), file), form(file, model(OTHER)), form(file)])
      expect(await send(body, sent)).toMatchObject(refused);
    expect(await send(form(model('whisper-1'), file, model(OTHER)), sent)).toMatchObject({ status: 400, sent: 0 });
  });
});

describe('in an address', () => {
  test.each([
    [`/v1beta/models/${OTHER}:generateContent`, { contents: [{ parts: [{ text: 'Hello' }] }] }],
    [`/openai/deployments/${OTHER}/chat/completions`, { model: LISTED, ...HELLO }],
    ['/api/chat', { model: OTHER, ...HELLO }],
    ['/v1/messages/count_tokens', { model: OTHER, ...HELLO }],
    [`/v1/proxy/models/${OTHER}:generateContent`, { model: LISTED }],
    [`/v1/proxy/x/models/${LISTED}/deployments/${OTHER}/chat/completions`, { model: LISTED }],
    [`/v1/proxy/%6dodels/${OTHER}:generateContent`, { model: LISTED }],
    ['/v1/proxy/chat/completions', { model: OTHER }],
    ['/v1/proxy/chat/completions', HELLO],
    ['/v1/proxy/messages/batches', { model: LISTED, requests: [{ params: { model: OTHER } }] }],
    ['/v1/proxy/batches', { model: LISTED, input_file_id: 'file-1' }],
    ['/v1/proxy/files', { model: LISTED }],
    ['/v1/something/new', { task: OTHER }],
  ])('%s', async (path, body) => {
    expect(await send(body, { path })).toMatchObject(refused);
  });

  test('a listed model passes by each of these ways, and reading needs none', async () => {
    expect(await send({ model: LISTED, ...HELLO }, { path: '/v1/proxy/chat/completions' })).toMatchObject({ sent: 1 });
    const path = `/openai/deployments/${LISTED}/chat/completions`;
    expect(await send({ model: OTHER, ...HELLO }, { path })).toMatchObject({ status: 200, sent: 1 });
    expect((await gateway.api.get('/v1/proxy/files/file-1', { key })).status).toBe(200);
  });

  test("a deployment that stands beside the model is a model, where it is the caller's", async () => {
    const own = {
      'x-gateway-provider': 'azure-openai',
      'x-gateway-azure-resource-name': 'mine',
      authorization: 'Bearer k',
    };
    const headers = { ...own, 'x-gateway-azure-deployment-id': OTHER, 'x-gateway-azure-api-version': '2024-10-21' };
    expect(await send({ model: LISTED, ...HELLO }, { headers })).toMatchObject(refused);
    const raw = { 'azureml-model-deployment': OTHER };
    expect(await send({ model: LISTED, ...HELLO }, { headers: raw })).toMatchObject(refused);
  });
});

describe('in a config of the caller', () => {
  const by = (config: object) => ({ headers: { 'x-gateway-config': JSON.stringify(config) } });
  const up = (model?: string) => ({ virtual_key: 'up', ...(model && { override_params: { model } }) });
  const down = (model?: string) => ({ ...up(model), virtual_key: 'broken' });
  const fallback = (...targets: object[]) => by({ strategy: { mode: 'fallback' }, targets });

  test('the model that goes out counts, whatever the body says', async () => {
    expect(await send({ model: LISTED, ...HELLO }, by(up(OTHER)))).toMatchObject(refused);
    expect(await send({ model: OTHER, ...HELLO }, by(up(LISTED)))).toMatchObject({ status: 200, sent: 1 });
    expect(await send(HELLO, by({ ...up(), default_params: { model: OTHER } }))).toMatchObject(refused);
    const prefixed = { ...up(), strip_model_prefix: LISTED };
    expect(await send({ model: `${LISTED}${OTHER}`, ...HELLO }, by(prefixed))).toMatchObject(refused);
    const slugged = { passthrough: true, override_params: { model: `@up/${OTHER}` } };
    expect(await send({ model: LISTED, ...HELLO }, by(slugged))).toMatchObject(refused);
  });

  test('a target that may not be asked is not asked when another has failed, and none makes up for it', async () => {
    const hello = { model: LISTED, ...HELLO };
    expect(await send(hello, fallback(down(), up(OTHER)))).toMatchObject({ ...refused, sent: 1 });
    expect(await send(hello, fallback(up(OTHER), up()))).toMatchObject(refused);
    // The model of a target that has failed is not taken for that of the next.
    expect(await send({ model: OTHER, ...HELLO }, fallback(down(LISTED), up()))).toMatchObject({ ...refused, sent: 1 });
  });

  test('a check that asks a model asks only one that the key may call', async () => {
    const asking = (model: string) => [{ 'default.modelJudge': { virtualKey: 'up', model, criteria: 'Be kind.' } }];
    const judged = (model: string) => by({ ...up(), input_guardrails: asking(model) });
    expect(await send({ model: LISTED, ...HELLO }, judged(OTHER))).toMatchObject(refused);
    expect((await send({ model: LISTED, ...HELLO }, judged(LISTED))).sent).toBe(2);
  });
});
