import { afterAll, beforeAll, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { serve, startGateway, type TestGateway } from '../../gateway.ts';

/** A caller hides the model from the rules that depend on it: behind a file, in another encoding, under another name. */

const MEBIBYTE = 1 << 20;
const EXPENSIVE = 'whisper-expensive';

let gateway: TestGateway;
let provider: ReturnType<typeof serve>;
/** Bytes of the bodies that reached the provider whole. */
const received: number[] = [];
/** A key of a workspace in which the expensive model may be called twice a week, and one of a workspace without rules. */
let ruled: string;
let free: string;

beforeAll(async () => {
  gateway = await startGateway();
  provider = serve(async (request) => {
    received.push((await request.arrayBuffer()).byteLength);
    return Response.json({ text: 'ok' });
  });
  const keyIn = async (name: string) => {
    const { id } = await gateway.given.workspace({ name });
    await gateway.given.virtualKey({ slug: 'up', workspace_id: id, custom_host: `${provider.origin}/v1` });
    return { id, ...(await gateway.given.apiKey({ workspace_id: id, defaults: { virtual_key: 'up' } })), home: id };
  };
  const made = await keyIn('Ruled');
  ruled = made.key;
  free = (await keyIn('Free')).key;
  const policy = { conditions: [{ key: 'model', value: EXPENSIVE }], group_by: [{ key: 'api_key' }] };
  const limit = { type: 'requests', unit: 'rpw', value: 2, workspace_id: made.home };
  const reply = await gateway.api.post('/v1/policies/rate-limits', { name: 'few', ...policy, ...limit });
  if (reply.status !== 200) throw new Error(reply.text);
});
afterAll(async () => {
  provider.stop();
  await gateway.stop();
});

const B = 'boundary-of-a-test';
const field = (disposition: string, value: string | Buffer) =>
  Buffer.concat([
    Buffer.from(`--${B}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ]);
const closing = Buffer.from(`--${B}--\r\n`);
const file = (bytes: number) => field('name="file"; filename="a.wav"', Buffer.alloc(bytes, 7));
const model = (name = EXPENSIVE) => field('name="model"', name);

const send = async (
  body: Buffer,
  {
    type = `multipart/form-data; boundary=${B}`,
    key = ruled,
    path = '/v1/audio/transcriptions',
    ...headers
  } = {} as Record<string, string>,
) => {
  const before = received.length;
  const reply = await gateway.api.call('POST', path, { key, body, headers: { 'content-type': type, ...headers } });
  return { status: reply.status, code: reply.json?.error?.code, sent: received.length - before, reply };
};

test('a model behind a file of 40 MB is found, counted and refused in time', async () => {
  const body = Buffer.concat([file(40 * 1_000_000), model(), closing]);

  for (const path of ['/v1/audio/transcriptions', '/v1/proxy/audio/transcriptions'])
    expect(await send(body, { path })).toMatchObject({ status: 200, sent: 1 });
  expect(received.slice(-2)).toEqual([body.byteLength, body.byteLength]);
  const third = await send(body);
  expect(third).toMatchObject({ status: 429, code: 'rate_limited', sent: 0 });
  expect((await gateway.logOf(third.reply)).model).toBe(EXPENSIVE);
  // Another model is another matter, and so is a form without one.
  expect((await send(Buffer.concat([file(2 * MEBIBYTE), model('whisper-1'), closing]))).status).toBe(200);
  expect((await send(Buffer.concat([file(2 * MEBIBYTE), closing]))).status).toBe(200);
});

test('a model too far behind is refused where rules ask for it, and streamed where none does', async () => {
  const body = Buffer.concat([file(70 * MEBIBYTE), model(), closing]);

  const refused = await send(body);
  expect(refused).toMatchObject({ status: 400, code: 'model_hidden', sent: 0 });
  expect(refused.reply.json.error).toMatchObject({
    param: 'model',
    message: expect.stringContaining('put it before the file'),
  });
  expect(await send(body, { key: free })).toMatchObject({ status: 200, sent: 1 });
  expect(await send(Buffer.concat([model('whisper-1'), file(70 * MEBIBYTE), closing]))).toMatchObject({ status: 200 });
});

test('a second model behind the file never reaches the provider', async () => {
  const cheap = model('whisper-1');
  for (const key of [ruled, free]) {
    for (const bytes of [100, 5 * MEBIBYTE]) {
      const outcome = await send(Buffer.concat([cheap, file(bytes), model(), closing]), { key });
      expect({ bytes, ...outcome }).toMatchObject({ bytes, status: 400, code: 'invalid_request', sent: 0 });
    }
  }
});

test('a form that another reader may read otherwise is refused where rules ask for the model', async () => {
  const big = file(2 * MEBIBYTE);
  const hidden: [string, Buffer, Record<string, string>?][] = [
    ['a file of that name', Buffer.concat([big, field('name="model"; filename="m"', EXPENSIVE), closing])],
    ['name*', Buffer.concat([big, field("name*=UTF-8''model", EXPENSIVE), closing])],
    ['two names', Buffer.concat([big, field('name="x"; name="model"', EXPENSIVE), closing])],
    ['an escaped name', Buffer.concat([big, field('name="mod\\el"', EXPENSIVE), closing])],
    [
      'two dispositions',
      Buffer.concat([big, field('name="x"\r\nContent-Disposition: form-data; name="model"', EXPENSIVE), closing]),
    ],
    [
      'bare line feeds',
      Buffer.concat([
        big,
        Buffer.from(`x\n--${B}\nContent-Disposition: form-data; name="model"\n\n${EXPENSIVE}\n`),
        closing,
      ]),
    ],
    [
      'a line feed in a file',
      Buffer.concat([
        field(
          'name="file"; filename="a"',
          `x\n--${B}\r\nContent-Disposition: form-data; name="model"\r\n\r\n${EXPENSIVE}`,
        ),
        closing,
      ]),
    ],
    ['a folded head', Buffer.concat([big, field('x=y;\r\n name="model"', EXPENSIVE), closing])],
    [
      'base64',
      Buffer.concat([big, field('name="model"\r\nContent-Transfer-Encoding: base64', btoa(EXPENSIVE)), closing]),
    ],
    [
      'another charset',
      Buffer.concat([
        big,
        field('name="model"\r\nContent-Type: text/plain; charset=utf-16', Buffer.from(EXPENSIVE, 'utf16le')),
        closing,
      ]),
    ],
    ['a padded value', Buffer.concat([big, model(EXPENSIVE + ' '.repeat(2_000)), closing])],
    ['a part behind the end', Buffer.concat([big, closing, model(), closing])],
    ['no end', Buffer.concat([big, Buffer.from('--')])],
    [
      'two boundaries',
      Buffer.concat([big, model(), closing]),
      { type: `multipart/form-data; boundary=a; boundary=${B}` },
    ],
    ['another multipart type', Buffer.concat([big, model(), closing]), { type: `multipart/mixed; boundary=${B}` }],
    ['a compressed body', gzipSync(Buffer.concat([big, model(), closing])), { 'content-encoding': 'gzip' }],
    ['a slug behind the file', Buffer.concat([big, model(`@up/${EXPENSIVE}`), closing])],
  ];
  const decoy = model('whisper-1');
  for (const [how, body, options] of hidden) {
    expect({ how, ...(await send(body, options)) }).toMatchObject({ how, status: 400, sent: 0 });
    // Also in a small form, and beside a model that everybody sees.
    const small = Buffer.concat([decoy, body.subarray(big.byteLength)]);
    if (body.includes(big.subarray(0, 200)))
      expect({ how, ...(await send(small, options)) }).toMatchObject({ how, status: 400, sent: 0 });
  }
});

test('plain forms in other spellings are read', async () => {
  const body = Buffer.concat([
    Buffer.from('a preamble\r\n'),
    file(2 * MEBIBYTE),
    field('name=model', EXPENSIVE),
    closing,
  ]);
  const types = [
    `multipart/form-data; boundary="${B}"`,
    `multipart/form-data; charset=utf-8; boundary=${B}`,
    `Multipart/Form-Data; charset="utf-8"; Boundary=${B};`,
  ];
  for (const type of types) expect(await send(body, { type })).toMatchObject({ status: 429, sent: 0 });
});

test('JSON that hides its model is refused where rules ask for it, and passes where none does', async () => {
  const path = '/v1/embeddings';
  const json = (text: string, encoding: BufferEncoding = 'utf8') => Buffer.from(text, encoding);
  const plain = `{"input":"x","model":"${EXPENSIVE}"}`;
  const hidden: [string, Buffer, Record<string, string>][] = [
    ['behind 33 MiB', json(`{"input":"${'x'.repeat(33 * MEBIBYTE)}","model":"${EXPENSIVE}"}`), {}],
    ['compressed', gzipSync(plain), { 'content-encoding': 'gzip' }],
    ['compressed, they say', json(plain.replace(EXPENSIVE, 'cheap')), { 'content-encoding': 'br' }],
    ['as UTF-16', json(plain, 'utf16le'), {}],
    ['behind a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), json(plain)]), {}],
    ['behind a comment', json(`{/**/"model":"${EXPENSIVE}"}`), {}],
    ['as text', json(plain), { type: 'text/plain' }],
    ['as bytes', json(plain, 'utf16le'), { type: 'application/octet-stream' }],
    ['as a large text', json(` ${plain}${' '.repeat(2 * MEBIBYTE)}`), { type: 'text/plain' }],
    ['as a form of a link', json(`model=${EXPENSIVE}`), { type: 'application/x-www-form-urlencoded' }],
  ];
  for (const [how, body, options] of hidden) {
    const refused = await send(body, { type: 'application/json', path, ...options });
    expect({ how, ...refused }).toMatchObject({ how, status: 400, code: 'model_hidden', sent: 0 });
  }
  expect(
    await send(gzipSync(plain), { type: 'application/json', path, key: free, 'content-encoding': 'gzip' }),
  ).toMatchObject({ status: 200, sent: 1 });
  expect(await send(Buffer.alloc(2 * MEBIBYTE, 7), { type: 'audio/wav', path: '/v1/listen' })).toMatchObject({
    status: 200,
    sent: 1,
  });
  expect(await send(json('{"input":"x"}'), { type: 'application/json', path })).toMatchObject({ status: 200, sent: 1 });
});

test('a budget in dollars asks for the model, too: unpriced calls are let through by what they are', async () => {
  const usage_limits = { type: 'cost', credit_limit: 1, unpriced: 'allow' };
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' }, usage_limits });
  const reply = await send(Buffer.concat([file(70 * MEBIBYTE), model(), closing]), { key });
  expect(reply).toMatchObject({ status: 400, code: 'model_hidden' });
});
