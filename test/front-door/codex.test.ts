import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createSimulator } from '../../simulator/simulator.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';

/**
 * What Codex sends (recorded from version 0.166.0, trimmed) on models that know functions only: tools in a namespace, custom
 * tools, its shell, and tools that run at OpenAI.
 */
let gateway: TestGateway;
let provider: ReturnType<typeof serve>;
/** The bodies that reached the provider. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
const sent: any[] = [];

beforeAll(async () => {
  gateway = await startGateway();
  const { simulate } = createSimulator();
  provider = serve(async (request) => {
    sent.push(await request.clone().json());
    return simulate(request);
  });
  for (const name of ['groq', 'anthropic', 'google'])
    await gateway.given.virtualKey({
      slug: name,
      provider: name,
      custom_host: `${provider.origin}/${name === 'google' ? 'v1beta' : 'v1'}`,
    });
});
afterAll(async () => {
  provider.stop();
  await gateway.stop();
});

const exec = {
  type: 'function',
  name: 'exec_command',
  description: 'Runs a command in a PTY.',
  strict: false,
  parameters: { type: 'object', properties: { cmd: { type: 'string' } }, required: ['cmd'] },
};
const agents = {
  type: 'namespace',
  name: 'multi_agent_v1',
  description: 'Tools for spawning and managing sub-agents.',
  tools: [{ ...exec, name: 'close_agent', parameters: { type: 'object', properties: { target: { type: 'string' } } } }],
};
const patch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "*** Begin Patch"' },
};
const search = { type: 'web_search', external_web_access: true };

const ask = (slug: string, text: string, more: object = {}) =>
  gateway.api.post(
    '/v1/responses',
    {
      model: 'any-model',
      stream: false,
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
      tools: [exec, agents, patch, { type: 'local_shell' }, search],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      reasoning: { summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      client_metadata: { session_id: 's' },
      ...more,
    },
    { headers: { 'x-gateway-virtual-key': slug } },
  );

/** The items of the last event of a stream, which are those of the events before it. */
function itemsIn(text: string) {
  const events = text.split('\n\n').flatMap((event) => {
    const data = event.split('\n').find((line) => line.startsWith('data: '));
    return data ? [JSON.parse(data.slice(6))] : [];
  });
  const { output } = events.at(-1).response;
  expect(events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)).toEqual(output);
  return output;
}

for (const slug of ['groq', 'anthropic', 'google']) {
  describe(`Codex on ${slug}`, () => {
    const both = async (text: string) => {
      const whole = await ask(slug, text);
      expect([whole.status, whole.text]).toEqual([200, expect.any(String)]);
      const streamed = await ask(slug, text, { stream: true });
      return [whole.json.output, itemsIn(streamed.text)].map((output) => output.at(-1));
    };

    test('a call of a tool in a namespace comes back with its namespace', async () => {
      for (const item of await both('call multi_agent_v1__close_agent {"target":"abc"}'))
        expect(item).toMatchObject({ type: 'function_call', name: 'close_agent', namespace: 'multi_agent_v1' });
    });

    test('a custom tool is called with its free text', async () => {
      for (const item of await both('call apply_patch {"input":"*** Begin Patch\\n+ \\"a\\""}'))
        expect(item).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin Patch\n+ "a"' });
    });

    test('the shell is called as a shell', async () => {
      for (const item of await both('call local_shell {"command":["ls","-l"]}')) {
        const action = { type: 'exec', command: ['ls', '-l'], timeout_ms: null, working_directory: null };
        expect(item).toMatchObject({ type: 'local_shell_call', status: 'completed', action });
      }
    });

    test('a tool that runs at OpenAI is left out, and the answer says so', async () => {
      const reply = await ask(slug, 'Hello');
      expect(reply.headers.get('x-gateway-dropped')).toContain('tools[4] (web_search)');
      expect(reply.headers.get('x-gateway-changed')).toContain('tools[1] (its tools as functions)');
      expect(JSON.stringify(sent.at(-1))).not.toContain('web_search');
      expect(reply.json.tools.map(({ type }: { type: string }) => type)).toEqual([
        'function',
        'namespace',
        'custom',
        'local_shell',
        'web_search',
      ]);
    });

    test('earlier calls go back under the names that the model knows', async () => {
      const input = [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on' }] },
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } },
        { type: 'function_call', call_id: 'c1', namespace: 'multi_agent_v1', name: 'close_agent', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'closed' },
        { type: 'custom_tool_call', call_id: 'c2', name: 'apply_patch', input: 'a "b"' },
        { type: 'custom_tool_call_output', call_id: 'c2', output: 'patched' },
        { type: 'local_shell_call', call_id: 'c3', status: 'completed', action: { type: 'exec', command: ['ls'] } },
        { type: 'local_shell_call_output', call_id: 'c3', output: 'a.txt' },
      ];
      const reply = await ask(slug, '', { input });
      expect([reply.status, reply.json.output?.[0].content[0].text]).toEqual([200, expect.stringContaining('a.txt')]);
      const said = JSON.stringify(sent.at(-1)).replaceAll('\\', '');
      for (const part of [
        '"multi_agent_v1__close_agent"',
        '{"input":"a "b""}',
        '{"command":["ls"]}',
        'closed',
        'patched',
      ])
        expect(said).toContain(part);
      expect(reply.headers.get('x-gateway-dropped')).toContain('input[1] (web_search_call)');
    });
  });
}

test('custom tools of a chat client are functions, too', async () => {
  const custom = { type: 'custom', custom: { name: 'apply_patch', description: 'Edits files.' } };
  const messages = [{ role: 'user', content: 'call apply_patch {"input":"free text"}' }];
  const body = { model: 'any-model', messages, tools: [custom], max_tokens: 99 };
  const headers = { 'x-gateway-virtual-key': 'anthropic' };
  const [call] = (await gateway.api.post('/v1/chat/completions', body, { headers })).json.choices[0].message.tool_calls;
  expect(call).toMatchObject({ type: 'custom', custom: { name: 'apply_patch', input: 'free text' } });
});

test('two tools that would be one function are refused, and so is a choice that leaves no tool', async () => {
  const twice = await ask('groq', 'Hello', { tools: [{ ...exec, name: 'multi_agent_v1__close_agent' }, agents] });
  expect([twice.status, twice.json.error.param]).toEqual([400, 'tools[1].tools[0].name']);
  const none = await ask('groq', 'Hello', { tools: [search], tool_choice: 'required' });
  expect([none.status, none.json.error.param]).toEqual([400, 'tool_choice']);
});

test('names that providers do not take are shortened, and come back whole', async () => {
  const namespace = `mcp__${'a'.repeat(60)}__`;
  const tools = [{ ...agents, name: namespace, tools: [{ ...exec, name: 'read.file' }] }];
  const first = await ask('groq', 'Hello', { tools });
  expect(first.status).toBe(200);
  const { name } = sent.at(-1).tools[0].function;
  expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  const [item] = (await ask('groq', `call ${name} {"cmd":"x"}`, { tools })).json.output;
  expect(item).toMatchObject({ type: 'function_call', name: 'read.file', namespace });
});
