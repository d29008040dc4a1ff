import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ensureJail, JAIL_MS, PYTHON } from '../assistants/jail.ts';
import { dataDirWithSnapshot } from '../assistants/sandbox.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { startOrderServer } from '../mcp/order-server.ts';
import { message } from '../mcp/recorder.ts';
import { startSmallServer } from '../mcp/small-server.ts';
import { startTalkingServer } from '../mcp/talking-server.ts';
import { catalogue, startCatalogue } from '../mcp/tool-catalogue.ts';
import { eventually, newDataDir } from '../process.ts';

/** Models that write programs which call tools. */
interface Place {
  readonly gateway: TestGateway;
  readonly workspace: string;
  readonly key: string;
}
/** A gateway with the Python that it brings along, and one with the machine's in a jail: programs find the same in both. */
let [bundled, jailed]: Place[] = [];
/** The one that is asked. */
let { gateway, workspace, key }: Place = {} as Place;
const ask = (place: Place) => {
  ({ gateway, workspace, key } = place);
};
const dataDirs: string[] = [];
const orders = startOrderServer();
const talking = startTalkingServer();

async function opened(dataDir: string, more: Record<string, string>): Promise<Place> {
  dataDirs.push(dataDir);
  const made = await startGateway({ environment: { GATEWAY_DATA_DIR: dataDir, ...more } });
  const { id } = await made.given.workspace({ name: 'code mode' });
  const place = { gateway: made, workspace: id, key: (await made.given.apiKey({ workspace_id: id })).key };
  ask(place);
  await register('code-orders', orders.url);
  await register('code_talk', talking.url);
  return place;
}
beforeAll(async () => {
  bundled = await opened(await dataDirWithSnapshot(), { GATEWAY_INTERPRETER_SECONDS: '30' });
  await ensureJail();
  jailed = await opened(newDataDir(), { GATEWAY_INTERPRETER_SECONDS: '30', GATEWAY_INTERPRETER_PYTHON: PYTHON });
}, JAIL_MS);
afterAll(async () => {
  await bundled?.gateway.stop();
  await jailed?.gateway.stop();
  orders.stop();
  talking.stop();
  for (const dataDir of dataDirs) rmSync(dataDir, { recursive: true, force: true });
});

async function register(slug: string, url: string, { configurations = {}, workspace_id = workspace } = {}) {
  const reply = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url, workspace_id, configurations });
  if (reply.status !== 200) throw new Error(reply.text);
}

const SESSION = { 'mcp-protocol-version': '2025-11-25' };
const send = (body: unknown, { path = '/mcp/code', as = key, headers = {} } = {}) =>
  gateway.api.post(path, body, { key: as, headers: { ...SESSION, ...headers } });
const use = async (name: string, given: unknown, options = {}) => {
  const reply = await send(message('tools/call', { name, arguments: given }), options);
  const { result, error } = reply.json;
  return { reply, error, isError: result?.isError === true, said: result?.content[0].text as string };
};
const run = (code: string, options = {}) => use('run_code', { code }, options);
const OWN = ['search_tools', 'describe_tools', 'run_code'];

/** The official client, which takes answers as streams. */
async function connected(path = '/mcp/code', { as = key, capabilities = {} } = {}) {
  const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities });
  const requestInit = { headers: { 'x-gateway-api-key': as } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}${path}`), { requestInit }));
  const text = async (name: string, given: Record<string, unknown>, options = {}) => {
    const { content } = await client.callTool({ name, arguments: given }, options);
    return (content as { text: string }[])[0]!.text;
  };
  return { client, text };
}

describe('a client whose model writes programs', () => {
  beforeAll(() => ask(bundled!));
  test('is one at its own address, by header, by key, by workspace or by tool set', async () => {
    const listed = async (options = {}) =>
      (await send(message('tools/list'), options)).json.result.tools.map(({ name }: { name: string }) => name);
    expect(await listed()).toEqual(OWN);
    expect(await listed({ path: '/mcp', headers: { 'x-gateway-mcp-tools': 'code' } })).toEqual(OWN);
    const ofKey = await gateway.given.apiKey({ workspace_id: workspace, defaults: { mcp_tools: 'code' } });
    expect(await listed({ path: '/mcp', as: ofKey.key })).toEqual(OWN);
    expect(await listed({ path: '/mcp/search', as: ofKey.key })).toContain('call_tool');
    const wrong = await send(message('tools/list'), { path: '/mcp', headers: { 'x-gateway-mcp-tools': 'some' } });
    expect([wrong.status, wrong.text.includes('give all, search or code')]).toEqual([400, true]);
    const other = await gateway.given.workspace({ name: 'coding', defaults: { mcp_tools: 'code' } });
    expect(await listed({ path: '/mcp', as: (await gateway.given.apiKey({ workspace_id: other.id })).key })).toEqual(
      OWN,
    );
  });

  test('finds functions, reads their signatures, and runs a program, with the official client', async () => {
    const { client, text } = await connected();
    expect(client.getInstructions()).toContain('run_code');

    const { tools } = JSON.parse(await text('search_tools', { query: 'orders of a month' }));
    expect(tools[0]).toEqual({ name: 'code_orders__list_orders', description: 'Orders of a month.' });
    expect(
      await text('describe_tools', { names: ['code_orders__list_orders', 'code_orders__get_order', 'no_such'] }),
    ).toBe(
      `async def code_orders__list_orders(*, month: str, limit: int = ...) -> {"ids": list[str]}:
    """Orders of a month.
    month: Like 2026-10.
    limit: Default 20."""

async def code_orders__get_order(*, id: str):
    """One order, with its lines."""

# Not available: no_such`,
    );
    const progress: unknown[] = [];
    const printed = await text(
      'run_code',
      {
        code: `import asyncio
ids = (await code_orders__list_orders(month="2026-10", limit=8))["ids"]
all = await asyncio.gather(*[code_orders__get_order(id=id) for id in ids])
print(sum(order["total"] for order in all if order["state"] == "returned"))`,
      },
      { onprogress: (each: { message?: string }) => void progress.push(each.message) },
    );
    expect(printed).toBe('28\n');
    expect(progress[0]).toBe('calls code-orders__list_orders');
    expect(progress.length).toBeGreaterThan(1);
    await client.close();
  });

  test('is logged once for the program and once for each call, as a call of the tool', async () => {
    const { reply, said } = await run('print((await code_orders__list_orders(month="2026-09", limit=1))["ids"])');
    expect(said).toBe("['o-0']\n");
    const entry = await gateway.logOf(reply);
    expect(entry).toMatchObject({
      model: 'run_code',
      status: 200,
      metadata: { 'mcp.method': 'tools/call', 'mcp.calls': '1', 'mcp.ended': 'well' },
    });
    expect(JSON.stringify(entry)).not.toContain('print(');
    const { json } = await gateway.api.get(`/v1/logs?trace_id=${entry.trace_id}&limit=10`);
    const called = json.data.find(({ model }: { model: string }) => model === 'list_orders');
    expect(called).toMatchObject({
      virtual_key: 'code-orders',
      status: 200,
      api_key_id: entry.api_key_id,
      metadata: { 'mcp.arguments': '{month:text(7),limit:number}' },
    });
  });

  test('reads what is wrong with what it gave', async () => {
    const say = async (given: unknown) => (await use('run_code', given)).said;
    expect(await say({})).toBe('Invalid arguments for run_code: code must be a text that is not empty.');
    expect(await say({ code: 7 })).toContain('code must be a text');
    expect(await say({ code: '1', python: 1 })).toContain('"python" is not known; give code');
    expect(await say({ code: `#${'x'.repeat(1 << 20)}` })).toContain('give at most 1048576');
    expect((await run('1 +')).said).toContain('SyntaxError');
    expect((await run('x = 1')).said).toBe('The program ended and printed nothing. Print what you want to see.');
    const failed = await run('await code_orders__break()');
    expect([failed.isError, failed.said.endsWith('ToolError: code-orders__break: the shop is closed\n')]).toEqual([
      true,
      true,
    ]);
    expect((await gateway.logOf(failed.reply)).error_code).toBe('tool_error');
    const call = await use('call_tool', { name: 'code-orders__list_orders' });
    expect(call.error?.code).toBe(-32_602);
  });

  test('is told of it where no code is run', async () => {
    const without = await startGateway({ environment: { GATEWAY_INTERPRETER: 'false' } });
    try {
      const reply = await without.api.post('/mcp/code', message('tools/list'), { headers: SESSION });
      expect(reply.json.error).toMatchObject({ code: 501, data: { code: 'mcp_code_off' } });
      expect(
        (await without.api.post('/mcp/search', message('tools/list'), { headers: SESSION })).json.result.tools,
      ).toHaveLength(3);
    } finally {
      await without.stop();
    }
  });
});

describe('what holds for every call holds for those of programs', () => {
  beforeAll(() => ask(jailed!));
  test('a tool that is switched off is in no list and no program, and is not reached by its name', async () => {
    await register('code-shut', orders.url);
    await gateway.api.put('/v1/mcp-servers/code-shut/capabilities', {
      capabilities: [{ type: 'tool', name: 'delete_order', enabled: false }],
    });
    const before = orders.calls.length;
    const stubs = await use('describe_tools', { names: ['code_shut__delete_order', 'code-shut__delete_order'] });
    expect(stubs.said).toBe('# Not available: code_shut__delete_order, code-shut__delete_order');
    const tries = await run(`
for name in ["code-shut__delete_order", "code-shut__Delete_Order", "code-shut__delete_order ", "code-shut__delete%5forder", "other__x", "run_code"]:
    try:
        print("GOT", await call_tool(name, {"id": "o-1"}))
    except ToolError as error:
        print(error.code)
await code_shut__delete_order(id="o-1")`);
    expect(tries.said).toStartWith(`${'-32602\n'.repeat(6)}Traceback`);
    expect(tries.said).toEndWith("NameError: name 'code_shut__delete_order' is not defined\n");
    expect(orders.calls.slice(before)).toEqual([]);
  });

  test('rules, guardrails, limits and identities are those of the server', async () => {
    const guardrail = await gateway.api.post('/v1/guardrails', {
      name: 'no secrets in programs',
      slug: 'code-no-secrets',
      workspace_id: workspace,
      checks: [{ id: 'default.contains', parameters: { words: ['hunter2'], operator: 'none' } }],
      actions: { deny: true },
    });
    expect([guardrail.status, guardrail.text]).toMatchObject([200, expect.any(String)]);
    await register('code-fenced', orders.url, {
      configurations: {
        user_identity_forwarding: { method: 'claims_header' },
        tool_authorization: { delete_order: { required_claims: ['email'] } },
        input_guardrails: ['code-no-secrets'],
        rate_limits: [{ type: 'requests', unit: 'rpm', value: 3, tool: 'get-order' }],
      },
    });
    const { said } = await run(`
async def attempt(what):
    try:
        print(type(await what).__name__)
    except ToolError as error:
        print(error.code, error.message)
await attempt(call_tool("code-fenced__delete_order", {"id": "o-1"}))
await attempt(code_fenced__list_orders(month="hunter2"))
for n in range(5):
    await attempt(code_fenced__get_order(id=f"o-{n}"))`);
    const lines = said.trim().split('\n');
    expect(lines[0]).toStartWith('-32602 ');
    expect(lines[1]).toStartWith('446 ');
    expect(lines.slice(2, 5)).toEqual(['dict', 'dict', 'dict']);
    expect(lines[5]).toStartWith('429 ');
    expect(lines[6]).toStartWith('429 ');
    expect(orders.calls.at(-1)!.headers.get('x-user-claims')).toContain('apikey:');
    expect(orders.calls.at(-1)!.headers.get('x-gateway-api-key')).toBeNull();
  });

  test('a tool set has its own names in programs, and nothing else', async () => {
    const made = await gateway.api.post('/v1/mcp-tool-sets', {
      ...{ name: 'Code desk', slug: 'code-desk', workspace_id: workspace, mcp_tools: 'code' },
      tools: [{ server: 'code-orders', tool: 'get-order', name: 'print' }],
    });
    expect(made.status).toBe(200);
    const path = '/mcp/sets/code-desk';
    expect((await use('describe_tools', { names: ['print'] }, { path })).said).toStartWith(
      'async def print_(*, id: str):',
    );
    const { said } = await run(
      `print((await print_(id="o-3"))["id"], "code_orders__list_orders" in globals())
await call_tool("code-orders__list_orders", {"month": "2026-01"})`,
      { path },
    );
    expect(said).toStartWith('o-3 False\nTraceback');
    expect(said).toMatch(/\nToolError: code-orders__list_orders: .*is not available here/);
  });

  test('what a server asks meanwhile reaches a client that can be asked, and is refused for others', async () => {
    const { client, text } = await connected('/mcp/code', { capabilities: { elicitation: {} } });
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ada' } }));
    expect(await text('run_code', { code: 'print(await code_talk__ask())' })).toContain("'name': 'Ada'");
    await client.close();

    expect((await run('print(await code_talk__ask())')).said).toContain('This client cannot be asked that.');
  });

  test('servers and clients without sessions are served, and what they ask is an exception', async () => {
    const newer = startSmallServer({ era: 'newer', tools: ['echo'] });
    const { id } = await gateway.given.workspace({ name: 'newer code' });
    const { key: as } = await gateway.given.apiKey({ workspace_id: id });
    await register('code-newer', newer.url, { workspace_id: id });
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    };
    const params = { name: 'run_code', arguments: { code: 'print(await code_newer__echo(a=1))' }, _meta: meta };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'run_code' };
    const { json } = await send(message('tools/call', params), { as, headers });
    expect(json.result).toEqual({ content: [{ type: 'text', text: 'echo {"a":1}\n' }], resultType: 'complete' });
    const sent = JSON.parse(newer.last);
    expect(sent.params._meta['io.modelcontextprotocol/clientCapabilities']).toEqual({});
    newer.stop();
  });
});

describe('a program ends', () => {
  beforeAll(() => ask(jailed!));
  /** Begins a program that waits for a tool, as a client that takes a stream. */
  const begin = async (as = key, session?: string, id = 5) => {
    const before = orders.waiting;
    const body = {
      ...message('tools/call', { name: 'run_code', arguments: { code: 'await code_orders__wait()' } }),
      id,
    };
    const leaving = new AbortController();
    const answer = fetch(`${gateway.url}/mcp/code`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: leaving.signal,
      headers: {
        ...{ ...SESSION, 'x-gateway-api-key': as, 'content-type': 'application/json' },
        accept: 'application/json, text/event-stream',
        ...(session && { 'mcp-session-id': session }),
      },
    });
    const text = answer.then((response) => response.text()).catch(() => 'cut');
    await eventually('the tool waits', () => orders.waiting > before);
    return { leave: () => leaving.abort(), text };
  };
  const ended = (before: number) => eventually('the call is given up', () => orders.givenUp > before);

  test('when its client leaves', async () => {
    const before = orders.givenUp;
    const { leave } = await begin();
    leave();
    await ended(before);
  });

  test('when its client cancels the request, or ends the session', async () => {
    const greeted = await send(message('initialize', { protocolVersion: '2025-11-25', capabilities: {} }));
    const session = greeted.headers.get('mcp-session-id')!;
    const headers = { 'mcp-session-id': session };
    let before = orders.givenUp;
    const first = await begin(key, session, 41);
    await send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 41 } }, { headers });
    await ended(before);
    expect(await first.text).not.toContain('result');
    before = orders.givenUp;
    await begin(key, session, 42);
    await gateway.api.call('DELETE', '/mcp/code', { key, headers: { ...SESSION, ...headers } });
    await ended(before);
  });

  test('when its key goes', async () => {
    const own = await gateway.given.apiKey({ workspace_id: workspace });
    const before = orders.givenUp;
    const { text } = await begin(own.key);
    await gateway.api.delete(`/v1/api-keys/${own.id}`);
    await ended(before);
    expect(await text).not.toContain('"result"');
  });

  test('when its time is over, and says which calls were under way', async () => {
    const own = newDataDir();
    const environment = { GATEWAY_INTERPRETER_SECONDS: '10', GATEWAY_INTERPRETER_PYTHON: PYTHON };
    const slow = await startGateway({ environment: { GATEWAY_DATA_DIR: own, ...environment } });
    try {
      await slow.api.post('/v1/mcp-servers', { name: 'Late', slug: 'code-late', url: orders.url });
      const before = orders.givenUp;
      const code = 'await code_late__list_orders(month="x")\nawait code_late__wait()';
      const { json } = await slow.api.post(
        '/mcp/code',
        message('tools/call', { name: 'run_code', arguments: { code } }),
        {
          headers: SESSION,
        },
      );
      expect(json.result.isError).toBe(true);
      expect(json.result.content[0].text).toBe(
        'The program was stopped: it ran for more than 10 seconds, and what it had printed is lost. Calls of tools that were answered: 1. Given up before their answers: code-late__wait. What they have done stays done.',
      );
      await ended(before);
    } finally {
      await slow.stop();
      rmSync(own, { recursive: true, force: true });
    }
  });

  test('and calls that it did not wait for end with it', async () => {
    const before = orders.givenUp;
    const { said } = await run(`import asyncio
forgotten = asyncio.ensure_future(code_orders__wait())
for _ in range(10):
    await code_orders__list_orders(month="2026-10", limit=1)
await asyncio.sleep(2)
print("over")`);
    expect(said).toBe('over\n');
    await ended(before);
  });
});

describe('a hostile program', () => {
  beforeAll(() => ask(bundled!));
  test('has no more calls and no more at once than others, and the gateway answers meanwhile', async () => {
    const before = orders.calls.length;
    let isOver = false;
    const flood = run(`import asyncio
made = await asyncio.gather(*[code_orders__get_order(id="o-1") for _ in range(3000)], return_exceptions=True)
print(sum(isinstance(each, ToolError) for each in made), [str(each) for each in made if isinstance(each, ToolError)][0])`);
    void flood.finally(() => {
      isOver = true;
    });
    let pings = 0;
    while (!isOver) {
      expect((await gateway.api.get('/health')).status).toBe(200);
      pings++;
      await Bun.sleep(20);
    }
    expect((await flood).said).toBe('2800 code-orders__get-order: not called: one program makes at most 200 calls\n');
    expect(orders.calls.length - before).toBe(200);
    expect(pings).toBeGreaterThan(5);
  });

  test('says nothing to the gateway but names and arguments of tools, and reaches nothing else of it', async () => {
    const before = orders.calls.length;
    const raw = (what: string, id: number, name: string, given: string) => `
result = await js.eval(r'''new Promise((resolve) => {
  const heard = self.onmessage;
  self.onmessage = (event) => (event.data.header.type === 'answer' && event.data.header.id === ${id}
    ? resolve(new TextDecoder().decode(event.data.bodies[0])) : heard(event));
  const text = (value) => new TextEncoder().encode(value);
  self.postMessage({ header: { type: 'call', id: ${id} }, bodies: [text(${JSON.stringify(name)}), text(${JSON.stringify(given)})] });
})''')
print(${JSON.stringify(what)}, "|", result.replace("\\n", " "))`;
    const attempts: Readonly<Record<string, readonly [string, string]>> = {
      'another method': ['code-orders__list_orders', '{}},"method":"resources/read","x":{"y":1}'],
      'a member twice': ['code-orders__list_orders', '{"month":"a","month":"b"}'],
      'no object': ['code-orders__list_orders', '[1]'],
      'no JSON': ['code-orders__list_orders', '{"month": NaN}'],
      'a name that breaks out': ['x","arguments":{},"name":"code-orders__list_orders', '{}'],
      'an object too deep': ['code-orders__list_orders', `{"a":${'['.repeat(500)}${']'.repeat(500)}}`],
      'a prototype': ['__proto__', '{}'],
    };
    const code = Object.entries(attempts).map(([what, [name, given]], index) => raw(what, 900 + index, name, given));
    const origin = new URL(orders.url).origin;
    const { said } = await run(`
import js, os
${code.join('\n')}
async def attempt(name, what):
    try:
        print(name, "GOT", await what())
    except BaseException as error:
        print(name, "FAILED")
async def python_fetch():
    from pyodide.http import pyfetch
    return await (await pyfetch("${origin}/")).text()
async def deno(code):
    return await js.eval("(async () => { " + code + " })()")
await attempt("fetch", python_fetch)
await attempt("deno fetch", lambda: deno("return (await fetch('${origin}/')).status"))
await attempt("deno file", lambda: deno("return Deno.readTextFileSync('/etc/passwd')"))
await attempt("deno env", lambda: deno("return JSON.stringify(Deno.env.toObject())"))
await attempt("deno run", lambda: deno("return new Deno.Command('/bin/id').outputSync()"))
print("HOME" in os.environ and len(os.environ))`);
    const lines = said.trimEnd().split('\n');
    const answers = lines.splice(0, code.length);
    expect(answers.map((line) => line.split(' | ')[0])).toEqual(Object.keys(attempts));
    for (const line of answers) expect(line).toContain('"error"');
    expect(orders.calls.slice(before)).toEqual([]);
    expect(lines.slice(0, 5)).toEqual([
      'fetch FAILED',
      'deno fetch FAILED',
      'deno file FAILED',
      'deno env FAILED',
      'deno run FAILED',
    ]);
  });
});

test('what a model reads for a task of many calls is a small part of what it reads otherwise', async () => {
  ask(bundled!);
  const servers = startCatalogue();
  const { id } = await gateway.given.workspace({ name: 'measured code' });
  const { key: as } = await gateway.given.apiKey({ workspace_id: id });
  for (const name of catalogue.keys()) await register(`c-${name}`, servers.urlOf(name), { workspace_id: id });
  await register('c-orders', orders.url, { workspace_id: id });
  const say = (name: string, given: unknown, path: string) => use(name, given, { path, as });
  // Tokens by the rule of thumb that four bytes are one, as for searching.
  const tokens = (...values: unknown[]) => Math.ceil(values.map((each) => JSON.stringify(each)).join('').length / 4);

  // The sum of what was returned in a month: with definitions, each order passes through the context.
  const given = { month: '2026-10', limit: 20 };
  const definitions = (await send(message('tools/list'), { path: '/mcp', as })).json.result.tools;
  const first = (await say('c-orders__list_orders', given, '/mcp')).said;
  let direct = tokens(definitions, { name: 'c-orders__list_orders', given }, first);
  let sum = 0;
  for (const order of JSON.parse(first).ids) {
    const { said } = await say('c-orders__get-order', { id: order }, '/mcp');
    direct += tokens({ name: 'c-orders__get-order', given: { id: order } }, said);
    const { state, total } = JSON.parse(said);
    if (state === 'returned') sum += total;
  }

  const own = (await send(message('tools/list'), { path: '/mcp/code', as })).json.result.tools;
  const query = { query: 'orders of a month' };
  const found = (await say('search_tools', query, '/mcp/code')).said;
  const names = { names: ['c_orders__list_orders', 'c_orders__get_order'] };
  const stubs = (await say('describe_tools', names, '/mcp/code')).said;
  const code = `import asyncio
ids = (await c_orders__list_orders(month="2026-10", limit=20))["ids"]
orders = await asyncio.gather(*[c_orders__get_order(id=id) for id in ids])
print(sum(order["total"] for order in orders if order["state"] == "returned"))`;
  const { said } = await say('run_code', { code }, '/mcp/code');
  const coded = tokens(own, query, found, names, stubs, { code }, said);

  console.log(
    `a task of 21 calls over ${definitions.length} tools: ${direct} tokens with definitions (${tokens(definitions)} of them definitions), ${coded} with a program (${(100 * (1 - coded / direct)).toFixed(1)} % less)`,
  );
  expect(said).toBe(`${sum}\n`);
  expect(coded / direct).toBeLessThan(0.05);
  // Without the definitions, too: what the calls themselves leave in the context.
  expect(coded).toBeLessThan((direct - tokens(definitions)) / 2);
  servers.stop();
}, 60_000);
