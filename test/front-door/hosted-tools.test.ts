import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import type OpenAI7 from 'openai-7';
import { objectIdAt } from '../../src/core/object-ids.ts';
import { ATLAS, COOKING, storeWith } from '../assistants/file-stories.ts';
import { type ChatRequest, type ScriptedAnswer, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { type SmallServer, startSmallServer } from '../mcp/small-server.ts';
import { eventually } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

const ASKS = 'call file_search {"queries":["capital of Atlantis"]}';
/** Formats that a provider speaks; `responses` is the vendor's own, which knows tools of this kind itself. */
const FORMATS = ['chat', 'anthropic', 'gemini', 'responses'] as const;

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`on ${engine}`, () => {
    let gateway: TestGateway;
    const clients = {} as Record<(typeof FORMATS)[number], OpenAI>;
    let openai: OpenAI;
    let storeId: string;
    let fileId: string;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      const { given, provider, url } = gateway;
      const format = async (slug: (typeof FORMATS)[number], name: string, custom_host: string, key = 'simulated') => {
        await given.virtualKey({ slug, provider: name, key, custom_host });
        const made = await given.apiKey({ defaults: { virtual_key: slug } });
        clients[slug] = openaiClient(url, made.key);
        return made.key as string;
      };
      const chat = await format('chat', 'groq', provider.url);
      await format('anthropic', 'anthropic', provider.url);
      await format('gemini', 'google', `${provider.origin}/v1beta`);
      // The gateway itself, as a provider that has the Responses API.
      await format('responses', 'openai', `${url}/v1`, chat);
      openai = clients.chat;
      const { store, ids } = await storeWith(openai, { 'atlas.txt': ATLAS, 'cooking.md': COOKING });
      storeId = store.id;
      fileId = ids['atlas.txt']!;
    });
    afterAll(() => gateway.stop());
    const fileSearch = () => ({ type: 'file_search' as const, vector_store_ids: [storeId] });

    /** A model that says what it is told to, for the vendor's client. */
    async function scripted(script: (request: ChatRequest, number: number) => ScriptedAnswer) {
      const provider = startScriptedProvider((request, number) => ({
        ...script(request, number),
        isWhole: request.stream !== true,
      }));
      const slug = `scripted-${crypto.randomUUID().slice(0, 8)}`;
      await gateway.given.virtualKey({ slug, provider: 'groq', key: 'k', custom_host: provider.url });
      const { key } = await gateway.given.apiKey({ defaults: { virtual_key: slug } });
      return { provider, client: openaiClient(gateway.url, key), slug };
    }

    for (const name of FORMATS)
      test(`a model that speaks ${name} searches our stores, cites what it found, and goes on from there`, async () => {
        const client = clients[name];
        const made = await client.responses.create({ model: 'any', input: ASKS, tools: [fileSearch()] });
        expect(made).toMatchObject({
          object: 'response',
          status: 'completed',
          store: true,
          tools: [fileSearch()],
          output: [
            { type: 'file_search_call', status: 'completed', queries: ['capital of Atlantis'], results: null },
            { type: 'message', role: 'assistant', status: 'completed' },
          ],
        });
        expect(made.output_text).toContain('atlas.txt');
        expect(made.output_text).not.toContain('【');
        const [, message] = made.output as [unknown, OpenAI.Responses.ResponseOutputMessage];
        const [text] = message.content as [OpenAI.Responses.ResponseOutputText];
        const [citation] = text.annotations as [OpenAI.Responses.ResponseOutputText.FileCitation];
        expect(citation).toMatchObject({ type: 'file_citation', file_id: fileId, filename: 'atlas.txt' });
        expect(text.text.slice(citation.index)).toMatch(/^ \\?"atlas/);
        const plain = await client.responses.create({ model: 'any', input: ASKS });
        expect(made.usage!.total_tokens).toBeGreaterThan(plain.usage!.total_tokens);

        const kept = await openai.responses.retrieve(made.id, { include: ['file_search_call.results'] });
        expect(kept.output[0]).toMatchObject({ results: [{ file_id: fileId, filename: 'atlas.txt', text: ATLAS }] });
        expect((await openai.responses.retrieve(made.id)).output[0]).toMatchObject({ results: null });
        const later = { model: 'any', input: 'Thank you', previous_response_id: made.id };
        expect(await client.responses.create(later)).toMatchObject({
          previous_response_id: made.id,
          status: 'completed',
        });
      });

    test('a stream has the events of the vendor, in order, and its pieces make the whole', async () => {
      for (const name of FORMATS) {
        const client = clients[name];
        const stream = await client.responses.create({
          ...{ model: 'any', input: ASKS, tools: [fileSearch()], stream: true },
          include: ['file_search_call.results'],
        });
        const events: OpenAI.Responses.ResponseStreamEvent[] = [];
        for await (const event of stream) events.push(event);
        expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
        const types = events.map(({ type }) => type);
        expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
          'response.created',
          'response.in_progress',
          'response.output_item.added',
          'response.file_search_call.in_progress',
          'response.file_search_call.searching',
          'response.file_search_call.completed',
          'response.output_item.done',
          'response.output_item.added',
          'response.content_part.added',
          'response.output_text.delta',
          'response.output_text.annotation.added',
          'response.output_text.delta',
          'response.output_text.done',
          'response.content_part.done',
          'response.output_item.done',
          'response.completed',
        ]);
        const pieces = events.flatMap((event) => (event.type === 'response.output_text.delta' ? event.delta : ''));
        const last = events.at(-1) as unknown as OpenAI7.Responses.ResponseCompletedEvent;
        const [search, message] = last.response.output as [
          OpenAI7.Responses.ResponseFileSearchToolCall,
          OpenAI7.Responses.ResponseOutputMessage,
        ];
        expect(search.results![0]).toMatchObject({ filename: 'atlas.txt', text: ATLAS });
        expect(message.content[0]).toMatchObject({ type: 'output_text', text: pieces.join('') });
        const ids = events.flatMap((event) => ('response' in event ? event.response.id : []));
        expect(new Set(ids).size).toBe(1);
        expect((await openai.responses.retrieve(ids[0]!)).output).toHaveLength(2);
      }
    });

    test('each round is a call like any other: logged with what it took, and guarded', async () => {
      const { client, slug } = await scripted(({ messages }) =>
        messages.at(-1).role === 'tool'
          ? { parts: [{ text: 'It is Poseidonis.' }] }
          : { parts: [{ call: 'file_search', arguments: '{"queries":["capital"]}' }] },
      );
      const ask = () => client.responses.create({ model: 'm', input: 'Which city?', tools: [fileSearch()] });
      const made = await ask();
      expect(made.usage).toMatchObject({ input_tokens: 20, output_tokens: 10, total_tokens: 30 });
      const rounds = async () => {
        const { data } = (await gateway.api.get('/v1/logs?limit=50')).json as { data: Record<string, unknown>[] };
        return data.filter(({ virtual_key }) => virtual_key === slug);
      };
      await eventually('both rounds are in the log', async () => (await rounds()).length === 2);
      const traces = (await rounds()).map(({ trace_id }) => trace_id);
      expect(new Set(traces).size).toBe(1);

      const words = { words: ['Poseidonis'], operator: 'none' };
      const config = {
        virtual_key: slug,
        output_guardrails: [{ id: 'no-city', deny: true, 'default.contains': words }],
      };
      const guarded = await gateway.api.post(
        '/v1/responses',
        { model: 'm', input: 'Which city?', tools: [fileSearch()] },
        { headers: { 'x-gateway-config': JSON.stringify(config) } },
      );
      expect(guarded.status).toBe(446);
    });

    test('what the client has to answer ends the response, and its answer goes on', async () => {
      const weather = { type: 'function' as const, name: 'weather', parameters: {}, strict: false };
      const { client, provider } = await scripted((_, number) =>
        number === 1
          ? {
              parts: [
                { call: 'weather', arguments: '{}', id: 'call_w' },
                { call: 'file_search', arguments: '{"queries":["harbour"]}', id: 'call_f' },
              ],
            }
          : { parts: [{ text: 'Sunny at the harbour.' }] },
      );
      const tools = [weather, fileSearch()];
      const made = await client.responses.create({ model: 'm', input: 'Go?', tools });
      expect(made.output.map(({ type }) => type)).toEqual(['function_call', 'file_search_call']);
      const next = await client.responses.create({
        ...{ model: 'm', tools, previous_response_id: made.id },
        input: [{ type: 'function_call_output', call_id: 'call_w', output: 'sunny' }],
      });
      expect(next.output_text).toBe('Sunny at the harbour.');
      const roles = provider.requests[1]!.messages.map(({ role }) => role);
      expect(roles).toEqual(['user', 'assistant', 'tool', 'tool']);
      expect(JSON.stringify(provider.requests[1]!.messages)).toContain('Poseidonis');
    });

    test('a model that never stops calling is stopped, and so is one that was allowed less', async () => {
      const calling = ({ tool_choice }: ChatRequest): ScriptedAnswer =>
        tool_choice === 'none'
          ? { parts: [{ text: 'Enough.' }] }
          : { parts: [{ call: 'file_search', arguments: '{"queries":["more"]}' }] };
      const { client, provider } = await scripted(calling);
      const body = { model: 'm', input: 'Go', tools: [fileSearch()] };
      const made = await client.responses.create({ ...body, tool_choice: { type: 'file_search' } });
      expect(made.output_text).toBe('Enough.');
      expect(provider.requests).toHaveLength(16);
      expect(provider.requests[0]!.tool_choice).toEqual({ type: 'function', function: { name: 'file_search' } });
      expect(provider.requests[1]!.tool_choice ?? 'auto').toBe('auto');
      const fewer = await client.responses.create({ ...body, max_tool_calls: 2 } as typeof body);
      expect(fewer.output.map(({ type }) => type)).toEqual(['file_search_call', 'file_search_call', 'message']);
    });

    test('a round that fails later fails the response, in words of the client', async () => {
      const { client } = await scripted((_, number) =>
        number % 2 === 1
          ? { parts: [{ call: 'file_search', arguments: 'no JSON' }] }
          : { status: 429, error: { message: 'Too fast.' } },
      );
      const body = { model: 'm', input: 'Go', tools: [fileSearch()] };
      const fault = await client.responses.create(body).catch((error) => error);
      expect(fault).toMatchObject({ status: 429 });
      const events: OpenAI.Responses.ResponseStreamEvent[] = [];
      for await (const event of await client.responses.create({ ...body, stream: true })) events.push(event);
      expect(events.at(-1)).toMatchObject({
        type: 'response.failed',
        response: { status: 'failed', error: { code: 'rate_limit_exceeded' }, output: [{ type: 'file_search_call' }] },
      });
    });

    test('a tool that cannot be run is refused by its name and place', async () => {
      const faultOf = async (tool: object, headers = {}) => {
        const body = { model: 'm', input: 'Go', tools: [tool] };
        const reply = await gateway.api.post('/v1/responses', body, {
          headers: { 'x-gateway-virtual-key': 'chat', ...headers },
        });
        return { status: reply.status, param: reply.json.error?.param, message: String(reply.json.error?.message) };
      };
      const gatewayOnly = { 'x-gateway-hosted-tools': 'gateway' };
      expect((await faultOf({ type: 'file_search', vector_store_ids: ['vs_1'] })).message).toContain('file_search');
      expect(await faultOf({ type: 'file_search', vector_store_ids: ['vs_1'] }, gatewayOnly)).toMatchObject({
        status: 404,
        message: "No vector store found with id 'vs_1'.",
      });
      expect(await faultOf({ type: 'file_search' })).toMatchObject({ status: 400, param: 'tools[0].vector_store_ids' });
      expect(await faultOf({ ...fileSearch(), max_num_results: 51 })).toMatchObject({
        status: 400,
        param: 'tools[0].max_num_results',
      });
      expect(await faultOf({ ...fileSearch(), filters: { type: 'eq' } })).toMatchObject({
        status: 400,
        param: 'tools[0].filters.key',
      });
      expect(await faultOf(fileSearch(), { 'x-gateway-hosted-tools': 'x' })).toMatchObject({ status: 400 });
      expect(await faultOf(fileSearch(), { 'x-gateway-hosted-tools': 'provider' })).toMatchObject({ status: 400 });
      const { id: workspace_id } = await gateway.given.workspace();
      const { key } = await gateway.given.apiKey({ workspace_id });
      const foreign = await faultOf(fileSearch(), { ...gatewayOnly, 'x-gateway-api-key': key as string });
      expect(foreign).toMatchObject({ status: 404 });
    });

    describe('MCP servers', () => {
      const servers = {} as Record<'older' | 'newer', SmallServer>;
      const mcp = (era: string, more = {}) => ({ type: 'mcp' as const, server_label: `${era}-tools`, ...more });
      const types = ({ output }: OpenAI.Responses.Response) => output.map(({ type }) => type);
      beforeAll(async () => {
        for (const era of ['older', 'newer'] as const) {
          servers[era] = startSmallServer({ era, tools: ['echo', 'erase', 'hidden'], pageSize: 2 });
          const slug = `${era}-tools`;
          const made = await gateway.api.post('/v1/mcp-servers', {
            name: slug,
            slug,
            url: servers[era].url,
          });
          expect(made.text).toContain(slug);
          const off = { capabilities: [{ type: 'tool', name: 'hidden', enabled: false }] };
          expect((await gateway.api.put(`/v1/mcp-servers/${slug}/capabilities`, off)).status).toBe(200);
        }
      });
      afterAll(() => {
        for (const { stop } of Object.values(servers)) stop();
      });

      test('are used by their label on any model, in the name of the caller and within the policy', async () => {
        for (const name of FORMATS)
          for (const era of ['older', 'newer'] as const) {
            const made = await clients[name].responses.create({
              ...{ model: 'any', input: `call ${era}-tools__echo {"a":1}` },
              tools: [mcp(era, { require_approval: 'never' })],
            });
            expect(made.output).toMatchObject([
              { type: 'mcp_list_tools', server_label: `${era}-tools`, tools: [{ name: 'echo' }, { name: 'erase' }] },
              {
                ...{ type: 'mcp_call', name: 'echo', server_label: `${era}-tools`, status: 'completed' },
                ...{ arguments: '{"a":1}', output: 'echo {"a":1}', error: null },
              },
              { type: 'message' },
            ]);
            expect(servers[era].sessions.size).toBe(0);
          }
      });

      test('wait for a person by default; what was allowed is done once, what was refused never', async () => {
        const ask = (input: unknown, more = {}) =>
          openai.responses.create({ model: 'any', input: input as string, tools: [mcp('older')], ...more });
        const erased = () => servers.older.heard.filter((said) => said.endsWith('erase')).length;
        const before = erased();
        const asked = await ask('call older-tools__erase {"all":true}');
        expect(types(asked)).toEqual(['mcp_list_tools', 'mcp_approval_request']);
        const request = asked.output[1] as OpenAI.Responses.ResponseOutputItem.McpApprovalRequest;
        expect(request).toMatchObject({ name: 'erase', server_label: 'older-tools', arguments: '{"all":true}' });
        const say = (approve: boolean, approval_request_id = request.id) => [
          { type: 'mcp_approval_response', approval_request_id, approve },
        ];
        const refused = await ask(say(false), { previous_response_id: asked.id });
        expect(types(refused)).toEqual(['message']);
        expect(refused.output_text).toContain('did not allow');
        expect(erased()).toBe(before);
        const done = await ask(say(true), { previous_response_id: asked.id });
        expect(types(done)).toEqual(['mcp_call', 'message']);
        expect(done.output[0]).toMatchObject({ approval_request_id: request.id, output: 'erase {"all":true}' });
        expect(erased()).toBe(before + 1);
        const again = await ask(say(true), { previous_response_id: done.id }).catch((error) => error);
        expect(again).toMatchObject({ status: 400, param: 'input[0].approval_request_id' });
        const unknown = await ask(say(true, 'mcpr_none'), { previous_response_id: done.id }).catch((error) => error);
        expect(unknown).toMatchObject({ status: 400, param: 'input[0].approval_request_id' });
        const old = objectIdAt('mcpApproval', Date.now() - 31 * 86_400_000, 0);
        const late = await ask([{ ...request, id: old }, ...say(true, old)]).catch((error) => error);
        expect(late).toMatchObject({ status: 400, param: 'input[1].approval_request_id' });
        expect(late.message).toContain('30 days ago');
        expect(erased()).toBe(before + 1);
        const rules = { require_approval: { never: { tool_names: ['echo'] } }, allowed_tools: ['echo'] };
        const allowed = await ask('call older-tools__echo {}', { tools: [mcp('older', rules)] });
        expect(types(allowed)).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
        expect(allowed.output[0]).toMatchObject({ tools: [{ name: 'echo' }] });
      });

      test('have the events of the vendor', async () => {
        const stream = await openai.responses.create({
          ...{ model: 'any', input: 'call newer-tools__echo {"b":2}', stream: true },
          tools: [mcp('newer', { require_approval: 'never' })],
        });
        const events: OpenAI.Responses.ResponseStreamEvent[] = [];
        for await (const event of stream) events.push(event);
        expect(events.map(({ type }) => type).slice(2, 13)).toEqual([
          'response.output_item.added',
          'response.mcp_list_tools.in_progress',
          'response.mcp_list_tools.completed',
          'response.output_item.done',
          'response.output_item.added',
          'response.mcp_call.in_progress',
          'response.mcp_call_arguments.delta',
          'response.mcp_call_arguments.done',
          'response.mcp_call.completed',
          'response.output_item.done',
          'response.output_item.added',
        ]);
        expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { output: { length: 3 } } });
      });

      test("that are not known, not the caller's, or away are refused in words", async () => {
        const faultOf = (tool: object) =>
          openai.responses.create({ model: 'any', input: 'Go', tools: [tool as ReturnType<typeof mcp>] }).then(
            (made) => made.status,
            (error) => `${error.status} ${error.param ?? ''}`,
          );
        expect(await faultOf(mcp('unknown'))).toBe('400 tools[0]');
        expect(await faultOf(mcp('older', { server_url: 'https://example.com/mcp' }))).toBe('400 tools[0]');
        expect(await faultOf(mcp('older', { authorization: 'x' }))).toBe('400 tools[0].authorization');
        expect(await faultOf(mcp('older', { require_approval: 'often' }))).toBe('400 tools[0].require_approval');
        const { key } = await gateway.given.apiKey({
          defaults: { virtual_key: 'chat' },
          scopes: ['completions.write'],
        });
        const narrow = openaiClient(gateway.url, key as string);
        const denied = await narrow.responses
          .create({ model: 'any', input: 'Go', tools: [mcp('older')] })
          .catch((error) => error);
        expect(denied).toMatchObject({ status: 403 });
        servers.newer.stop();
        expect(await faultOf(mcp('newer'))).toMatch(/^(424|502|504) /);
      });
    });
  });
