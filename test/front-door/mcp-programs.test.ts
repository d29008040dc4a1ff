import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { startGateway, type TestGateway } from '../gateway.ts';
import { allowing, PROGRAM_USER, processesIn, programAt } from '../mcp/programs.ts';
import { message, toolCall } from '../mcp/recorder.ts';
import { eventually } from '../process.ts';

/** Programs start slowly on a slow machine. */
setDefaultTimeout(180_000);

/** Servers that the gateway runs as programs, with the official library on both sides. */
const OWN = programAt('stdio-server');
let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  const own = { command: process.execPath, args: [OWN], more_args: true, env: ['SECRET'], set: { REGION: 'eu' } };
  gateway = await startGateway({ environment: { ...allowing(own), GATEWAY_MCP_PROCESSES: '6' } });
  key = (await gateway.given.apiKey()).key;
  await register('prog', { env: { SECRET: 'the-secret-of-the-program' } });
});
afterAll(() => gateway.stop());

const stdioOf = (more: Record<string, unknown> = {}) => ({ command: process.execPath, args: [OWN], ...more });
async function register(slug: string, stdio: Record<string, unknown> = {}, more: Record<string, unknown> = {}) {
  const configurations = { transport: 'stdio', stdio: stdioOf(stdio), ...more };
  const reply = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, configurations });
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.json;
}
async function connected(path = '/prog/mcp', given = key) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {}, sampling: {} } });
  const requestInit = { headers: { 'x-gateway-api-key': given } };
  const transport = new StreamableHTTPClientTransport(new URL(gateway.url + path), { requestInit });
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { name: 'Ada' } }));
  client.setRequestHandler(CreateMessageRequestSchema, async () => ({
    ...{ model: 'm', role: 'assistant', content: { type: 'text', text: 'sampled' } },
  }));
  await client.connect(transport);
  const said = async (name: string, args: Record<string, unknown> = {}, options = {}) => {
    const { content } = await client.callTool({ name, arguments: args }, undefined, options);
    return (content as { text: string }[])[0]!.text;
  };
  return { client, transport, said };
}
const calls = (name: string, args = {}, meta = {}) => ({
  ...toolCall(),
  params: { name, arguments: args, _meta: meta },
});

test('a client uses a program like any server: calls, progress, questions, samples and changed lists', async () => {
  const { client, transport, said } = await connected();
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
  expect(await said('echo', { said: 'häl\nlo\r 中' })).toBe('häl\nlo\r 中');
  const steps: number[] = [];
  const onprogress = ({ progress }: { progress: number }) => steps.push(progress);
  expect(await said('steps', {}, { onprogress })).toBe('done');
  expect(steps).toEqual([1, 2]);
  expect(await said('ask')).toBe('accept Ada');
  expect(await said('sample')).toContain('sampled');
  const changed = new Promise<void>((resolve) =>
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
  );
  expect(await said('grow')).toBe('grown');
  await changed;
  expect(await said('garbage')).toBe('after garbage');
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => said('echo', { said: `n${index}` })));
  expect(answers).toEqual(answers.map((_, index) => `n${index}`));
  const { folder } = JSON.parse(await said('process'));
  await transport.terminateSession();
  await eventually('its program has ended', () => processesIn(folder).length === 0 && !existsSync(folder));
  await client.close();
});

test('a program has its own user, folder and environment, and nothing of the gateway', async () => {
  const { client, said } = await connected();
  const { user, group, folder, env } = JSON.parse(await said('process'));
  if (PROGRAM_USER !== null) expect([user, group]).toEqual([PROGRAM_USER, [PROGRAM_USER]]);
  expect(env).toEqual({
    ...{ PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', HOME: folder, TMPDIR: folder },
    ...{ SECRET: 'the-secret-of-the-program', REGION: 'eu' },
  });
  expect(folder).toContain('gateway-mcp-');
  await client.close();
});

test('sessions have programs of their own, and calls without a session share one', async () => {
  const [one, two] = [await connected(), await connected()];
  expect([await one.said('counted'), await one.said('counted'), await two.said('counted')]).toEqual(['1', '2', '1']);
  const bare = async (meta = {}) =>
    (await gateway.api.post('/prog/mcp', { ...calls('counted', {}, meta), id: 'same' }, { key })).json;
  const shared = await Promise.all([bare(), bare({ progressToken: 'mine' }), bare()]);
  expect(shared.map(({ id }) => id)).toEqual(['same', 'same', 'same']);
  expect(shared.map(({ result }) => result.content[0].text).sort()).toEqual(['1', '2', '3']);
  const stepped = await gateway.api.post('/prog/mcp', calls('steps', {}, { progressToken: 'mine' }), { key });
  expect(stepped.text.match(/"progressToken":"mine"/g)).toHaveLength(2);
  // No client is there to be asked.
  const asked = await gateway.api.post('/prog/mcp', calls('ask'), { key });
  expect(asked.json.result.isError).toBe(true);
  for (const { client, transport } of [one, two]) {
    await transport.terminateSession();
    await client.close();
  }
});

test('a program that dies fails its call and is started again for the next one of the session', async () => {
  const { client, said } = await connected();
  const before = JSON.parse(await said('process')).pid;
  await expect(said('die')).rejects.toThrow(/is a program, and it failed: it ended by itself with 3/);
  expect(JSON.parse(await said('process')).pid).not.toBe(before);
  // It knows its client as before.
  expect(await said('ask')).toBe('accept Ada');
  await client.close();
});

test('it is behind the address of all servers, is tried, read, and seen in the log', async () => {
  const tested = await gateway.api.post('/v1/mcp-servers/prog/test');
  expect(tested.json).toMatchObject({ success: true, server_name: 'Program' });
  const { client, said } = await connected('/mcp');
  expect(await said('prog__echo', { said: 'through all' })).toBe('through all');
  expect(await said('prog__ask')).toBe('accept Ada');
  await client.close();
  const reply = await gateway.api.post('/prog/mcp', calls('echo', { said: 'x' }), { key });
  expect(await gateway.logOf(reply)).toMatchObject({
    provider: 'mcp',
    virtual_key: 'prog',
    model: 'echo',
    status: 200,
  });
  const shown = (await gateway.api.get('/v1/mcp-servers/prog')).json;
  expect(shown.url).toBe(`stdio:${process.execPath}`);
  expect(JSON.stringify(shown)).not.toContain('the-secret-of-the-program');
  const { json } = await gateway.api.get('/v1/mcp-servers/prog/capabilities');
  expect(JSON.stringify(json)).toContain('echo');
});

test('who calls is told by the environment, or with a token in each request that no client can make up', async () => {
  const claims = { user_identity_forwarding: { method: 'claims_header', include_claims: ['sub'] } };
  await register('told', {}, claims);
  const other = (await gateway.given.apiKey()).key;
  const subjectOf = async (given: string) => {
    const reply = await gateway.api.post('/told/mcp', calls('process'), { key: given });
    const { env, pid } = JSON.parse(reply.json.result.content[0].text);
    return { pid, sub: JSON.parse(env.MCP_USER_CLAIMS).sub };
  };
  const [one, two, again] = [await subjectOf(key), await subjectOf(other), await subjectOf(key)];
  expect(one.sub).toContain('apikey:');
  expect(two.sub).not.toBe(one.sub);
  expect(two.pid).not.toBe(one.pid);
  expect(again).toEqual(one);
  const faked = await gateway.api.post(
    '/told/mcp',
    calls('process', {}, { 'ai.gateway/user-token': 'I am root', kept: 1 }),
    { key },
  );
  expect(JSON.parse(faked.json.result.content[0].text).token).toBeNull();
  const header = await register('header-name', {}, {}).then(() =>
    gateway.api.put('/v1/mcp-servers/header-name', {
      configurations: { user_identity_forwarding: { method: 'claims_header', header_name: 'X-Me' } },
    }),
  );
  expect([header.status, header.json.error.param]).toEqual([
    400,
    'configurations.user_identity_forwarding.header_name',
  ]);
});

test('a change restarts it, and the end of the server or of its workspace ends it', async () => {
  const { id } = await gateway.given.workspace({ name: 'Of programs' });
  const ofIt = (await gateway.given.apiKey({ workspace_id: id })).key;
  const make = (slug: string) =>
    gateway.api.post('/v1/mcp-servers', {
      ...{ name: slug, slug, workspace_id: id },
      configurations: { transport: 'stdio', stdio: stdioOf({ args: [OWN, 'one'] }) },
    });
  const running = async (slug: string) => {
    const reply = await gateway.api.post(`/${slug}/mcp`, calls('process'), { key: ofIt });
    return JSON.parse(reply.json.result.content[0].text) as { folder: string; args: string[] };
  };
  await make('changing');
  const first = await running('changing');
  const configurations = { stdio: stdioOf({ args: [OWN, 'two'] }) };
  expect((await gateway.api.put('/v1/mcp-servers/changing', { configurations })).status).toBe(200);
  await eventually('the old one has ended', () => processesIn(first.folder).length === 0);
  const second = await running('changing');
  expect([first.args, second.args]).toEqual([['one'], ['two']]);
  await gateway.api.delete('/v1/mcp-servers/changing');
  await eventually('the deleted one has ended', () => processesIn(second.folder).length === 0);
  await make('leaving');
  const third = await running('leaving');
  await gateway.api.delete(`/v1/admin/workspaces/${id}?force=true`);
  await eventually('that of the workspace has ended', () => processesIn(third.folder).length === 0);
});

test('nothing is run but what the operator allows, letter by letter', async () => {
  const ask = async (stdio: unknown, more: Record<string, unknown> = {}) => {
    const configurations = { transport: 'stdio', stdio };
    const { status, json } = await gateway.api.post('/v1/mcp-servers', { name: 'x', configurations, ...more });
    return [status, json.error?.param, json.error?.message];
  };
  for (const command of ['/bin/sh', `${process.execPath}/`, `/..${process.execPath}`, 'bun', `/./${process.execPath}`])
    expect((await ask({ command, args: [OWN] })).slice(0, 2)).toEqual([400, 'configurations.stdio.command']);
  for (const args of [[], ['-e', 'x'], [`${OWN}x`], ['--preload', OWN], [`./${OWN}`]])
    expect((await ask({ command: process.execPath, args })).slice(0, 2)).toEqual([400, 'configurations.stdio.args']);
  for (const name of ['NODE_OPTIONS', 'LD_PRELOAD', 'PATH', 'REGION', 'secret'])
    expect((await ask(stdioOf({ env: { [name]: 'x' } }))).slice(0, 2)).toEqual([
      400,
      `configurations.stdio.env.${name}`,
    ]);
  expect((await ask(undefined)).slice(0, 2)).toEqual([400, 'configurations.stdio']);
  expect((await ask(stdioOf({ env: { SECRET: 'ab***cd' } })))[2]).toContain('is masked');
  expect((await ask(stdioOf(), { url: 'https://a.example/mcp' })).slice(0, 2)).toEqual([400, 'url']);
  expect((await ask(stdioOf(), { auth_type: 'oauth_auto' })).slice(0, 2)).toEqual([400, 'auth_type']);
  const unmarked = await gateway.api.post('/v1/mcp-servers', { name: 'x', url: `stdio:${process.execPath}` });
  expect([unmarked.status, unmarked.json.error.param]).toEqual([400, 'url']);
  const none = await startGateway();
  const refused = await none.api.post('/v1/mcp-servers', {
    name: 'x',
    configurations: { transport: 'stdio', stdio: stdioOf() },
  });
  expect([refused.status, refused.json.error.message]).toEqual([400, expect.stringContaining('GATEWAY_MCP_COMMANDS')]);
  await none.stop();
});

test('a batch and what is no JSON are refused, and a message over several lines arrives as one', async () => {
  const batch = await gateway.api.post('/prog/mcp', [message('ping')], { key });
  expect(batch.json.error.data.code).toBe('mcp_message_refused');
  const sent = await fetch(`${gateway.url}/prog/mcp`, {
    method: 'POST',
    headers: {
      ...{ 'x-gateway-api-key': key, 'content-type': 'application/json' },
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(calls('echo', { said: 'lines' }), null, 2),
  });
  expect(await sent.text()).toContain('"text":"lines"');
});

test('policies, limits, search and sets see a program like any server', async () => {
  await register('ruled', {}, { rate_limits: [{ type: 'requests', unit: 'rpd', value: 1, tool: 'counted' }] });
  expect((await gateway.api.post('/v1/mcp-servers/ruled/sync')).json.sync_error).toBeNull();
  const off = await gateway.api.put('/v1/mcp-servers/ruled/capabilities', {
    capabilities: [{ type: 'tool', name: 'echo', enabled: false }],
  });
  expect(off.status).toBe(200);
  const ruled = await connected('/ruled/mcp');
  expect((await ruled.client.listTools()).tools.map(({ name }) => name)).not.toContain('echo');
  await expect(ruled.said('echo', { said: 'x' })).rejects.toThrow();
  expect(await ruled.said('counted')).toBe('1');
  await expect(ruled.said('counted')).rejects.toThrow(/limit/i);
  await ruled.client.close();
  const searching = await connected('/mcp/search');
  expect(await searching.said('search_tools', { query: 'counted' })).toContain('prog__counted');
  await searching.client.close();
  const made = await gateway.api.post('/v1/mcp-tool-sets', {
    ...{ name: 'Of programs', slug: 'of-programs' },
    tools: [{ server: 'prog', tool: 'echo', name: 'repeat' }],
  });
  expect(made.status).toBe(200);
  const set = await connected('/mcp/sets/of-programs');
  expect(await set.said('repeat', { said: 'by a set' })).toBe('by a set');
  await set.client.close();
});
