import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { startGateway, type TestGateway } from '../gateway.ts';
import { allowing, folderOf, PROGRAM_USER, processesWith, programAt, zombiesOf } from '../mcp/programs.ts';
import { toolCall } from '../mcp/recorder.ts';
import { eventually, forTests, startProcess } from '../process.ts';

/** Programs start slowly on a slow machine. */
setDefaultTimeout(180_000);

/** Programs that flood, fall silent, die at once and leave others behind. */
const HOSTILE = programAt('hostile-program');
const KINDS = ['dies', 'mute', 'silent', 'floods', 'chatters', 'forks', 'bombs', 'kind'] as const;
type Kind = (typeof KINDS)[number];
/** Each kind in a way that no other test of this process has: they are found by their arguments. */
const markOf = (kind: Kind) => `${kind}-at-the-front-door`;
const allowed = (mark = markOf) =>
  allowing(...KINDS.map((kind) => ({ command: process.execPath, args: [HOSTILE, kind, mark(kind)] })));

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await startGateway({
    environment: {
      ...allowed(),
      ...{ GATEWAY_MCP_PROCESSES: '3', GATEWAY_MCP_IDLE_SECONDS: '4', GATEWAY_FIRST_BYTE_TIMEOUT_MS: '3000' },
    },
  });
  key = (await gateway.given.apiKey()).key;
  for (const kind of KINDS) await register(gateway.api, kind);
});
afterAll(() => gateway.stop());

async function register(api: TestGateway['api'], kind: Kind, mark = markOf) {
  const stdio = { command: process.execPath, args: [HOSTILE, kind, mark(kind)] };
  const reply = await api.post('/v1/mcp-servers', {
    ...{ name: kind, slug: kind },
    configurations: { transport: 'stdio', stdio, start_seconds: 1 },
  });
  if (reply.status !== 200) throw new Error(reply.text);
}
const call = (kind: Kind) => gateway.api.post(`/${kind}/mcp`, { ...toolCall(), params: { name: 'go' } }, { key });

test('one that dies at once is left alone for longer and longer, and only its owner learns what it said', async () => {
  const codes: string[] = [];
  await eventually('it is left alone', async () => {
    const reply = await call('dies');
    expect(reply.text).not.toContain('secret of the owner');
    codes.push(reply.json.error.data.code);
    if (codes.at(-1) !== 'mcp_program_unavailable') return false;
    expect([reply.status, Number(reply.headers.get('retry-after')) >= 1]).toEqual([503, true]);
    return true;
  });
  expect(codes[0]).toBe('mcp_program_failed');
  await eventually('its owner reads what it said', async () => {
    const { json } = await gateway.api.post('/v1/mcp-servers/dies/sync');
    return json.sync_error?.includes('the secret of the owner is wrong') ?? false;
  });
});

test('one that never answers a call costs that call its time, and one that never answers at all is ended', async () => {
  const silent = await call('silent');
  expect([silent.status, silent.json.error.data.code]).toEqual([504, 'upstream_timeout']);
  expect(processesWith(markOf('silent')).length).toBeGreaterThan(0);
  const controller = new AbortController();
  const waiting = fetch(`${gateway.url}/mute/mcp`, {
    method: 'POST',
    headers: {
      ...{ 'x-gateway-api-key': key, 'content-type': 'application/json' },
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ ...toolCall(), params: { name: 'go' } }),
    signal: controller.signal,
  });
  waiting.catch(() => {});
  await eventually('it is started', () => processesWith(markOf('mute')).length > 0);
  controller.abort();
  await eventually('it is ended', () => processesWith(markOf('mute')).length === 0);
});

test('one that floods is ended, with the call that it was to answer', async () => {
  const before = process.memoryUsage.rss();
  for (const kind of ['floods', 'chatters'] as const) {
    const reply = await call(kind);
    expect([reply.status, reply.json.error.data.code]).toEqual(
      // On a slow machine its time is over before it has said too much.
      reply.status === 504 ? [504, 'upstream_timeout'] : [502, 'mcp_program_failed'],
    );
    await eventually('it is ended', () => processesWith(markOf(kind)).length === 0);
  }
  expect(process.memoryUsage.rss() - before).toBeLessThan(600 << 20);
});

if (PROGRAM_USER !== null)
  test('one that makes processes without end has a bounded number of them, and all of them end', async () => {
    expect((await call('bombs')).status).toBe(200);
    let most = 0;
    await eventually('there are many', () => {
      most = Math.max(most, processesWith(markOf('bombs')).length);
      return most > 50;
    });
    const folder = folderOf(processesWith(markOf('bombs')));
    expect((await gateway.api.delete('/v1/mcp-servers/bombs')).status).toBe(200);
    await eventually('all have ended', () => {
      most = Math.max(most, processesWith(markOf('bombs')).length);
      return processesWith(markOf('bombs')).length === 0;
    });
    expect(most).toBeLessThan(1_100);
    await eventually('its guard has come to its own end', () => !existsSync(folder));
  });

test('programs are stopped when they are not used, and make room for others', async () => {
  expect((await call('kind')).json.result.content[0].text).toMatch(/^\d+$/);
  const forked = await call('forks');
  expect([forked.status, forked.text]).toEqual([200, expect.stringContaining('result')]);
  const init = { method: 'initialize', jsonrpc: '2.0', id: 1 };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  for (let session = 0; session < 5; session++) {
    const reply = await gateway.api.post('/kind/mcp', { ...init, params }, { key });
    expect([reply.status, reply.json.result?.serverInfo?.name]).toEqual([200, 'kind']);
  }
  await eventually('all are stopped, with all that they left', () => processesWith('-at-the-front-door').length === 0);
  await eventually('no zombie is left', () => zombiesOf(process.pid) === 0);
});

test('nothing is left ten seconds after the gateway was killed, whatever programs have started', async () => {
  const mark = (kind: Kind) => `${kind}-of-the-killed-${process.pid}`;
  const child = await startProcess({ environment: { ...forTests, ...allowed(mark) } });
  for (const kind of ['forks', 'kind', 'silent'] as const) await register(child.api, kind, mark);
  const send = (kind: Kind) => child.api.post(`/${kind}/mcp`, { ...toolCall(), params: { name: 'go' } });
  expect((await send('kind')).json.result.content[0].text).toMatch(/^\d+$/);
  expect((await send('forks')).status).toBe(200);
  send('silent').catch(() => {});
  await eventually('the silent one runs', () => processesWith(mark('silent')).length > 0);
  const marks = KINDS.map(mark);
  await child.kill();
  await eventually('nothing is left', () => marks.every((each) => processesWith(each).length === 0), 10_000);
});
