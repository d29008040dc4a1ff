import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { ATLAS, storeWith } from '../assistants/file-stories.ts';
import { type ChatRequest, type ScriptedAnswer, startScriptedProvider } from '../assistants/scripted-provider.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { type SmallServer, startSmallServer } from '../mcp/small-server.ts';
import { eventually } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';
import { managedState, query } from '../state-tables.ts';

type Event = OpenAI.Responses.ResponseStreamEvent;
const MOST_MS = 60_000;
const SAID = 'The capital is Poseidonis, on the western harbour.';

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`on ${engine}`, () => {
    let gateway: TestGateway;
    let storeId: string;
    let tools: SmallServer;
    let openai: OpenAI;
    const stops: (() => void)[] = [];
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      await gateway.given.virtualKey({ slug: 'bg', provider: 'groq', key: 'k', custom_host: gateway.provider.url });
      const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'bg' } });
      openai = openaiClient(gateway.url, key);
      storeId = (await storeWith(openai, { 'atlas.txt': ATLAS })).store.id;
      tools = startSmallServer({ era: 'older', tools: ['echo', 'erase'] });
      await gateway.api.post('/v1/mcp-servers', { name: 'bg-tools', slug: 'bg-tools', url: tools.url });
    });
    afterAll(async () => {
      for (const stop of [...stops, tools.stop]) stop();
      await gateway.stop();
    });
    const fileSearch = () => ({ type: 'file_search' as const, vector_store_ids: [storeId] });
    const mcp = (more = {}) => ({ type: 'mcp' as const, server_label: 'bg-tools', ...more });

    /** A model that says what it is told to. */
    async function scripted(script: (request: ChatRequest, number: number) => ScriptedAnswer, more: object = {}) {
      const provider = startScriptedProvider((request, number) => ({
        isWhole: request.stream !== true,
        ...script(request, number),
      }));
      stops.push(provider.stop);
      const slug = `bg-${crypto.randomUUID().slice(0, 8)}`;
      await gateway.given.virtualKey({ slug, provider: 'groq', key: 'k', custom_host: provider.url });
      const { key, id } = await gateway.given.apiKey({ defaults: { virtual_key: slug }, ...more });
      return { provider, client: openaiClient(gateway.url, key), keyId: id as string, slug };
    }
    const searching = ({ messages }: ChatRequest): ScriptedAnswer =>
      messages.at(-1).role === 'tool'
        ? { parts: [{ text: SAID }] }
        : { parts: [{ call: 'file_search', arguments: '{"queries":["capital"]}' }] };

    const over = async (client: OpenAI, id: string) => {
      let found = await client.responses.retrieve(id);
      await eventually(
        'the response is over',
        async () => {
          found = await client.responses.retrieve(id);
          return !['queued', 'in_progress'].includes(found.status!);
        },
        MOST_MS,
      );
      return found;
    };
    const all = async (stream: AsyncIterable<Event>) => {
      const events: Event[] = [];
      for await (const event of stream) events.push(event);
      return events;
    };
    const body = () => ({ model: 'm', input: 'Which city?', background: true, tools: [fileSearch()] });

    test('a response with tools is made while no client waits, and is kept like any other', async () => {
      const { client, provider } = await scripted(searching);
      const asked = await client.responses.create(body());
      expect(asked).toMatchObject({ object: 'response', status: 'queued', background: true, output: [], model: 'm' });
      const made = await over(client, asked.id);
      expect(made).toMatchObject({
        ...{ id: asked.id, status: 'completed', background: true, created_at: asked.created_at },
        usage: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
        output: [{ type: 'file_search_call', status: 'completed' }, { type: 'message' }],
      });
      expect(made.output_text).toBe(SAID);
      expect(provider.requests).toHaveLength(2);
      const items = await client.responses.inputItems.list(asked.id);
      expect(items.data).toMatchObject([{ type: 'message', role: 'user' }]);
      const later = await client.responses.create({ model: 'm', input: 'Sure?', previous_response_id: asked.id });
      expect(later).toMatchObject({ status: 'completed', previous_response_id: asked.id });
    });

    test('goes without any tool, on a provider that has no such thing', async () => {
      const { client } = await scripted(() => ({ parts: [{ text: SAID }] }));
      const asked = await client.responses.create({ model: 'm', input: 'Which city?', background: true });
      expect(asked).toMatchObject({ status: 'queued', background: true });
      expect((await over(client, asked.id)).output_text).toBe(SAID);
    });

    test('its stream is heard from any place, as often as it is asked for, and is the same each time', async () => {
      const { client } = await scripted((request) => ({ ...searching(request), chunkDelayMs: 20 }));
      const first = await all(await client.responses.create({ ...body(), stream: true }));
      expect(first.map(({ sequence_number }) => sequence_number)).toEqual(first.map((_, index) => index));
      expect(first.slice(0, 3).map(({ type }) => type)).toEqual([
        'response.created',
        'response.queued',
        'response.in_progress',
      ]);
      expect(first.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } });
      const pieces = first.flatMap((event) => (event.type === 'response.output_text.delta' ? event.delta : []));
      expect(pieces.join('')).toBe(SAID);
      expect(pieces.length).toBeGreaterThan(2);
      const { id } = (first[0] as OpenAI.Responses.ResponseCreatedEvent).response;
      expect(await all(await client.responses.retrieve(id, { stream: true }))).toEqual(first);
      const rest = await all(await client.responses.retrieve(id, { stream: true, starting_after: 5 }));
      expect(rest).toEqual(first.slice(6));
      const final = await client.responses.stream({ response_id: id, starting_after: 2 }).finalResponse();
      expect(final).toMatchObject({ id, status: 'completed', output_text: SAID });
    });

    test('a client that leaves the stream only stops listening', async () => {
      const { client } = await scripted((request) => ({ ...searching(request), chunkDelayMs: 30 }));
      const stream = await client.responses.create({ ...body(), stream: true });
      let id = '';
      for await (const event of stream) {
        if (event.type === 'response.created') id = event.response.id;
        if (event.type === 'response.output_text.delta') break;
      }
      expect((await over(client, id)).output_text).toBe(SAID);
    });

    /** Holds tools of the MCP server until it is opened. */
    const closedGate = () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      tools.gate = promise;
      return () => {
        tools.gate = null;
        resolve();
      };
    };
    const calls = (name: string) => tools.heard.filter((said) => said.endsWith(`tools/call ${name}`)).length;
    const calling =
      (name: string) =>
      ({ messages }: ChatRequest): ScriptedAnswer =>
        messages.at(-1).role === 'tool'
          ? { parts: [{ text: SAID }] }
          : { parts: [{ call: `bg-tools__${name}`, arguments: '{"a":1}' }] };
    const withServer = () => ({ ...body(), tools: [mcp({ require_approval: 'never' })] });

    test('is cancelled in the middle of an answer, and twice; what was reached stays', async () => {
      const { client, provider } = await scripted((request) =>
        request.messages.at(-1).role === 'tool' ? { parts: [{ text: SAID }], stallAfter: 3 } : searching(request),
      );
      const stream = await client.responses.create({ ...body(), stream: true });
      const events: Event[] = [];
      let cancelled: OpenAI.Responses.Response | null = null;
      for await (const event of stream) {
        events.push(event);
        if (event.type === 'response.output_text.delta' && !cancelled) {
          const { id } = (events[0] as OpenAI.Responses.ResponseCreatedEvent).response;
          cancelled = await client.responses.cancel(id);
        }
      }
      expect(cancelled).toMatchObject({ status: 'cancelled', output: [{ type: 'file_search_call' }] });
      expect(String(events.at(-1)!.type)).toBe('response.cancelled');
      expect(await client.responses.cancel(cancelled!.id)).toMatchObject({ status: 'cancelled' });
      expect(provider.requests).toHaveLength(2);
    });

    test('is cancelled while a tool runs, and only what is made in the background can be', async () => {
      const { client, provider } = await scripted(calling('echo'));
      const open = closedGate();
      const before = calls('echo');
      const { id } = await client.responses.create(withServer());
      await eventually('the tool runs', () => calls('echo') === before + 1);
      expect(await client.responses.cancel(id)).toMatchObject({ status: 'cancelled', output: [{}] });
      open();
      expect(await client.responses.retrieve(id)).toMatchObject({ status: 'cancelled' });
      expect(provider.requests).toHaveLength(1);
      const plain = await openai.responses.create({ model: 'm', input: 'Hi', tools: [fileSearch()] });
      expect(await client.responses.cancel(plain.id).catch((error) => error)).toMatchObject({
        ...{ status: 400, param: 'response_id' },
      });
      const unknown = await client.responses.cancel('resp_gwnone').catch((error) => error);
      expect(unknown).toMatchObject({ status: 404 });
    });

    test('what goes wrong in the middle is its end: a round that fails, a guardrail, a limit', async () => {
      const failing = await scripted((request) =>
        request.messages.at(-1).role === 'tool' ? { status: 429, error: { message: 'Too fast.' } } : searching(request),
      );
      const failed = await over(failing.client, (await failing.client.responses.create(body())).id);
      expect(failed).toMatchObject({
        ...{ status: 'failed', error: { code: 'rate_limit_exceeded' } },
        ...{ output: [{ type: 'file_search_call' }], usage: { total_tokens: 15 } },
      });
      const events = await all(await failing.client.responses.create({ ...body(), stream: true }));
      expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { error: { message: 'Too fast.' } } });

      const guarded = await scripted(searching);
      const words = { words: ['Poseidonis'], operator: 'none' };
      const config = await gateway.api.post('/v1/configs', {
        name: guarded.slug,
        config: {
          virtual_key: guarded.slug,
          output_guardrails: [{ id: 'no-city', deny: true, 'default.contains': words }],
        },
      });
      const headers = { 'x-gateway-config': config.json.slug };
      const denied = await over(guarded.client, (await guarded.client.responses.create(body(), { headers })).id);
      expect(denied).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
      expect(JSON.stringify(denied.output)).not.toContain('Poseidonis');

      const limited = await scripted(searching, { rate_limits: [{ type: 'requests', unit: 'rph', value: 1 }] });
      const cut = await over(openai, (await limited.client.responses.create(body())).id);
      expect(cut).toMatchObject({ status: 'failed', error: { code: 'rate_limit_exceeded' } });
      expect(limited.provider.requests).toHaveLength(1);
    });

    test('what a client gives for the servers of its tools lies nowhere, and no answer repeats it', async () => {
      const { client, slug } = await scripted(searching);
      const heard: string[] = [];
      const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' };
      const content = [{ type: 'output_text', text: SAID, annotations: [], logprobs: [] }];
      const native = serve(async (request) => {
        const text = await request.text();
        heard.push(text);
        const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
        const response = { id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'm', usage };
        const whole = { ...response, output: [{ ...message, content }] };
        if (JSON.parse(text).stream !== true) return Response.json(whole);
        return new Response(
          `data: ${JSON.stringify({ type: 'response.completed', sequence_number: 0, response: whole })}\n\n`,
          { headers: { 'content-type': 'text/event-stream' } },
        );
      });
      stops.push(() => void native.stop());
      const vendor = `${slug}-vendor`;
      await gateway.given.virtualKey({
        slug: vendor,
        provider: 'openai',
        key: 'k',
        custom_host: `${native.origin}/v1`,
      });
      const secret = `open-sesame-${crypto.randomUUID()}`;
      const remote = {
        ...{ type: 'mcp' as const, server_label: 'far', server_url: `https://far.example/mcp?key=${secret}` },
        ...{ authorization: secret, headers: { 'x-key': secret } },
      };
      const later = { type: 'additional_tools', role: 'developer', tools: [remote] };
      const input = [{ role: 'user', content: 'Which city?' }, later];
      const sent = { ...body(), input, tools: [fileSearch(), remote] };
      const headers = { 'x-gateway-virtual-key': vendor };
      for (const more of [{}, { stream: true }, { background: false }, { background: false, stream: true }]) {
        const reply = await gateway.api.post('/v1/responses', { ...sent, ...more }, { headers });
        expect(reply.text).not.toContain(secret);
        const entry = await gateway.logOf(reply);
        expect(JSON.stringify(entry)).not.toContain(secret);
        const id = /resp_gw\w+/.exec(reply.text)![0];
        const made = await over(client, id);
        expect(made.tools).toMatchObject([{ type: 'file_search' }, { type: 'mcp', server_label: 'far' }]);
        expect(JSON.stringify(made)).not.toContain(secret);
        expect(JSON.stringify(await client.responses.inputItems.list(id))).not.toContain(secret);
      }
      expect(heard.length).toBe(4);
      for (const round of heard) expect(round).toContain(secret);
      expect(await managedState(gateway)).not.toContain(secret);
    });

    test('a workspace has a thousand of them at most, and one more is refused before anything is kept', async () => {
      const { id: workspace_id } = await gateway.given.workspace({ name: 'Busy' });
      const { key } = await gateway.given.apiKey({ workspace_id });
      const made = { name: 'busy', slug: 'busy', provider: 'groq', key: 'k', custom_host: gateway.provider.url };
      expect((await gateway.api.post('/v1/virtual-keys', { ...made, workspace_id })).status).toBe(200);
      // They wait for a moment that does not come.
      await query(
        gateway,
        `insert into work (id, kind, tenant, ref, run_at, lease_until, fence, attempts, created_at)
         with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
         select '${workspace_id}-' || i, 'response', '${workspace_id}', 'none', 9000000000000, 0, 0, 0, 0 from n`,
      );
      const own = { key, headers: { 'x-gateway-virtual-key': 'busy' } };
      const ask = () => gateway.api.post('/v1/responses', { model: 'm', input: 'Hi', background: true }, own);
      const refused = await ask();
      expect([refused.status, refused.json.error.code]).toEqual([429, 'too_many_background_responses']);
      expect(await query(gateway, `select id from responses where workspace_id = '${workspace_id}'`)).toEqual([]);
      await query(gateway, `delete from work where id = '${workspace_id}-1'`);
      expect(await ask()).toMatchObject({ status: 200, json: { status: 'queued' } });
      await query(gateway, `delete from work where ref = 'none' and tenant = '${workspace_id}'`);
    });

    test('a caller whose key is revoked gets nothing more done', async () => {
      const { client, provider, keyId } = await scripted(calling('echo'));
      const open = closedGate();
      const before = calls('echo');
      const { id } = await client.responses.create(withServer());
      await eventually('the tool runs', () => calls('echo') === before + 1);
      expect((await gateway.api.delete(`/v1/api-keys/${keyId}`)).status).toBeLessThan(300);
      open();
      const ended = await over(openai, id);
      expect(ended).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('was removed') } });
      expect(provider.requests).toHaveLength(1);
    });

    test('goes on in a conversation, once, and asks persons before it goes on', async () => {
      const { client } = await scripted(calling('erase'));
      const { id: conversation } = await client.conversations.create();
      const ask = (input: unknown) =>
        client.responses.create({ ...body(), tools: [mcp()], conversation, input: input as string });
      const asked = await over(client, (await ask('Erase it')).id);
      expect(asked).toMatchObject({ status: 'completed', conversation: { id: conversation } });
      const request = asked.output.at(-1) as OpenAI.Responses.ResponseOutputItem.McpApprovalRequest;
      expect(request).toMatchObject({ type: 'mcp_approval_request', name: 'erase' });
      const before = calls('erase');
      const answer = [{ type: 'mcp_approval_response', approval_request_id: request.id, approve: true }];
      const done = await over(client, (await ask(answer)).id);
      expect(done.output).toMatchObject([{ type: 'mcp_call', approval_request_id: request.id }, { type: 'message' }]);
      expect(calls('erase')).toBe(before + 1);
      const { data } = await client.conversations.items.list(conversation, { order: 'asc' });
      expect(data.map(({ type }) => String(type))).toEqual([
        ...['message', 'mcp_list_tools', 'mcp_approval_request'],
        ...['mcp_approval_response', 'mcp_call', 'message'],
      ]);
      expect(await ask(answer).catch((error) => error)).toMatchObject({ status: 400 });
    });

    test('what cannot be made in the background, or heard again, is refused by its name', async () => {
      const faultOf = async (path: string, sent: object | null, headers = {}) => {
        const options = { headers: { 'x-gateway-virtual-key': 'bg', ...headers } };
        const reply = sent
          ? await gateway.api.post(`/v1/responses${path}`, sent, options)
          : await gateway.api.get(`/v1/responses${path}`, options);
        return `${reply.status} ${reply.json.error?.param}`;
      };
      expect(await faultOf('', { ...body(), store: false })).toBe('400 background');
      expect(await faultOf('', body(), { authorization: 'Bearer sk-own' })).toBe('400 background');
      expect(await faultOf('', { ...body(), tools: [{ ...fileSearch(), max_num_results: 99 }] })).toBe(
        '400 tools[0].max_num_results',
      );
      const open = closedGate();
      const { client } = await scripted(calling('echo'));
      const { id } = await client.responses.create(withServer());
      expect(await faultOf('', { model: 'm', input: 'x', previous_response_id: id })).toBe('400 previous_response_id');
      expect(await faultOf(`/${id}?stream=true`, null)).toBe('400 stream');
      expect(await faultOf(`/${id}?stream=often`, null)).toBe('400 stream');
      expect(await faultOf(`/${id}?stream=true&starting_after=-1`, null)).toBe('400 starting_after');
      const { id: workspace_id } = await gateway.given.workspace();
      const { key } = await gateway.given.apiKey({ workspace_id });
      const foreign = openaiClient(gateway.url, key);
      for (const call of ['retrieve', 'cancel', 'delete'] as const)
        expect(await foreign.responses[call](id).catch((error) => error)).toMatchObject({ status: 404 });
      await client.responses.delete(id);
      open();
      expect(await client.responses.retrieve(id).catch((error) => error)).toMatchObject({ status: 404 });
    });

    test('a deleted workspace takes what is under way along', async () => {
      const { id: workspace_id, slug } = await gateway.given.workspace({ name: 'Leaving' });
      const { key } = await gateway.given.apiKey({ workspace_id });
      const provider = startScriptedProvider(() => ({ parts: [{ text: SAID }], stallAfter: 2 }));
      stops.push(provider.stop);
      const own = { key, headers: { 'x-gateway-hosted-tools': 'gateway', 'x-gateway-virtual-key': 'leaving' } };
      const made = { name: 'leaving', slug: 'leaving', provider: 'groq', key: 'k', custom_host: provider.url };
      expect((await gateway.api.post('/v1/virtual-keys', { ...made, workspace_id })).status).toBe(200);
      const begun = await gateway.api.post('/v1/conversations', {}, own);
      const sent = { model: 'm', input: 'Go', background: true, stream: true, conversation: begun.json.id };
      const stream = await fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { ...own.headers, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(sent),
      });
      expect(stream.status).toBe(200);
      await eventually('the model was asked', () => provider.requests.length === 1);
      expect((await gateway.api.delete(`/v1/admin/workspaces/${slug}`)).status).toBeLessThan(300);
      expect(await stream.text()).toContain('event: error');
      await eventually('the rows are gone', async () => {
        const { json } = await gateway.api.get(`/v1/admin/workspaces/${slug}/deletion`);
        return json.status === 'completed' || json.status === 'done';
      });
    });
  });
