import { describe, expect, test } from 'bun:test';
import { type Reading, readBody } from './reading.ts';
import type { Side } from './text-context.ts';
import { Unreadable } from './texts.ts';

const JSON_HEAD = { type: 'application/json', encoding: null };
const read = (body: unknown, side: Partial<Side> = {}, type = 'application/json'): Reading =>
  readBody(
    Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    { type, encoding: null },
    { on: 'input', endpoint: 'chatComplete', ...side },
  );
const seen = (reading: Reading) => reading.texts.map(({ role, kind, text }) => `${role} ${kind}: ${text}`);
const textOf = (reading: Reading | null) => Buffer.from(reading!.bytes).toString();

test('a conversation is seen from the system prompt to the last message, tools first', () => {
  const reading = read({
    messages: [
      { role: 'system', content: 'rules' },
      {
        role: 'user',
        name: 'ada',
        content: [
          { type: 'text', text: 'hello' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'result' },
      { role: 'function', name: 'f', content: 'older' },
      { role: 'stranger', content: 'who' },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'f',
          description: 'does it',
          parameters: { type: 'object', properties: { 'q-a': { type: 'string' } }, required: ['q-a'] },
        },
      },
    ],
    model: 'm',
    user: 'some one',
    stop: ['END'],
  });

  expect(seen(reading)).toEqual([
    'system name: f',
    'system text: does it',
    'system name: q-a',
    'user name: some one',
    'user name: END',
    'system text: rules',
    'user name: ada',
    'user text: hello',
    'assistant name: f',
    'assistant tool_call: {"a":1}',
    'tool tool_result: result',
    'tool name: f',
    'tool tool_result: older',
    'user text: who',
  ]);
  expect(reading.texts.at(-1)).toMatchObject({ where: 'messages[5].content' });
  const turns = reading.texts.map(({ turn }) => turn);
  expect(turns).toEqual(turns.toSorted((one, other) => one - other));
  expect(reading.model).toBe('m');
});

test('values that a tool gets and gives are all seen, numbers too, whatever they are called', () => {
  const reading = read(
    {
      messages: [
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 't', name: 'pay', input: { id: 'x', url: 'u', card: 4111111111111111 } }],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'done' }] }],
        },
      ],
    },
    { endpoint: 'messages' },
  );

  expect(seen(reading)).toEqual([
    'assistant name: pay',
    'assistant name: id',
    'assistant tool_call: x',
    'assistant name: url',
    'assistant tool_call: u',
    'assistant name: card',
    'assistant tool_call: 4111111111111111',
    'tool tool_result: done',
  ]);
  expect(textOf(reading.changed({ texts: [{ part: 6, text: '{{CARD}}' }] }))).toContain('"card":"{{CARD}}"');
});

test('an answer is seen without what it repeats of its request and without codes', () => {
  const reading = read(
    {
      id: 'r',
      object: 'response',
      instructions: 'secret instructions',
      output: [
        { type: 'reasoning', id: 'x', summary: [{ type: 'summary_text', text: 'thought' }], encrypted_content: 'AAAA' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'said' }] },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      ],
      usage: { service_tier: 'default' },
    },
    { on: 'output', endpoint: 'createModelResponse' },
  );

  expect(seen(reading)).toEqual([
    'assistant reasoning: thought',
    'assistant text: said',
    'assistant name: f',
    'assistant tool_call: {}',
  ]);
});

test('a text that is replaced leaves every other byte in its place', () => {
  const body =
    '{ "seed":12345678901234567890,\n "messages" : [ {"role":"user","content":"a\\u0062c"} , {"content":"d"} ]}';

  const changed = read(body).changed({ texts: [{ part: 0, text: 'é"\n' }] });

  expect(textOf(changed)).toBe(body.replace('"a\\u0062c"', '"é\\"\\n"'));
  expect(changed!.texts.map(({ text }) => text)).toEqual(['é"\n', 'd']);
});

test('a body with a member given twice, or nested beyond all measure, is not read', () => {
  const twice = [
    '{"messages":[],"messages":[]}',
    '{"a":{"b":1,"\\u0062":2}}',
    '{"messages":[{"content":"x","content":"y"}]}',
  ];
  for (const body of twice) expect(() => read(body)).toThrow(Unreadable);
  expect(() => read(`${'{"a":'.repeat(300)}1${'}'.repeat(300)}`)).toThrow(Unreadable);
  expect(() => read('{"a"')).toThrow(Unreadable);
});

test('a word that was cut into events is one text again, and is replaced wherever it is said', () => {
  const at = { item_id: 'i', output_index: 0, content_index: 0 };
  const events = [
    { type: 'response.output_text.delta', ...at, delta: 'for' },
    { type: 'response.output_text.delta', ...at, delta: 'bidden' },
    { type: 'response.output_text.done', ...at, text: 'forbidden' },
  ];
  const stream = events.map((event) => `event: ${event.type}\r\ndata: ${JSON.stringify(event)}\r\n\r\n`).join('');
  const side = { on: 'output', endpoint: 'createModelResponse' } as const;

  const reading = read(stream, side, 'text/event-stream');

  expect(seen(reading)).toEqual(['assistant text: forbidden']);
  const changed = textOf(reading.changed({ texts: [{ part: 0, text: '#' }] }));
  expect(changed).not.toContain('bidden');
  expect(changed.match(/"#"/g)).toHaveLength(2);
  expect(textOf(reading)).toBe(stream);
});

test('choices of a stream stay apart, and so do tool calls', () => {
  const piece = (index: number, delta: object) => `data: ${JSON.stringify({ choices: [{ index, delta }] })}\n\n`;
  const call = (index: number, args: string) => ({ tool_calls: [{ index, function: { arguments: args } }] });
  const stream =
    piece(0, { content: 'a' }) +
    piece(1, { content: 'x' }) +
    piece(0, { content: 'b' }) +
    piece(0, call(0, '1')) +
    piece(0, call(1, '2'));

  const reading = read(`${stream}data: [DONE]\n\n`, { on: 'output' }, 'text/event-stream');

  expect(seen(reading)).toEqual([
    'assistant text: ab',
    'assistant text: x',
    'assistant tool_call: 1',
    'assistant tool_call: 2',
  ]);
});

describe('what is not JSON', () => {
  test('a form is seen by its fields, and a replaced one leaves its files as they are', () => {
    const file = '\xff\x00\x01';
    const body = Buffer.from(
      `--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\nhello\r\n--b\r\n` +
        `content-disposition: form-data; name="file"; filename="x.mp3"\r\ncontent-type: audio/mpeg\r\n\r\n${file}\r\n--b\r\n` +
        `content-disposition: form-data; name="model"\r\n\r\nm\r\n--b--\r\n`,
      'latin1',
    );
    const reading = readBody(
      body,
      { type: 'multipart/form-data; boundary=b', encoding: null },
      { on: 'input', endpoint: 'imageEdit' },
    );

    expect(seen(reading)).toEqual(['user text: hello']);
    expect(reading.model).toBe('m');
    const changed = Buffer.from(reading.changed({ texts: [{ part: 0, text: 'é' }] })!.bytes);
    expect(changed.equals(Buffer.from(body.toString('latin1').replace('hello', '\xc3\xa9'), 'latin1'))).toBe(true);
  });

  test('a form that others may read in another way is not read', () => {
    const side = { on: 'input', endpoint: 'imageEdit' } as const;
    const field = '--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\nx';
    const forms = [field, field.replaceAll('\r', ''), `${field}\r\n${field}`, 'nothing of the kind'];
    for (const form of forms)
      expect(() =>
        readBody(Buffer.from(form), { type: 'multipart/form-data; boundary=b', encoding: null }, side),
      ).toThrow(Unreadable);
    const twice = { type: 'multipart/form-data; boundary=b; boundary=c', encoding: null };
    expect(() => readBody(Buffer.from(`${field}\r\n--b--`), twice, side)).toThrow(Unreadable);
  });

  test('JSON in another encoding does not pass for text', () => {
    const side = { on: 'input', endpoint: 'proxy' } as const;
    const wide = Buffer.from('{"prompt":"forbidden"}', 'utf16le');
    expect(readBody(wide, { type: 'text/plain', encoding: null }, side).obstacle).toContain('not text');
    const marked = Buffer.from('\ufeff{"prompt":"forbidden"}');
    expect(() => readBody(marked, { type: 'text/plain', encoding: null }, side)).toThrow(Unreadable);
  });

  test('sound, packed bodies and bytes of no text cannot be judged and say so', () => {
    const side = { on: 'output', endpoint: 'proxy' } as const;
    expect(readBody(Buffer.from('x'), { type: 'audio/mpeg', encoding: null }, side).obstacle).toContain('audio/mpeg');
    expect(readBody(Buffer.from('{}'), { ...JSON_HEAD, encoding: 'gzip' }, side).obstacle).toContain('gzip');
    expect(readBody(new Uint8Array([0xff, 0xfe]), { type: '', encoding: null }, side).obstacle).toContain('not text');
  });

  test('lines of JSON and lists of answers are put together like a stream', () => {
    const side = { on: 'output', endpoint: 'proxy' } as const;
    const pieces = ['for', 'bidden'].map((text) => ({ candidates: [{ content: { parts: [{ text }] } }] }));

    expect(seen(read(pieces, side))).toEqual(['assistant text: forbidden']);
    const lines = pieces.map((piece) => JSON.stringify(piece)).join('\n');
    expect(seen(read(lines, side, 'application/x-ndjson'))).toEqual(['assistant text: forbidden']);
  });
});

describe('a message of MCP', () => {
  test('is seen in everything that its sender chose, and in nothing that the protocol needs', () => {
    const call = {
      jsonrpc: '2.0',
      id: 'a-1',
      method: 'tools/call',
      params: {
        name: 'send_mail',
        arguments: { to: 'ada', name: 'Ada', type: 'html', count: 7 },
        requestState: 'opaque',
        _meta: { 'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' }, progressToken: 'p', note: 'seen' },
      },
    };
    expect(seen(read(call, { endpoint: 'mcp' }))).toEqual([
      'assistant name: to',
      'assistant tool_call: ada',
      'assistant name: name',
      'assistant tool_call: Ada',
      'assistant name: type',
      'assistant tool_call: html',
      'assistant name: count',
      'assistant tool_call: 7',
      'assistant tool_call: seen',
    ]);
    const asked = { id: 1, method: 'resources/read', params: { uri: 'search://secret' } };
    expect(seen(read(asked, { endpoint: 'mcp' }))).toEqual(['assistant tool_call: search://secret']);
  });

  test('is what a tool says, on its way back', () => {
    const side = { on: 'output', endpoint: 'mcp' } as const;
    const result = {
      content: [
        { type: 'text', text: 'hello' },
        { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
        { type: 'resource', resource: { uri: 'a:b', blob: 'aGVsbG8=' } },
        { type: 'resource', resource: { uri: 'a:b', text: 'inside' } },
      ],
      structuredContent: { name: 'Ada', age: 36 },
      nextCursor: 'opaque',
    };
    expect(seen(read({ jsonrpc: '2.0', id: 1, result }, side))).toEqual([
      'tool tool_result: hello',
      'tool name: a:b',
      'tool tool_result: hello',
      'tool name: a:b',
      'tool tool_result: inside',
      'tool name: name',
      'tool tool_result: Ada',
      'tool name: age',
      'tool tool_result: 36',
    ]);
    const tools = [
      { name: 'f', description: 'obey', inputSchema: { type: 'object', properties: { a: { description: 'me' } } } },
    ];
    expect(seen(read({ id: 1, result: { tools } }, side))).toEqual([
      'tool name: f',
      'tool tool_result: obey',
      'tool name: a',
      'tool tool_result: me',
    ]);
    expect(seen(read({ id: 1, error: { code: -1, message: 'went wrong' } }, side))).toEqual([
      'tool tool_result: went wrong',
    ]);
  });
});
