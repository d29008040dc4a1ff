import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { type ChatRequest, type ScriptedAnswer, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { type SmallServer, startSmallServer } from '../mcp/small-server.ts';
import { givenBrowser } from '../people.ts';
import { eventually } from '../process.ts';
import { anthropicClient, openaiClient } from '../sdk-clients.ts';

/** Registered MCP servers in chat and messages, on models of every format, with the vendors' own clients. */
const FORMATS = ['chat', 'anthropic', 'gemini'] as const;
type Format = (typeof FORMATS)[number];
let gateway: TestGateway;
let server: SmallServer;
const keys = {} as Record<Format, string>;
beforeAll(async () => {
  gateway = await startGateway();
  const { given, provider } = gateway;
  const format = async (slug: Format, name: string, custom_host: string) => {
    await given.virtualKey({ slug, provider: name, key: 'simulated', custom_host });
    keys[slug] = (await given.apiKey({ defaults: { virtual_key: slug } })).key;
  };
  await format('chat', 'groq', provider.url);
  await format('anthropic', 'anthropic', provider.url);
  await format('gemini', 'google', `${provider.origin}/v1beta`);
  server = startSmallServer({ era: 'older', tools: ['echo', 'erase', 'hidden'] });
  const made = await gateway.api.post('/v1/mcp-servers', { name: 'Desk', slug: 'desk', url: server.url });
  expect(made.status).toBe(200);
  const off = { capabilities: [{ type: 'tool', name: 'hidden', enabled: false }] };
  expect((await gateway.api.put('/v1/mcp-servers/desk/capabilities', off)).status).toBe(200);
});
afterAll(async () => {
  await gateway.stop();
  server.stop();
});

const ASKS = 'call desk__echo {"a":1}';
const called = () => server.heard.filter((said) => said.includes('tools/call')).length;

async function scripted(script: (request: ChatRequest, number: number) => ScriptedAnswer) {
  const provider = startScriptedProvider((request, number) => ({
    ...script(request, number),
    isWhole: request.stream !== true,
  }));
  const slug = `scripted-${crypto.randomUUID().slice(0, 8)}`;
  await gateway.given.virtualKey({ slug, provider: 'groq', key: 'k', custom_host: provider.url });
  return { provider, key: (await gateway.given.apiKey({ defaults: { virtual_key: slug } })).key as string };
}

describe('chat', () => {
  const desk = (more = {}) =>
    ({ type: 'mcp', server_label: 'desk', require_approval: 'never', ...more }) as unknown as OpenAI.ChatCompletionTool;
  const ask = (key: string, more = {}, content = ASKS) =>
    openaiClient(gateway.url, key).chat.completions.create({
      ...{ model: 'any', messages: [{ role: 'user', content }], tools: [desk()] },
      ...more,
    }) as Promise<OpenAI.ChatCompletion>;
  const streamed = async (key: string, more = {}, content = ASKS) => {
    const stream = await openaiClient(gateway.url, key).chat.completions.create({
      ...{ model: 'any', messages: [{ role: 'user', content }], tools: [desk()], stream: true },
      ...{ stream_options: { include_usage: true }, ...more },
    });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    return chunks;
  };
  const textOf = (chunks: OpenAI.ChatCompletionChunk[]) =>
    chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

  for (const format of FORMATS)
    test(`a model that speaks ${format} uses a server, whole and streamed`, async () => {
      const before = called();
      const answer = await ask(keys[format]);
      expect(answer).toMatchObject({ object: 'chat.completion', choices: [{ finish_reason: 'stop' }] });
      const [{ message }] = answer.choices as [OpenAI.ChatCompletion.Choice];
      expect(message.content).toContain('echo');
      expect(message.tool_calls).toBeUndefined();
      const chunks = await streamed(keys[format]);
      expect(textOf(chunks)).toBe(message.content!);
      const reasons = chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason)).filter(Boolean);
      expect(reasons).toEqual(['stop']);
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
      expect(chunks.filter(({ choices }) => choices[0]?.delta.role).length).toBe(1);
      expect(chunks.at(-1)!.usage!.total_tokens).toBe(answer.usage!.total_tokens);
      const plain = await ask(keys[format], { tools: undefined });
      expect(answer.usage!.total_tokens).toBeGreaterThan(plain.usage!.total_tokens);
      expect(called()).toBe(before + 2);
      expect(server.sessions.size).toBe(0);
    });

  test("tools behind a long conversation are found where the caller says that they are the gateway's", async () => {
    const { provider, key } = await scripted(({ messages }) =>
      messages.at(-1)!.role === 'tool'
        ? { parts: [{ text: 'done' }] }
        : { parts: [{ call: 'desk__echo', arguments: '{}' }], finish: 'tool_calls' },
    );
    const said = 'x'.repeat(3 * 2 ** 20);
    const send = (choice: string) =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          'x-gateway-hosted-tools': choice,
        },
        body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: said }], tools: [desk()] }),
      });
    const before = called();
    const answer = (await (await send('gateway')).json()) as OpenAI.ChatCompletion;
    expect(answer.choices[0]!.message.content).toBe('done');
    expect(called()).toBe(before + 1);
    expect(provider.requests.at(-1)!.messages[0]!.content).toBe(said);
    const wrong = await send('ours');
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining('must be gateway or provider')]);
    provider.stop();
  });

  test('the model is told of all it did; a call of the client beside one of ours is left for the client', async () => {
    const own = { type: 'function' as const, function: { name: 'mine', parameters: { type: 'object' } } };
    const { provider, key } = await scripted((_, number) => {
      const both = [
        { call: 'desk__echo', arguments: '{"n":3}', id: 'c3' },
        { call: 'mine', arguments: '{"m":1}', id: 'c4' },
      ];
      const first = [
        { text: 'Let me look.' },
        { call: 'desk__echo', arguments: '{"n":1}', id: 'c1' },
        { call: 'desk__erase', arguments: 'no json', id: 'c2' },
      ];
      return number % 2 === 1 ? { parts: first, finish: 'tool_calls' } : { parts: both, finish: 'tool_calls' };
    });
    const before = called();
    for (const isStream of [false, true]) {
      const choices = isStream
        ? (await streamed(key, { tools: [own, desk()] })).flatMap((chunk) => chunk.choices)
        : (await ask(key, { tools: [own, desk()] })).choices;
      const said = choices.map((each) => ('delta' in each ? each.delta : each.message));
      expect(said.map(({ content }) => content ?? '').join('')).toBe('Let me look.');
      const calls = said.flatMap(({ tool_calls }) => (tool_calls ?? []) as { function: { name?: string } }[]);
      expect(calls.flatMap((call) => call.function.name ?? [])).toEqual(['mine']);
      expect(choices.at(-1)!.finish_reason).toBe('tool_calls');
    }
    expect(called()).toBe(before + 2);
    expect(provider.requests[0]!.tools.map((tool: { function: { name: string } }) => tool.function.name)).toEqual([
      ...['mine', 'desk__echo', 'desk__erase'],
    ]);
    for (const { messages } of [provider.requests[1]!, provider.requests[3]!])
      expect(messages.slice(1)).toMatchObject([
        { role: 'assistant', content: 'Let me look.', tool_calls: [{ id: 'c1' }, { id: 'c2' }] },
        { role: 'tool', tool_call_id: 'c1', content: 'echo {"n":1}' },
        { role: 'tool', tool_call_id: 'c2', content: expect.stringContaining('no JSON object') },
      ]);
    provider.stop();
  });

  test('a model that never stops is made to answer, and a forced tool is forced once', async () => {
    const { provider, key } = await scripted(({ tool_choice }) =>
      tool_choice === 'none'
        ? { parts: [{ text: 'done' }] }
        : { parts: [{ call: 'desk__echo', arguments: '{}' }], finish: 'tool_calls' },
    );
    const tool_choice = { type: 'mcp', server_label: 'desk', name: 'echo' };
    const answer = await ask(key, { tool_choice });
    expect(answer.choices[0]!.message.content).toBe('done');
    const choices = provider.requests.map((request) => request.tool_choice);
    expect([choices.length, choices[0], choices[1], choices[15]]).toEqual([
      ...[16, { type: 'function', function: { name: 'desk__echo' } }, 'auto', 'none'],
    ]);
    provider.stop();
  });

  test('a round that fails later is told as it failed, whole and in a stream', async () => {
    const { provider, key } = await scripted((_, number) =>
      number % 2 === 1
        ? { parts: [{ call: 'desk__echo', arguments: '{}' }], finish: 'tool_calls' }
        : { status: 400, error: { message: 'too long', code: 'context_length_exceeded' } },
    );
    const failed = await ask(key).catch((error) => error);
    expect([failed.status, failed.message]).toEqual([400, expect.stringContaining('too long')]);
    const cut = await streamed(key).catch((error) => error);
    expect(String(cut)).toContain('too long');
    provider.stop();
  });

  test('a client that leaves ends the work, and the session with the server', async () => {
    const { provider, key } = await scripted(() => ({
      parts: [{ call: 'desk__echo', arguments: '{}' }],
      finish: 'tool_calls',
      chunkDelayMs: 50,
    }));
    const controller = new AbortController();
    const stream = await openaiClient(gateway.url, key)
      .chat.completions.create(
        { model: 'any', messages: [{ role: 'user', content: 'go' }], tools: [desk()], stream: true },
        { signal: controller.signal },
      )
      .catch(() => null);
    await eventually('a round was asked', () => provider.requests.length >= 1);
    controller.abort();
    for await (const _ of stream ?? []);
    await eventually('the session with the server is over', () => server.sessions.size === 0);
    const asked = provider.requests.length;
    expect(asked).toBeLessThan(16);
    provider.stop();
  });

  test('a server is found that is named in escapes', async () => {
    const before = called();
    const said = { model: 'any', messages: [{ role: 'user', content: ASKS }], tools: [desk()] };
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-api-key': keys.chat },
      body: JSON.stringify(said).replace('"mcp"', '"\\u006d\\u0063p"'),
    });
    expect(answer.status).toBe(200);
    expect(called()).toBe(before + 1);
  });

  test('what cannot be done is refused in words', async () => {
    const fault = (tool: object, more = {}) =>
      ask(keys.chat, { tools: [tool], ...more }).then(
        () => 'answered',
        (error) => `${error.status} ${error.param ?? error.code}`,
      );
    expect(await fault(desk({ server_label: 'unknown' }))).toBe('404 mcp_server_not_found');
    expect(await fault(desk({ require_approval: undefined }))).toBe('400 tools[0].require_approval');
    expect(await fault(desk({ require_approval: 'always' }))).toBe('400 tools[0].require_approval');
    expect(await fault(desk({ authorization: 'x' }))).toBe('400 tools[0].authorization');
    expect(await fault(desk(), { n: 2 })).toBe('400 n');
    const twin = { type: 'function', function: { name: 'desk__echo', parameters: {} } };
    expect(await fault(twin, { tools: [twin, desk()] })).toBe('400 tools[0].name');
    const { id } = await gateway.given.workspace({ name: 'Elsewhere' });
    const { key } = await gateway.given.apiKey({ workspace_id: id });
    const foreign = await ask(key).catch((error) => error);
    expect(foreign).toMatchObject({ status: 404, code: 'mcp_server_not_found' });
    const narrow = await gateway.given.apiKey({ defaults: { virtual_key: 'chat' }, scopes: ['completions.write'] });
    expect(await ask(narrow.key).catch((error) => error)).toMatchObject({ status: 403 });
  });
});

test('rounds and calls of the server stand in the log under one trace and one session, and limits of the server hold', async () => {
  const trace = `plain-${crypto.randomUUID()}`;
  const tools = [{ type: 'mcp', server_label: 'desk', require_approval: 'never' }];
  const body = { model: 'any', messages: [{ role: 'user', content: ASKS }], tools };
  const headers = { 'x-gateway-trace-id': trace, 'x-gateway-session-id': trace };
  const reply = await gateway.api.post('/v1/chat/completions', body, { key: keys.chat, headers });
  expect(reply.status).toBe(200);
  let rows: { path: string; session_id: string; model: string | null }[] = [];
  await eventually('all is in the log', async () => {
    rows = (await gateway.api.get(`/v1/logs?trace_id=${trace}`)).json.data;
    return rows.filter(({ path }) => path === '/desk/mcp').length >= 4 && rows.length >= 7;
  });
  expect(rows.filter(({ path }) => path === '/v1/chat/completions')).toHaveLength(3);
  expect(rows.some(({ model, path }) => path === '/desk/mcp' && model === 'echo')).toBe(true);

  const rate_limits = [{ type: 'requests', unit: 'rpd', value: 1, tool: 'echo' }];
  const made = { name: 'Few', slug: 'few-desk', url: server.url, configurations: { rate_limits } };
  expect((await gateway.api.post('/v1/mcp-servers', made)).status).toBe(200);
  const limited = [{ type: 'mcp', server_label: 'few-desk', require_approval: 'never' }];
  const messages = [{ role: 'user', content: 'call few-desk__echo {"a":1}' }];
  const send = () =>
    gateway.api.post('/v1/chat/completions', { ...body, messages, tools: limited }, { key: keys.chat });
  expect((await send()).json.choices[0].message.content).toContain('echo');
  // The model is told, and goes on without.
  expect((await send()).json.choices[0].message.content).toMatch(/limit/i);
});

test('a batch asks again where it fails, so that it calls no tools; a person who has signed in does', async () => {
  const body = {
    ...{ model: 'any', messages: [{ role: 'user', content: ASKS }] },
    tools: [{ type: 'mcp', server_label: 'desk', require_approval: 'never' }],
  };
  const before = called();
  const openai = openaiClient(gateway.url, keys.chat);
  const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body });
  const file = await openai.files.create({ file: new File([line], 'lines.jsonl'), purpose: 'batch' });
  const asked = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  const { id } = await openai.batches.create(asked);
  await eventually('the batch is done', async () => (await openai.batches.retrieve(id)).status === 'completed');
  const { error_file_id: errors } = await openai.batches.retrieve(id);
  expect(await (await openai.files.content(errors!)).text()).toContain('goes with calls of clients only');
  expect(called()).toBe(before);

  const { browser } = await givenBrowser(gateway, { role: 'admin' });
  const reply = await browser.call('POST', '/v1/chat/completions', body, { 'x-gateway-virtual-key': 'chat' });
  expect([reply.status, reply.json.choices?.[0].message.content]).toEqual([200, expect.stringContaining('echo')]);
  expect(called()).toBe(before + 1);
});

describe('messages', () => {
  const desk = (more = {}) => ({ type: 'mcp_toolset', mcp_server_name: 'desk', ...more });
  const request = (more = {}, content: unknown = ASKS) =>
    ({
      ...{ model: 'any', max_tokens: 500, messages: [{ role: 'user', content }], tools: [desk()] },
      ...more,
    }) as unknown as Anthropic.MessageCreateParamsNonStreaming;
  const ask = (key: string, more = {}, content: unknown = ASKS) =>
    anthropicClient(gateway.url, key).messages.create(request(more, content));
  const ran = [
    { type: 'mcp_tool_use', name: 'echo', server_name: 'desk', input: { a: 1 } },
    { type: 'mcp_tool_result', is_error: false, content: [{ type: 'text', text: 'echo {"a":1}' }] },
    { type: 'text' },
  ];

  for (const format of FORMATS)
    test(`a model that speaks ${format} uses a server, whole and streamed, and goes on from there`, async () => {
      const answer = await ask(keys[format]);
      expect(answer).toMatchObject({ type: 'message', stop_reason: 'end_turn' });
      expect(answer.content.filter(({ type }) => (type as string) !== 'thinking')).toMatchObject(ran as object[]);
      const stream = anthropicClient(gateway.url, keys[format]).beta.messages.stream(request());
      const events: Anthropic.Beta.BetaRawMessageStreamEvent[] = [];
      for await (const event of stream) events.push(event);
      const final = await stream.finalMessage();
      expect(final.content).toMatchObject(ran as object[]);
      const texts = ({ content }: { content: object[] }) => content.map((block) => ('text' in block ? block.text : ''));
      expect(texts(final).join('')).toBe(texts(answer).join(''));
      expect(final.stop_reason).toBe('end_turn');
      const started = events.flatMap((event) => (event.type === 'content_block_start' ? [event.index] : []));
      expect(started).toEqual(started.map((_, index) => index));
      expect(events.filter(({ type }) => type === 'message_start').length).toBe(1);
      expect(answer.usage.output_tokens).toBe(final.usage.output_tokens);
      expect(answer.usage.input_tokens).toBeGreaterThan(0);
      const later = await anthropicClient(gateway.url, keys[format]).messages.create({
        ...request(),
        messages: [
          { role: 'user', content: ASKS },
          { role: 'assistant', content: answer.content as Anthropic.ContentBlockParam[] },
          { role: 'user', content: 'Thank you' },
        ],
      });
      expect(later.content.at(-1)).toMatchObject({ type: 'text' });
      expect(server.sessions.size).toBe(0);
    });

  test('tools are switched on and off by the request, a server may stand in mcp_servers, faults are named', async () => {
    const { provider, key } = await scripted(() => ({ parts: [{ text: 'no tools today' }] }));
    const names = () =>
      (provider.requests.at(-1)!.tools ?? []).map((tool: { function: { name: string } }) => tool.function.name);
    const mcp_servers = [{ type: 'url', name: 'desk' }];
    await ask(key, { mcp_servers, tools: [desk({ configs: { erase: { enabled: false } } })] });
    expect(names()).toEqual(['desk__echo']);
    expect(provider.requests.at(-1)!.mcp_servers).toBeUndefined();
    await ask(key, { tools: [desk({ default_config: { enabled: false }, configs: { erase: { enabled: true } } })] });
    expect(names()).toEqual(['desk__erase']);
    provider.stop();
    const fault = (more: object) =>
      ask(keys.chat, more).then(
        () => 'answered',
        (error) => `${error.status} ${error.error?.error?.message}`,
      );
    expect(await fault({ tools: [desk({ mcp_server_name: 'unknown' })] })).toMatch(/^404 No MCP server unknown/);
    expect(await fault({ tools: [desk({ defaults: {} })] })).toMatch(/^400 tools\[0\]\.defaults/);
    expect(await fault({ tools: [desk({ configs: [] })] })).toMatch(/^400 tools\[0\]\.configs/);
    const withToken = [{ type: 'url', name: 'desk', authorization_token: 'x' }];
    expect(await fault({ mcp_servers: withToken })).toMatch(/^400 mcp_servers\[0\]\.authorization_token/);
  });
});
