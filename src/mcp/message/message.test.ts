import { describe, expect, test } from 'bun:test';
import { GatewayError } from '../../core/errors.ts';
import { headerValue, plainValue, readMessages } from './message.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const read = (text: string | Uint8Array, headers: Record<string, string> = {}) =>
  readMessages(Buffer.from(text), { ...JSON_TYPE, ...headers });

/** The answer to a message that is refused. */
function refusal(text: string | Uint8Array, headers: Record<string, string> = {}) {
  try {
    read(text, headers);
  } catch (error) {
    if (error instanceof GatewayError) {
      // biome-ignore lint/suspicious/noExplicitAny: JSON-RPC errors and our own have other forms
      const body = error.body() as any;
      return { code: error.code, status: error.status, rpc: body.error.code, id: body.id };
    }
    throw error;
  }
  return null;
}

const call = (name: unknown, more: object = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {}, ...more } });

describe('what a message asks for', () => {
  const cases: readonly [string, Record<string, unknown>, readonly [string, string][]][] = [
    ['tools/call', { name: 'a' }, [['tool', 'a']]],
    ['prompts/get', { name: 'p' }, [['prompt', 'p']]],
    ['resources/read', { uri: 'test://x' }, [['resource', 'test://x']]],
    ['resources/subscribe', { uri: 'test://x' }, [['resource', 'test://x']]],
    ['resources/unsubscribe', { uri: 'test://x' }, [['resource', 'test://x']]],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' } }, [['prompt', 'p']]],
    [
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'test://{id}' } },
      [
        ['resource', 'test://{id}'],
        ['resource_template', 'test://{id}'],
      ],
    ],
    ['subscriptions/listen', { notifications: { resourceSubscriptions: ['test://a', 7] } }, [['resource', 'test://a']]],
    [
      'completion/complete',
      { ref: { type: 'else', name: 'p', uri: 'a:b' } },
      [
        ['prompt', 'p'],
        ['resource', 'a:b'],
        ['resource_template', 'a:b'],
      ],
    ],
    ['tools/call', {}, []],
    ['resources/subscribe', {}, []],
    ['tools/list', {}, []],
    ['notifications/initialized', {}, []],
    ['notifications/tools/list_changed', {}, []],
    ['tasks/get', {}, []],
    ['logging/setLevel', {}, []],
    ['vendor.example/tools', {}, []],
  ];
  for (const [method, params, targets] of cases) {
    test(`${method} ${JSON.stringify(params)}`, () => {
      const [message] = read(JSON.stringify({ jsonrpc: '2.0', id: 'x', method, params }));
      expect(message!.targets.map(({ type, name }) => [type, name])).toEqual(targets as [string, string][]);
      expect(message).toMatchObject({ id: 'x', method });
    });
  }
});

describe('a message that could be read in two ways is refused', () => {
  const hostile: readonly [string, string | Uint8Array][] = [
    ['two methods', '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"x"}}'],
    ['two names', '{"id":1,"method":"tools/call","params":{"name":"safe","name":"danger"}}'],
    ['two names, one escaped', '{"id":1,"method":"tools/call","params":{"name":"safe","n\\u0061me":"danger"}}'],
    ['two params', '{"id":1,"method":"tools/call","params":{"name":"safe"},"params":{"name":"danger"}}'],
    [
      'twins deep in the arguments',
      '{"id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[{"b":1,"b":2}]}}}',
    ],
    ['Method', '{"id":1,"method":"tools/list","Method":"tools/call","params":{}}'],
    ['METHOD alone', '{"id":1,"METHOD":"tools/call","params":{"name":"x"}}'],
    ['paramſ', '{"id":1,"method":"tools/call","params":{"name":"x"},"paramſ":{"name":"y"}}'],
    ['params.Name', '{"id":1,"method":"tools/call","params":{"name":"x","Name":"y"}}'],
    ['a method in other letters', '{"id":1,"method":"Tools/Call","params":{"name":"x"}}'],
    ...[
      'tools/call ',
      ' tools/call',
      'tools/call\\n',
      'tools/call\\u0000',
      'tools/call\\u00a0',
      'tools/call\\u200b',
      '\\ufefftools/call',
      'tools /call',
      'tools\\\\call',
      'tools//call',
      '/tools/call',
      'tools/call/',
      'tools.call',
      'tools_call',
      'toolsCall',
      'tools%2Fcall',
      '%74ools/call',
      'tools/call?x=1',
      'tools/call#x',
      'TOOLS/CALL',
      'toolſ/call',
      '\uff54ools/call',
      't\u043eols/call',
      'tools/callMany',
      'Resources/Read ',
      'prompts/get\\t',
      '',
      ' ',
    ].map((method): [string, string] => [
      `the method ${JSON.stringify(method)}`,
      `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"name":"x"}}`,
    ]),
    ['a byte order mark', '\ufeff{"id":1,"method":"tools/list"}'],
    ['no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['half a message', '{"id":1,"method":"tools/call","params":{"name":"x"'],
    ['nothing', ''],
    ['two messages in a row', '{"id":1,"method":"tools/list"}{"id":2,"method":"tools/call","params":{"name":"x"}}'],
    ['a comment', '{"id":1,/* */"method":"tools/list"}'],
    ['65 levels', `{"id":1,"method":"x","params":{"a":${'['.repeat(70)}${']'.repeat(70)}}}`],
    ['a million levels', '['.repeat(1_000_000)],
    ['a text', '"tools/call"'],
    ['nothing at all', 'null'],
    ['an id that is an object', '{"id":{},"method":"tools/list"}'],
    ['a method that is a list', '{"id":1,"method":["tools/call"],"params":{"name":"x"}}'],
    ['params that are a list', '{"id":1,"method":"tools/call","params":["x"]}'],
    ['a name that is a number', call(7)],
    ['a name that is a list', call(['x'])],
    ['a uri that is an object', '{"id":1,"method":"resources/read","params":{"uri":{}}}'],
    [
      'a reference with a Name',
      '{"id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","Name":"x"}}}',
    ],
    ['a reference that is a text', '{"id":1,"method":"completion/complete","params":{"ref":"x"}}'],
  ];
  for (const [what, text] of hostile) {
    test(what, () => {
      expect(refusal(text)).toMatchObject({ code: 'mcp_message_refused', status: 400 });
    });
  }

  test('with the id of the request where that is sure', () => {
    expect(refusal(call(7))).toMatchObject({ id: 1, rpc: -32_602 });
    expect(refusal('{"id":1,"id":2,"method":"x"}')).toMatchObject({ id: null, rpc: -32_700 });
  });

  test('and so is one that is packed, or no JSON by its own account', () => {
    expect(refusal(call('x'), { 'content-encoding': 'gzip' })).toMatchObject({ code: 'mcp_message_refused' });
    for (const type of ['text/plain', 'application/json; charset=utf-16', 'application/jsonp', ''])
      expect(refusal(call('x'), { 'content-type': type })).toMatchObject({ code: 'unsupported_media_type' });
    expect(refusal(call('x'), { 'content-type': 'application/json; charset=UTF-8' })).toBeNull();
  });
});

describe('headers', () => {
  const coded = `=?base64?${Buffer.from('lösche').toString('base64')}?=`;
  const matrix: readonly [string, Record<string, string>, boolean][] = [
    [call('safe'), {}, true],
    [call('safe'), { 'mcp-method': 'tools/call', 'mcp-name': 'safe' }, true],
    [call('danger'), { 'mcp-method': 'tools/call', 'mcp-name': 'safe' }, false],
    [call('safe'), { 'mcp-method': 'tools/list' }, false],
    [call('safe'), { 'mcp-name': 'safe, danger' }, false],
    [call('safe'), { 'mcp-name': 'SAFE' }, false],
    [call('lösche'), { 'mcp-name': coded }, true],
    [call('safe'), { 'mcp-name': coded }, false],
    [call(coded), { 'mcp-name': coded }, false],
    [call('safe'), { 'mcp-name': '=?base64?/w==?=' }, false],
    ['{"id":1,"method":"tools/list"}', { 'mcp-name': 'safe' }, false],
    ['{"id":1,"method":"resources/read","params":{"uri":"a:b"}}', { 'mcp-name': 'a:b' }, true],
    ['{"id":1,"result":{}}', { 'mcp-method': 'tools/call' }, false],
  ];
  for (const [text, headers, fits] of matrix) {
    test(`${JSON.stringify(headers)} ${fits ? 'fits' : 'contradicts'} ${text}`, () => {
      for (const version of ['2026-07-28', '2025-11-25', null]) {
        const found = refusal(text, { ...headers, ...(version && { 'mcp-protocol-version': version }) });
        if (fits) expect(found).toBeNull();
        else expect(found).toMatchObject({ code: 'mcp_header_mismatch', status: 400, rpc: -32_020, id: 1 });
      }
    });
  }

  test('hold any text, as it is or coded', () => {
    for (const text of ['plain', 'with space', ' led by space', 'ü', '', '=?base64?YQ==?=', 'line\nbreak'])
      expect(plainValue(headerValue(text))).toBe(text);
    expect(headerValue('plain')).toBe('plain');
  });
});

describe('a batch', () => {
  const batch = `[${call('a')},{"method":"notifications/x"},${call('b')}]`;

  test('is read message by message, where the protocol has batches', () => {
    for (const headers of [undefined, { 'mcp-protocol-version': '2025-03-26' }])
      expect(read(batch, headers).map(({ method }) => method)).toEqual(['tools/call', 'notifications/x', 'tools/call']);
  });

  test('is refused anywhere else', () => {
    for (const version of ['2025-06-18', '2025-11-25', '2026-07-28', 'nonsense'])
      expect(refusal(batch, { 'mcp-protocol-version': version })).toMatchObject({ rpc: -32_600, status: 400 });
  });

  test('is refused when it is empty, endless, holds what is no message, or is spoken for by a header', () => {
    for (const text of ['[]', `[${Array.from({ length: 101 }, () => call('a')).join()}]`, '[[]]', `[${call(7)}]`])
      expect(refusal(text)).toMatchObject({ code: 'mcp_message_refused' });
    expect(refusal(batch, { 'mcp-method': 'tools/call' })).toMatchObject({ code: 'mcp_header_mismatch' });
  });
});
