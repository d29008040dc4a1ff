import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startGateway, type TestGateway } from '../gateway.ts';
import { message } from '../mcp/recorder.ts';
import { type ReferenceServer, startReferenceServer } from '../mcp/reference-server.ts';
import { startSmallServer } from '../mcp/small-server.ts';
import { startTalkingServer, type TalkingServer } from '../mcp/talking-server.ts';
import { eventually } from '../process.ts';

/** What goes to and fro between clients and servers behind one address beyond a question and its answer. */
let gateway: TestGateway;
let reference: ReferenceServer;
let talking: TalkingServer;
let key: string;
let workspace: string;
beforeAll(async () => {
  gateway = await startGateway();
  reference = startReferenceServer();
  talking = startTalkingServer({ instructions: 'Ask before you poll.' });
  ({ id: workspace } = await gateway.given.workspace({ name: 'streams' }));
  ({ key } = await gateway.given.apiKey({ workspace_id: workspace }));
  await register('full', reference.url);
  await register('talk', talking.url);
});
afterAll(async () => {
  await gateway.stop();
  reference.stop();
  talking.stop();
});

const register = async (slug: string, url: string, more: Record<string, unknown> = {}) => {
  const body = { name: slug, slug, url, workspace_id: workspace, ...more };
  const reply = await gateway.api.post('/v1/mcp-servers', body);
  if (reply.status !== 200) throw new Error(reply.text);
};

const VERSION = { 'mcp-protocol-version': '2025-11-25' };
const ELICITING = { elicitation: { form: {} } };

/** A client without a library, in a session of its own. */
async function opened(capabilities: Record<string, unknown> = {}, given = key) {
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'test', version: '1' } };
  const greeted = await gateway.api.post('/mcp', message('initialize', params), { key: given });
  const session = greeted.headers.get('mcp-session-id')!;
  const headers = { ...VERSION, 'mcp-session-id': session };
  const post = (body: unknown) => gateway.api.post('/mcp', body, { key: given, headers });
  const call = (name: string, args: Record<string, unknown> = {}) =>
    post(message('tools/call', { name, arguments: args }));
  const stream = (body: unknown) =>
    fetch(`${gateway.url}/mcp`, {
      method: body === null ? 'GET' : 'POST',
      headers: { ...headers, 'x-gateway-api-key': given, 'content-type': 'application/json' },
      ...(body !== null && { body: JSON.stringify(body) }),
    });
  return { greeted, session, headers, post, call, stream };
}

/** The messages of a stream, one by one. */
// biome-ignore lint/suspicious/noExplicitAny: whatever was sent
async function* messagesIn(response: Response): AsyncGenerator<Record<string, any>> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(piece, { stream: true });
    const events = rest.split('\n\n');
    rest = events.pop() ?? '';
    for (const each of events) {
      const data = /^data: ?(.*)$/m.exec(each)?.[1];
      if (data) yield JSON.parse(data);
    }
  }
}
const textOf = (json: { result?: { content?: { text: string }[] } }) => json.result?.content?.[0]?.text;

describe('a question of a server', () => {
  test('reaches the client that called, and its answer the server that asked', async () => {
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      { versionNegotiation: { mode: 'legacy' }, capabilities: { elicitation: {}, sampling: {} } },
    );
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: 'accept',
      content: { username: params.message, email: 'a@example.com' },
    }));
    client.setRequestHandler('sampling/createMessage', async () => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: 'a thought' },
    }));
    const requestInit = { headers: { 'x-gateway-api-key': key } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit }));
    const elicited = await client.callTool({ name: 'full__test_elicitation', arguments: { message: 'Who?' } });
    expect(JSON.stringify(elicited.content)).toContain('action: accept');
    expect(JSON.stringify(elicited.content)).toContain('Who?');
    const sampled = await client.callTool({ name: 'full__test_sampling', arguments: { prompt: 'Think' } });
    expect(JSON.stringify(sampled.content)).toContain('a thought');
    await client.close();
  });

  test('is refused at once where the client cannot be asked, and the call goes on', async () => {
    const { call } = await opened();
    const before = talking.answers.length;
    const reply = await call('talk__ask');
    const [answer] = [...messageTexts(reply.text)];
    expect(JSON.parse(textOf(answer!)!)).toMatchObject({ code: -32_601 });
    expect(talking.answers.length).toBe(before + 1);
  });

  test('is answered by nobody but the client it was put to, in its session', async () => {
    const one = await opened(ELICITING);
    const events = messagesIn(await one.stream(message('tools/call', { name: 'talk__ask', arguments: {} })));
    const question = (await events.next()).value!;
    expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Who is it?' } });
    const answer = { jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name: 'Ada' } } };

    const before = talking.answers.length;
    const { key: theirs } = await gateway.given.apiKey({ workspace_id: workspace });
    for (const other of [await opened(ELICITING, theirs), await opened(ELICITING)]) {
      const reply = await other.post(answer);
      expect([reply.status, reply.json.error.code]).toEqual([400, -32_600]);
    }
    expect((await one.post({ ...answer, id: 100 })).status).toBe(400);
    expect(talking.answers.length).toBe(before);

    expect((await one.post(answer)).status).toBe(202);
    expect(JSON.parse(textOf((await events.next()).value!)!)).toEqual(answer.result);
  });

  test('a server learns what its client can be asked', async () => {
    await opened({ ...ELICITING, sampling: {}, unheard: { of: true } });
    expect(talking.capabilities.at(-1)).toEqual({ ...ELICITING, sampling: {} });
  });
});

const messageTexts = function* (text: string) {
  for (const [, data] of text.matchAll(/^data: ?(.+)$/gm)) yield JSON.parse(data!);
};

describe('a stream of a server', () => {
  test('that it ends before the answer goes on by itself, and the client sees one', async () => {
    const { call } = await opened();
    const reply = await call('talk__poll');
    expect([...messageTexts(reply.text)].map(textOf)).toEqual(['polled']);
    expect(reply.text).not.toMatch(/^(id|retry):/m);
  });

  test('that ends without an answer is an error, and no silence', async () => {
    const { call } = await opened();
    const reply = await call('talk__break');
    const [answer] = [...messageTexts(reply.text)];
    expect(answer).toMatchObject({ id: 1, error: { code: 502, data: { code: 'mcp_answer_missing' } } });
  });

  test('of its own brings what it says to the client, under the names that the client knows', async () => {
    const { stream, post, session } = await opened();
    const before = talking.listeners;
    const response = await stream(null);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events = messagesIn(response);
    await eventually('the gateway listens to the server', () => talking.listeners > before);
    expect((await post(message('resources/subscribe', { uri: 'mcp://talk/file:///a' }))).json.result).toEqual({});
    talking.say({ method: 'notifications/resources/updated', params: { uri: 'file:///a' } });
    talking.say({ method: 'notifications/tools/list_changed' });
    expect((await events.next()).value).toMatchObject({ params: { uri: 'mcp://talk/file:///a' } });
    expect((await events.next()).value).toMatchObject({ method: 'notifications/tools/list_changed' });
    await events.return(undefined);
    await eventually('nobody listens any more', () => talking.listeners === before);
    expect(session).toBeTruthy();
  });

  test('tells of servers that come and go', async () => {
    const { stream } = await opened();
    const events = messagesIn(await stream(null));
    await register('newcomer', reference.url);
    expect((await events.next()).value).toMatchObject({ method: 'notifications/tools/list_changed' });
    await events.return(undefined);
    await gateway.api.delete('/v1/mcp-servers/newcomer');
  });

  test('that a client closes is no error in the log', async () => {
    const { stream } = await opened();
    const response = await stream(null);
    await response.body!.cancel();
    const id = response.headers.get('x-gateway-request-id')!;
    const entry = await gateway.logOf({ headers: new Headers({ 'x-gateway-request-id': id }) } as never);
    expect(entry).toMatchObject({ status: 200, error_code: null });
  });
});

test('a session that its client has ended is gone', async () => {
  const { post, headers } = await opened();
  expect((await post(message('ping'))).status).toBe(200);
  expect((await gateway.api.delete('/mcp', { key, headers })).status).toBe(204);
  const reply = await post(message('ping'));
  expect([reply.status, reply.json.error.data.code]).toEqual([404, 'mcp_session_not_found']);
});

test('what servers say of their use is told together', async () => {
  const { greeted } = await opened();
  expect(greeted.json.result.instructions).toContain('## talk\n\nAsk before you poll.');
  expect(greeted.json.result.capabilities).toMatchObject({ tools: { listChanged: true }, logging: {} });
});

test('tools have names that models can be given, and are called by them', async () => {
  const { post, call } = await opened();
  const { tools } = (await post(message('tools/list'))).json.result;
  const names: string[] = tools.map(({ name }: { name: string }) => name);
  expect(names.filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name))).toEqual([]);
  const odd = names.find((name) => name.startsWith('talk__odd_name_'))!;
  expect(textOf((await call(odd)).json)).toBe('odd.name/ü');
});

test('a hundred calls at once are a hundred answers', async () => {
  const { call } = await opened();
  const replies = await Promise.all(
    Array.from({ length: 100 }, (_, index) => call(index % 2 ? 'talk__any' : 'full__test_simple_text')),
  );
  expect(replies.filter(({ status, text }) => status !== 200 || text.includes('"error"'))).toEqual([]);
});

describe('a server that is away', () => {
  test('fails its own calls alone, and ends no session', async () => {
    await register('gone', 'http://127.0.0.1:9/mcp');
    const { call, post } = await opened();
    const dead = await call('gone__anything');
    expect(dead.status).toBe(200);
    expect(dead.json).toMatchObject({ jsonrpc: '2.0', id: 1, error: { code: 502, data: { type: 'api_error' } } });
    expect(await gateway.logOf(dead)).toMatchObject({ status: 502 });
    expect(textOf((await call('talk__fine')).json)).toBe('fine');
    expect((await post(message('tools/list'))).json.result._meta['gateway/upstreams']).toMatchObject({
      gone: 'failed',
      talk: 'ok',
    });
    await gateway.api.delete('/v1/mcp-servers/gone');
  });

  test('may take its time to start where it is given that, also for the first call', async () => {
    const slow = startSmallServer({ era: 'older', tools: ['x'] });
    slow.slowness = 1_500;
    await register('starter', slow.url, { configurations: { start_seconds: 60 } });
    const { post, call } = await opened();
    expect(textOf((await call('starter__x')).json)).toBe('x {}');
    const { result } = (await post(message('tools/list'))).json;
    expect(result._meta['gateway/upstreams'].starter).toBe('ok');
    await gateway.api.delete('/v1/mcp-servers/starter');
    slow.stop();
  });
});

describe('a request of the version without sessions', () => {
  const META = 'io.modelcontextprotocol';
  const whole = { [`${META}/protocolVersion`]: '2026-07-28', [`${META}/clientCapabilities`]: {} };
  const ask = (params: Record<string, unknown>, headers: Record<string, string> = {}) =>
    gateway.api.post('/mcp', message('tools/list', params), {
      key,
      headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list', ...headers },
    });

  test('says all that a session would say, and the same in its headers', async () => {
    for (const _meta of [undefined, {}, { [`${META}/protocolVersion`]: '2026-07-28' }]) {
      const reply = await ask({ _meta });
      expect([reply.status, reply.json.error.code]).toEqual([400, -32_602]);
    }
    const other = await ask({ _meta: { ...whole, [`${META}/protocolVersion`]: '2025-11-25' } });
    expect([other.status, other.json.error.code]).toEqual([400, -32_020]);
  });
});
