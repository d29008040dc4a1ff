import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer, type Server } from 'node:net';
import { startGateway, type TestGateway } from '../gateway.ts';
import { Person, startClientSite, tokensFor } from '../mcp/oauth.ts';
import { message, startRecorder, toolCall } from '../mcp/recorder.ts';
import { givenUser, PASSWORD } from '../people.ts';

/** Streams that outlive the right to them, and servers that do not keep to the protocol. */
let gateway: TestGateway;
const ends: (() => void)[] = [];
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(async () => {
  await gateway.stop();
  for (const end of ends) end();
});

const register = async (slug: string, url: string, configurations: Record<string, unknown> = {}) => {
  const reply = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url, configurations });
  if (reply.status !== 200) throw new Error(reply.text);
};

/** A server whose streams go on for as long as a client listens. */
function startTicker() {
  const state = { open: 0 };
  const recorder = startRecorder(() => {
    let timer: ReturnType<typeof setInterval>;
    state.open++;
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue('data: {"jsonrpc":"2.0","method":"notifications/tick"}\n\n');
        timer = setInterval(() => controller.enqueue('data: {"jsonrpc":"2.0","method":"notifications/tick"}\n\n'), 20);
      },
      cancel() {
        clearInterval(timer);
        state.open--;
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  });
  ends.push(recorder.stop);
  return { url: recorder.url, state };
}

/** A stream that a client listens to, and whether it still goes on. */
async function listen(slug: string, headers: Record<string, string>, method = 'GET') {
  const response = await fetch(`${gateway.url}/${slug}/mcp`, {
    method,
    headers: {
      accept: 'text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      'content-type': 'application/json',
      ...headers,
    },
    ...(method === 'POST' && { body: JSON.stringify(toolCall()) }),
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const state = { ticks: 0, isOver: false };
  void (async () => {
    try {
      for await (const _ of response.body as unknown as AsyncIterable<Uint8Array>) state.ticks++;
    } catch {
      // Cut off.
    }
    state.isOver = true;
  })();
  await until(() => state.ticks > 2);
  return state;
}

async function until(isSo: () => boolean, limitMs = 60_000) {
  for (const deadline = Date.now() + limitMs; !isSo(); await Bun.sleep(10))
    if (Date.now() > deadline) throw new Error('it did not come to that');
}

describe('an open stream ends', () => {
  test('with the key that opened it, and no other does', async () => {
    const ticker = startTicker();
    await register('ticking', ticker.url);
    const [gone, stays] = [await gateway.given.apiKey(), await gateway.given.apiKey()];
    const open = [
      await listen('ticking', { 'x-gateway-api-key': gone.key }),
      await listen('ticking', { 'x-gateway-api-key': gone.key }, 'POST'),
    ];
    const other = await listen('ticking', { 'x-gateway-api-key': stays.key });
    expect((await gateway.api.delete(`/v1/api-keys/${gone.id}`)).status).toBe(200);
    await until(() => open.every(({ isOver }) => isOver));
    await until(() => ticker.state.open === 1);
    const { ticks } = other;
    await until(() => other.ticks > ticks + 5);
    expect(other.isOver).toBe(false);
    await gateway.api.delete(`/v1/api-keys/${stays.id}`);
    await until(() => ticker.state.open === 0);
  });

  test('with the user, their token, their access, and the server', async () => {
    const ticker = startTicker();
    const site = startClientSite();
    ends.push(site.stop);
    const clientId = site.describe('listener');
    const newcomer = async (name: string) => {
      const slug = `ticking-${name}`;
      await register(slug, ticker.url);
      const user = await givenUser(gateway, { email: `${name}@example.com`, password: PASSWORD });
      const tokens = await tokensFor(gateway, new Person(gateway.url, user.email), { clientId, server: slug });
      const stream = await listen(slug, { authorization: `Bearer ${tokens.access_token}` });
      return { slug, user, tokens, stream };
    };
    const removed = await newcomer('removed');
    await gateway.api.delete(`/v1/admin/users/${removed.user.id}`);
    await until(() => removed.stream.isOver);

    const revoked = await newcomer('revoked');
    await fetch(`${gateway.url}/oauth/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ token: revoked.tokens.access_token, client_id: clientId }),
    });
    await until(() => revoked.stream.isOver);

    const shut = await newcomer('shut');
    const users = [{ user_id: shut.user.id, enabled: false }];
    await gateway.api.put(`/v1/mcp-servers/${shut.slug}/user-access`, { users });
    await until(() => shut.stream.isOver);

    const deleted = await newcomer('deleted');
    await gateway.api.delete(`/v1/mcp-servers/${deleted.slug}`);
    await until(() => deleted.stream.isOver);
    await until(() => ticker.state.open === 0);
  });
});

describe('a server that does not keep to the protocol', () => {
  function raw(answer: string): Promise<string> {
    const server: Server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(Buffer.from(answer, 'latin1')));
    });
    ends.push(() => server.close());
    return new Promise((resolve) =>
      server.listen(0, '127.0.0.1', () =>
        resolve(`http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`),
      ),
    );
  }
  const BODY = '{"jsonrpc":"2.0","id":1,"result":{}}';
  const head = (status: string, ...lines: string[]) =>
    [`HTTP/1.1 ${status}`, 'content-type: application/json', `content-length: ${BODY.length}`, ...lines, '', BODY].join(
      '\r\n',
    );

  const answers: readonly [string, string][] = [
    ['a redirect', head('302 Found', 'location: http://169.254.169.254/')],
    ['no status', 'hello'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['interim answers and nothing else', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000)],
    ['a status that is none', head('999 What')],
    ['a reason in another alphabet', head('200 \u00dcn\u00efcode')],
    ['a huge header', head('200 OK', `mcp-note: ${'x'.repeat(70_000)}`)],
    ['a huge session id', head('200 OK', `mcp-session-id: ${'x'.repeat(30_000)}`)],
    ['a session id that is no text', head('200 OK', 'mcp-session-id: \u00e9\u00ff')],
    ['a header with a line break in it', head('200 OK', 'mcp-note: a\nset-cookie: b=c')],
    ['two lengths', head('200 OK', 'content-length: 7')],
    ['a body that is cut off', head('200 OK').slice(0, -10)],
    ['a type that is none', head('200 OK').replace('application/json', '\u00e9;;;')],
  ];
  for (const [index, [what, answer]] of answers.entries())
    test(`does no harm with ${what}`, async () => {
      const slug = `odd-${index}`;
      await register(slug, await raw(answer));
      for (const asked of [message('initialize', { protocolVersion: '2025-11-25' }), toolCall()]) {
        const reply = await gateway.api.post(`/${slug}/mcp`, asked);
        expect([what, [200, 502].includes(reply.status)]).toEqual([what, true]);
        expect(reply.headers.get('set-cookie')).toBeNull();
        const session = reply.headers.get('mcp-session-id');
        if (session === null) continue;
        const again = await gateway.api.post(`/${slug}/mcp`, toolCall(), { headers: { 'mcp-session-id': session } });
        expect([what, again.status]).toEqual([what, 200]);
      }
    });

  const hostile: readonly [string, string][] = [
    ['a list of a million tools', `{"result":{"tools":[${'{"name":"a"},'.repeat(1_000_000)}{}]}}`],
    ['a list nested without end', `{"result":{"tools":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`],
    [
      'a tool nested without end',
      `{"result":{"tools":[{"name":"a","x":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}]}}`,
    ],
    ['text nested without end', `{"result":{"content":${'[{"a":'.repeat(20_000)}"b"${'}]'.repeat(20_000)}}}`],
  ];
  for (const [index, [what, text]] of hostile.entries())
    test(`is not read to its end with ${what}`, async () => {
      const recorder = startRecorder(() => new Response(text, { headers: { 'content-type': 'application/json' } }));
      ends.push(recorder.stop);
      const checks = [{ id: 'default.contains', parameters: { words: ['walrus'], operator: 'none' } }];
      const slug = `hostile-${index}`;
      await gateway.api.post('/v1/guardrails', { name: slug, slug, checks, actions: { deny: true } });
      await register(slug, recorder.url, { tool_pinning: { mode: 'block' }, output_guardrails: [slug] });
      const reply = await gateway.api.post(`/${slug}/mcp`, message('tools/list'));
      expect([446, 502]).toContain(reply.status);
    });

  test('cannot make a cache between us and others keep what is one caller’s', async () => {
    const recorder = startRecorder(() =>
      Response.json({ secret: 'of one' }, { headers: { 'cache-control': 'public, max-age=600' } }),
    );
    ends.push(recorder.stop);
    await register('cached', recorder.url);
    const { headers } = await gateway.api.get('/cached/mcp');
    expect(headers.get('cache-control')).toMatch(/no-store/);
  });
});
