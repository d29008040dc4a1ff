import { describe, expect, test } from 'bun:test';
import type { Json } from './conversation.ts';
import { mapAnswer, withExposedUris } from './rewriting.ts';

const renamed = (message: Json): Json => {
  const result = message.result as Json;
  const next = withExposedUris('notes', result);
  return next === result ? message : { ...message, result: next };
};
const link = (uri: string) => ({ type: 'resource_link', uri, name: 'x' });
const answer = (result: unknown) => ({ jsonrpc: '2.0', id: 1, result });

async function mapped(body: string, type: string): Promise<string> {
  return (await mapAnswer(new Response(body, { headers: { 'content-type': type } }), renamed)).text();
}

describe('an answer', () => {
  test('in which nothing changes keeps its bytes', async () => {
    const body = '{ "id":1, "result":{"structuredContent":{"n":12345678901234567890},"content":[]} }';
    expect(await mapped(body, 'application/json')).toBe(body);
  });

  test('with addresses in it gets those that can be asked for here', async () => {
    const body = JSON.stringify(answer({ content: [link('file:///a'), { type: 'text', text: 'file:///a' }] }));
    const expected = answer({ content: [link('mcp://notes/file:///a'), { type: 'text', text: 'file:///a' }] });
    expect(JSON.parse(await mapped(body, 'application/json'))).toEqual(expected);
  });

  test('that is no message passes as it is', async () => {
    for (const body of ['', 'nope', '[]', '{"result":1}', '"result"', '{"result":{"content":"x"}}'])
      expect(await mapped(body, 'application/json')).toBe(body);
    expect(await mapped('<result>', 'text/html')).toBe('<result>');
    const refused = new Response('{"result":{}}', { status: 500, headers: { 'content-type': 'application/json' } });
    const passed = await mapAnswer(refused, renamed);
    expect([passed.status, await passed.text()]).toEqual([500, '{"result":{}}']);
  });

  test('that is too large to be looked at passes as it is', async () => {
    const body = JSON.stringify(answer({ content: [link('file:///a')], pad: 'x'.repeat(17 << 20) }));
    expect((await mapped(body, 'application/json')) === body).toBe(true);
  });
});

test('addresses are found wherever results hold resources', () => {
  const resource = { type: 'resource', resource: { uri: 'a:b', text: '' } };
  expect(withExposedUris('s', { messages: [{ role: 'user', content: resource }] })).toEqual({
    messages: [{ role: 'user', content: { type: 'resource', resource: { uri: 'mcp://s/a:b', text: '' } } }],
  });
  expect(withExposedUris('s', { content: [resource] })).toEqual({
    content: [{ type: 'resource', resource: { uri: 'mcp://s/a:b', text: '' } }],
  });
});
