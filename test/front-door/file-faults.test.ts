import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readlinkSync } from 'node:fs';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { openSocket, requestText } from '../socket.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

/** Where a descriptor leads; it may be gone by now. */
const linkOf = (fd: string): string => {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
};

type Field = [name: string, value: string | File];
const file: Field = ['file', new File(['x'], 'a.jsonl')];

const formOf = (fields: readonly Field[]) => {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return form;
};
const upload = (fields: readonly Field[]) => gateway.api.post('/v1/files', formOf(fields));

describe('a form is refused with the code and the parameter:', () => {
  const purpose: Field = ['purpose', 'batch'];
  const anchor: Field = ['expires_after[anchor]', 'created_at'];
  const cases: [string, readonly Field[], string, string, string?][] = [
    ['no file', [purpose], 'missing_required_parameter', 'file', "Missing required parameter: 'file'."],
    ['no purpose', [file], 'missing_required_parameter', 'purpose', "Missing required parameter: 'purpose'."],
    [
      'a purpose nobody knows',
      [file, ['purpose', 'fun']],
      'invalid_value',
      'purpose',
      "Invalid value: 'fun'. Supported values are: 'assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'.",
    ],
    ['a purpose of our own outputs', [file, ['purpose', 'batch_output']], 'invalid_value', 'purpose'],
    [
      'a file as text',
      [['file', 'x'], purpose],
      'invalid_type',
      'file',
      "Invalid type for 'file': expected a file, but got a string instead.",
    ],
    ['two files', [file, file, purpose], 'invalid_value', 'file'],
    ['two purposes', [file, purpose, purpose], 'invalid_value', 'purpose'],
    ['a field nobody knows', [file, purpose, ['color', 'red']], 'unknown_parameter', 'color'],
    ['a field with an odd name', [file, purpose, ['a[b][c]', 'red']], 'unknown_parameter', 'a[b][c]'],
    ['a file without a name', [['file', new File(['x'], '')], purpose], 'string_below_min_length', 'file'],
    [
      'a file with a line break in its name',
      [['file', new File(['x'], 'a\nb.jsonl')], purpose],
      'invalid_value',
      'file',
    ],
    ['an expiry without seconds', [file, purpose, anchor], 'missing_required_parameter', 'expires_after.seconds'],
    [
      'an expiry too soon',
      [file, purpose, anchor, ['expires_after[seconds]', '3599']],
      'integer_below_min_value',
      'expires_after.seconds',
      "Invalid 'expires_after.seconds': integer below minimum value. Expected a value >= 3600, but got 3599 instead.",
    ],
    [
      'an expiry too late',
      [file, purpose, anchor, ['expires_after[seconds]', '2592001']],
      'integer_above_max_value',
      'expires_after.seconds',
    ],
    [
      'an expiry in words',
      [file, purpose, anchor, ['expires_after[seconds]', 'soon']],
      'invalid_type',
      'expires_after.seconds',
    ],
    [
      'another anchor',
      [file, purpose, ['expires_after[anchor]', 'now'], ['expires_after[seconds]', '3600']],
      'invalid_value',
      'expires_after.anchor',
    ],
    ['an expiry that is no object', [file, purpose, ['expires_after', '3600']], 'invalid_type', 'expires_after'],
    ['a field that is too long', [file, ['purpose', 'x'.repeat(70_000)]], 'string_above_max_length', 'purpose'],
  ];
  for (const [name, fields, code, param, message] of cases) {
    test(name, async () => {
      const reply = await upload(fields);

      expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([400, code, param]);
      expect(reply.json.error.type).toBe('invalid_request_error');
      if (message) expect(reply.json.error.message).toBe(message);
    });
  }
});

test('bodies that are no form are refused', async () => {
  const json = await gateway.api.post('/v1/files', { purpose: 'batch' });
  expect([json.status, json.json.error.code]).toEqual([415, 'unsupported_media_type']);
  const broken = await gateway.api.post('/v1/files', '--x\r\nnonsense', {
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  });
  expect([broken.status, broken.json.error.code]).toEqual([400, 'invalid_multipart']);
});

test('fields may stand before and behind the file', async () => {
  const fields: Field[] = [
    ['expires_after[seconds]', '3600'],
    file,
    ['expires_after[anchor]', 'created_at'],
    ['purpose', 'assistants'],
  ];
  const { json } = await upload(fields);
  expect(json).toMatchObject({ object: 'file', purpose: 'assistants', expires_at: json.created_at + 3_600 });
});

test('an empty file and a name in another script are kept as they are', async () => {
  const name = '日本 "quoted" 100%.txt';
  const { json } = await upload([
    ['file', new File([], name)],
    ['purpose', 'user_data'],
  ]);
  expect(json).toMatchObject({ bytes: 0, filename: name });
  const content = await gateway.api.get(`/v1/files/${json.id}/content`);
  expect([content.status, content.text, content.headers.get('content-length')]).toEqual([200, '', '0']);
  expect(decodeURIComponent(content.headers.get('content-disposition')!)).toBe(`attachment; filename*=UTF-8''${name}`);
});

test('a file that is declared too large is refused before it is sent', async () => {
  const exchange = openSocket(gateway.url);
  exchange.socket.write(
    requestText('POST', '/v1/files', {
      'x-gateway-api-key': ADMIN_KEY,
      'content-type': 'multipart/form-data; boundary=x',
      'content-length': String(600 << 20),
    }),
  );
  const answer = await exchange.until((text) => text.includes('file_too_large'));
  expect(answer).toStartWith('HTTP/1.1 413');
  expect(answer).toContain('"param":"file"');
  exchange.socket.destroy();
});

test('a form that is refused before its end is answered all the same', async () => {
  const large = new File([new Uint8Array(20_000_000)], 'large.bin');
  const reply = await upload([
    ['color', 'red'],
    ['file', large],
    ['purpose', 'user_data'],
  ]);
  expect([reply.status, reply.json.error.code]).toEqual([400, 'unknown_parameter']);
  expect((await gateway.api.get('/v1/files')).status).toBe(200);
});

test('a client that leaves in the middle of a download leaves nothing open and is logged as gone', async () => {
  const { json } = await upload([
    ['file', new File([new Uint8Array(30_000_000)], 'a')],
    ['purpose', 'user_data'],
  ]);
  const open = () =>
    readdirSync('/proc/self/fd').filter((fd) => linkOf(fd).includes(`${gateway.dataDir}/blobs/`)).length;
  const exchange = openSocket(gateway.url);
  exchange.socket.write(requestText('GET', `/v1/files/${json.id}/content`, { 'x-gateway-api-key': ADMIN_KEY }));
  const head = await exchange.until((text) => text.includes('\r\n\r\n'));
  exchange.socket.pause();
  expect(open()).toBe(1);
  exchange.socket.destroy();

  await eventually('the blob is closed', () => open() === 0);
  const id = /x-gateway-request-id: (\S+)/i.exec(head)![1]!;
  const entry = await gateway.logOf({ headers: new Headers({ 'x-gateway-request-id': id }) });
  expect(entry).toMatchObject({ failed_by: 'client', error_code: 'client_closed' });
});

test('a client that leaves in the middle leaves nothing and is logged as gone', async () => {
  const before = (await gateway.api.get('/v1/files')).json.data.length;
  const exchange = openSocket(gateway.url);
  exchange.socket.write(
    requestText('POST', '/v1/files', {
      'x-gateway-api-key': ADMIN_KEY,
      'content-type': 'multipart/form-data; boundary=x',
      'content-length': '10000000',
    }),
  );
  exchange.socket.write('--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n');
  exchange.socket.write('y'.repeat(500_000));
  await Bun.sleep(100);
  exchange.socket.destroy();

  await eventually('an entry of the log with status 499', async () => {
    const { data } = (await gateway.api.get('/v1/logs?limit=20')).json;
    return data.some((entry: { path: string; status: number }) => entry.path === '/v1/files' && entry.status === 499);
  });
  expect((await gateway.api.get('/v1/files')).json.data.length).toBe(before);
});

describe('a list is refused with the code and the parameter:', () => {
  for (const [query, status, code, param] of [
    ['limit=0', 400, 'integer_below_min_value', 'limit'],
    ['limit=10001', 400, 'integer_above_max_value', 'limit'],
    ['limit=ten', 400, 'invalid_type', 'limit'],
    ['limit=1&limit=2', 400, 'invalid_value', 'limit'],
    ['order=up', 400, 'invalid_value', 'order'],
    ['purpose=fun', 400, 'invalid_value', 'purpose'],
    ['before=file-x', 400, 'unknown_parameter', 'before'],
    ['after=msg_x', 400, 'invalid_value', 'after'],
    ['after=file-x', 404, null, 'after'],
  ] as const) {
    test(query, async () => {
      const { status: got, json } = await gateway.api.get(`/v1/files?${query}`);
      expect([got, json.error.code, json.error.param]).toEqual([status, code, param]);
    });
  }
});

describe('an upload', () => {
  const input = { filename: 'a.jsonl', purpose: 'batch', bytes: 6, mime_type: 'application/jsonl' };
  const begin = async (body: object = {}) => (await gateway.api.post('/v1/uploads', { ...input, ...body })).json;
  const part = async (id: string, text: string) =>
    (await gateway.api.post(`/v1/uploads/${id}/parts`, formOf([['data', new File([text], 'data')]]))).json.id as string;
  const complete = async (id: string, body: object) => gateway.api.post(`/v1/uploads/${id}/complete`, body);

  for (const [name, body, code, param] of [
    ['without a name', { filename: undefined }, 'missing_required_parameter', 'filename'],
    ['of nothing', { bytes: 0 }, 'integer_below_min_value', 'bytes'],
    ['of more than 8 GiB', { bytes: 2 ** 33 + 1, purpose: 'vision' }, 'integer_above_max_value', 'bytes'],
    ['for fun', { purpose: 'fun' }, 'invalid_value', 'purpose'],
    ['with a field nobody knows', { color: 'red' }, 'unknown_parameter', 'color'],
    ['with a name that has a line break', { filename: 'a\n.jsonl' }, 'invalid_value', 'filename'],
    [
      'with a wrong expiry',
      { expires_after: { anchor: 'created_at', seconds: '3600' } },
      'invalid_type',
      'expires_after.seconds',
    ],
  ] as const) {
    test(`${name} is refused`, async () => {
      const { status, json } = await gateway.api.post('/v1/uploads', { ...input, ...body });
      expect([status, json.error.code, json.error.param]).toEqual([400, code, param]);
    });
  }

  test('of a batch of more than 200 MiB is too large', async () => {
    const { status, json } = await gateway.api.post('/v1/uploads', { ...input, bytes: (200 << 20) + 1 });
    expect([status, json.error.code, json.error.param]).toEqual([413, 'file_too_large', 'bytes']);
  });

  test('is completed only with parts of its own, each once, of the right size and sum', async () => {
    const { id } = await begin();
    const first = await part(id, 'abc');
    const second = await part(id, 'def');
    const foreign = await part((await begin()).id, 'abc');
    for (const [body, code, param] of [
      [{}, 'missing_required_parameter', 'part_ids'],
      [{ part_ids: [] }, 'array_below_min_length', 'part_ids'],
      [{ part_ids: [first] }, 'upload_size_mismatch', 'part_ids'],
      [{ part_ids: [first, foreign] }, 'invalid_value', 'part_ids[1]'],
      [{ part_ids: [first, first] }, 'invalid_value', 'part_ids[1]'],
      [{ part_ids: [first, second], md5: 'x' }, 'invalid_value', 'md5'],
      [{ part_ids: [second, first], md5: 'e80b5017098950fc58aad83c8c14978e' }, 'upload_checksum_mismatch', 'md5'],
    ] as const) {
      const { status, json } = await complete(id, body);
      expect([status, json.error.code, json.error.param]).toEqual([400, code, param]);
    }
    const { json } = await complete(id, { part_ids: [first, second], md5: 'E80B5017098950FC58AAD83C8C14978E' });
    expect(json).toMatchObject({ status: 'completed', file: { bytes: 6, purpose: 'batch' } });
    expect((await gateway.api.get(`/v1/files/${json.file.id}/content`)).text).toBe('abcdef');
  });

  test('that has ended takes nothing more and says how it ended', async () => {
    const { id } = await begin();
    const only = await part(id, 'abcdef');
    const cancelled = await gateway.api.post(`/v1/uploads/${id}/cancel`);
    expect(cancelled.json).toMatchObject({ id, status: 'cancelled' });
    const form = formOf([['data', new File(['x'], 'data')]]);
    for (const reply of [
      await gateway.api.post(`/v1/uploads/${id}/parts`, form),
      await complete(id, { part_ids: [only] }),
      await gateway.api.post(`/v1/uploads/${id}/cancel`),
    ]) {
      expect([reply.status, reply.json.error.code]).toEqual([400, 'upload_not_pending']);
      expect(reply.json.error.message).toContain(`${id} is cancelled`);
    }
  });

  test('takes a part only as a form with data in it', async () => {
    const { id } = await begin();
    const parts = (fields: readonly Field[]) => gateway.api.post(`/v1/uploads/${id}/parts`, formOf(fields));
    expect((await parts([['file', new File(['x'], 'a')]])).json.error).toMatchObject({
      code: 'missing_required_parameter',
      param: 'data',
    });
    const data: Field = ['data', new File(['x'], 'a')];
    expect((await parts([data, ['purpose', 'x']])).json.error).toMatchObject({
      code: 'unknown_parameter',
      param: 'purpose',
    });
    expect((await parts([data, data])).json.error).toMatchObject({ code: 'invalid_value', param: 'data' });
    expect((await parts([['data', 'as text']])).json).toMatchObject({ object: 'upload.part' });
  });
});
