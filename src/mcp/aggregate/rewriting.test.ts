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
    const events = `: hello\r\n\r\nid: 7\r\ndata: ${body}\r\n\r\nretry: 5\n\ndata:{"method":"x"}\n\n`;
    expect(await mapped(events, 'text/event-stream')).toBe(events);
  });

  test('with addresses in it gets those that can be asked for here', async () => {
    const body = JSON.stringify(answer({ content: [link('file:///a'), { type: 'text', text: 'file:///a' }] }));
    const expected = answer({ content: [link('mcp://notes/file:///a'), { type: 'text', text: 'file:///a' }] });
    expect(JSON.parse(await mapped(body, 'application/json'))).toEqual(expected);
    const stream = await mapped(`id: 7\nevent: message\ndata: ${body}\n\n`, 'text/event-stream; charset=utf-8');
    expect(stream).toBe(`id: 7\nevent: message\ndata: ${JSON.stringify(expected)}\n\n`);
  });

  test('that comes in pieces of any size becomes the same', async () => {
    const body = JSON.stringify(answer({ contents: [{ uri: 'é://🌦', text: 'x' }] }));
    const bytes = Buffer.from(`: c\n\ndata: {"method":"progress"}\n\nid: 1\ndata: ${body}\n\n: end\n\n`);
    const whole = await mapped(bytes.toString(), 'text/event-stream');
    expect(whole).toContain('mcp://notes/é://🌦');
    for (let cut = 1; cut < bytes.length; cut++) {
      const pieces = new ReadableStream({
        start(controller) {
          controller.enqueue(bytes.subarray(0, cut));
          controller.enqueue(bytes.subarray(cut));
          controller.close();
        },
      });
      const response = new Response(pieces, { headers: { 'content-type': 'text/event-stream' } });
      expect(await (await mapAnswer(response, renamed)).text()).toBe(whole);
    }
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
