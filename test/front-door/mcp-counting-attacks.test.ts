import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { message, startMcpServer, toolCall } from '../mcp/recorder.ts';

/** Callers who try to call tools without being counted. */
let gateway: TestGateway;
let key: string;
const recorder = startMcpServer(['book', 'read'].map((name) => ({ name, description: '' })));
beforeAll(async () => {
  gateway = await startGateway();
  ({ key } = await gateway.given.apiKey());
});
afterAll(async () => {
  await gateway.stop();
  recorder.stop();
});

const register = async (slug: string, configurations: Record<string, unknown> = {}) => {
  const reply = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url: recorder.url, configurations });
  if (reply.status !== 200) throw new Error(reply.text);
};
const send = (slug: string, body: unknown, headers: Record<string, string> = {}, given = key) =>
  gateway.api.post(`/${slug}/mcp`, body, {
    key: given,
    headers: { 'content-type': 'application/json', ...headers },
  });
/** In pieces, so that its size is not known before its end. */
const sendInPieces = (slug: string, text: string, headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}/${slug}/mcp`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json', ...headers },
    body: new Blob([text]).stream(),
  });

describe('a policy for calls of tools', () => {
  const slug = 'counted';
  const call = JSON.stringify(toolCall('book'));
  beforeAll(async () => {
    await register(slug);
    const made = await gateway.api.post('/v1/policies/rate-limits', {
      target: 'mcp_tools',
      conditions: [
        { key: 'mcp_server', value: slug },
        { key: 'mcp_tool', value: 'book' },
      ],
      group_by: [{ key: 'mcp_tool' }],
      type: 'requests',
      unit: 'rpd',
      value: 1,
    });
    if (made.status !== 200) throw new Error(made.text);
    expect((await gateway.api.post(`/v1/mcp-servers/${slug}/sync`)).json.sync_status).toBe('success');
    expect((await send(slug, call)).status).toBe(200);
    expect((await send(slug, call)).status).toBe(429);
  });

  const attempts: readonly [string, () => Promise<{ status: number }>][] = [
    ['with a member twice', () => send(slug, call.replace('{', '{"method":"ping",'))],
    ['in a batch', () => send(slug, `[${call},${call}]`)],
    ['packed', () => send(slug, Bun.gzipSync(Buffer.from(call)), { 'content-encoding': 'gzip' })],
    ['after a byte order mark', () => send(slug, `\ufeff${call}`)],
    ['of a size that is not told', () => sendInPieces(slug, call)],
    ['that a header calls something else', () => sendInPieces(slug, call, { 'mcp-method': 'ping' })],
    ['that a header says is of another tool', () => sendInPieces(slug, call, { 'mcp-name': 'read' })],
    ['behind much white space', () => send(slug, ' '.repeat(300_000) + call, { 'mcp-method': 'ping' })],
    ['in another spelling of the method', () => send(slug, call.replace('tools/call', 'Tools/Call'))],
    ['with an escaped name', () => send(slug, call.replace('"name"', '"n\\u0061me"'))],
    ['with an escaped value', () => send(slug, call.replace('"book"', '"b\\u006fok"'))],
    ['in another spelling of the tool', () => send(slug, toolCall('Book '))],
  ];
  for (const [how, attempt] of attempts)
    test(`counts a call ${how}, or refuses it`, async () => {
      const before = recorder.requests.length;
      const reply = await attempt();
      expect([400, 429]).toContain(reply.status);
      expect(recorder.requests).toHaveLength(before);
    });

  test('leaves other messages alone, whatever their size', async () => {
    const large = message('tools/call', { name: 'read', arguments: { text: 'x'.repeat(400_000) } });
    for (const body of [message('tools/list'), toolCall('read'), large])
      expect((await send(slug, body)).status).toBe(200);
  });
});

describe('a limit of one tool', () => {
  test('holds for other spellings of its name, too', async () => {
    await register('spelt', { rate_limits: [{ type: 'requests', unit: 'rpd', value: 1, tool: 'book' }] });
    expect((await send('spelt', toolCall('book'))).status).toBe(200);
    for (const name of ['Book', ' book', 'book\u200b', 'ｂook'])
      expect([name, (await send('spelt', toolCall(name))).status]).toEqual([name, 429]);
    expect((await send('spelt', toolCall('cook'))).status).toBe(200);
  });

  test('holds for the longest name, however it is written', async () => {
    const long = 'x'.repeat(256);
    await register('long-name', { rate_limits: [{ type: 'requests', unit: 'rpd', value: 1, tool: long }] });
    const escaped = JSON.stringify(toolCall('y')).replace('"y"', `"${'\\u0078'.repeat(256)}"`);
    expect((await send('long-name', escaped)).status).toBe(200);
    expect((await send('long-name', escaped)).status).toBe(429);
  });
});

describe('the limit of a key', () => {
  test('counts messages, so that no batch goes around it', async () => {
    await register('batches');
    const limited = await gateway.given.apiKey({ rate_limits: [{ type: 'requests', unit: 'rpd', value: 2 }] });
    const before = recorder.requests.length;
    const reply = await send('batches', [toolCall('a'), toolCall('b'), toolCall('c')], {}, limited.key);
    expect(reply.status).toBe(400);
    expect(recorder.requests).toHaveLength(before);
    expect((await send('batches', toolCall('a'), {}, limited.key)).status).toBe(200);
  });
});
