import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { openaiClient } from '../sdk-clients.ts';

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`the Responses API on a provider that has none, on ${engine}`, () => {
    let gateway: TestGateway;
    let key = '';
    let other = '';
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
      key = (await gateway.given.apiKey({ defaults: { virtual_key: 'claude' } })).key;
      const workspace = await gateway.given.workspace();
      other = (await gateway.given.apiKey({ workspace_id: workspace.id })).key;
    });
    afterAll(() => gateway.stop());
    const openai = () => openaiClient(gateway.url, key);

    test('answers, keeps what it answered, and goes on from it', async () => {
      const first = await openai().responses.create({ model: 'claude', input: 'Hello', instructions: 'Be brief.' });
      expect(first.output_text).toContain('You said: "Hello"');
      expect(first.id).toStartWith('resp_');
      expect(first.usage!.total_tokens).toBeGreaterThan(0);

      const read = await openai().responses.retrieve(first.id);
      expect(read.output).toEqual(first.output);
      const items = await openai().responses.inputItems.list(first.id);
      expect(items.data).toMatchObject([
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
      ]);

      const second = await openai()
        .responses.create({ model: 'claude', input: 'And now?', previous_response_id: first.id })
        .withResponse();
      expect(second.data.previous_response_id).toBe(first.id);
      const { request, attempts } = await gateway.logOf(second.response);
      expect(JSON.parse(request.body)).toMatchObject({ input: 'And now?', previous_response_id: first.id });
      expect(JSON.parse(attempts[0].request.body).messages).toMatchObject([
        { role: 'user', content: [{ text: 'Hello' }] },
        { role: 'assistant', content: [{ text: first.output_text }] },
        { role: 'user', content: [{ text: 'And now?' }] },
      ]);
    });

    test('streams what its helper accepts, and keeps it before the last event', async () => {
      const stream = openai().responses.stream({ model: 'claude', input: 'Hello' });
      const response = await stream.finalResponse();
      expect(response.output_text).toContain('You said: "Hello"');
      expect((await openai().responses.retrieve(response.id)).output_text ?? '').toBe(response.output_text);
    });

    test('runs a tool loop by previous_response_id', async () => {
      const tools = [{ type: 'function' as const, name: 'get_weather', parameters: { type: 'object' }, strict: false }];
      const first = await openai().responses.create({
        model: 'claude',
        input: 'call get_weather {"city":"Oslo"}',
        tools,
      });
      const call = first.output.find((item) => item.type === 'function_call')!;
      expect(JSON.parse(call.arguments)).toEqual({ city: 'Oslo' });
      const second = await openai().responses.create({
        model: 'claude',
        tools,
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: call.call_id, output: 'rain' }],
      });
      expect(second.output_text).toContain('rain');
    });

    test('keeps nothing when told not to; a foreign and a deleted response are missing', async () => {
      const unkept = await openai().responses.create({ model: 'claude', input: 'Hello', store: false });
      const kept = await openai().responses.create({ model: 'claude', input: 'Hello' });
      const get = (id: string, as: string) => gateway.api.get(`/v1/responses/${id}`, { key: as });
      expect((await get(unkept.id, other)).status).toBe(404);
      expect((await get(kept.id, other)).status).toBe(404);
      expect((await get(kept.id, key)).status).toBe(200);
      await openai().responses.delete(kept.id);
      const gone = await gateway.api.post(
        '/v1/responses',
        { model: 'claude', input: 'x', previous_response_id: kept.id },
        { key },
      );
      expect(gone.status).toBe(400);
      expect(gone.json.error.code).toBe('previous_response_not_found');
    });
  });
}

/** As OpenAI streams a response: its last event repeats the tools, and has the usage behind them. */
const native = (tools: unknown, usageFirst: boolean) => {
  const usage = { input_tokens: 12, output_tokens: 8, total_tokens: 20 };
  const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] };
  const body = { id: 'resp_1', object: 'response', model: 'gpt-4o-mini', status: 'completed', output: [message] };
  const response = usageFirst ? { usage, ...body, tools } : { ...body, tools, usage };
  const events = [
    { type: 'response.created', response: { ...body, tools, usage: null } },
    { type: 'response.output_text.delta', delta: 'Hello' },
    { type: 'response.completed', response },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
};

/** As many and as long as those of an agent. */
const tools = Array.from({ length: 30 }, (_, index) => ({
  type: 'function' as const,
  name: `tool_${index}`,
  description: 'Does something. '.repeat(100),
  parameters: { type: 'object' },
  strict: false,
}));

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`a streamed response is counted in the log and in budgets, on ${engine}`, () => {
    let gateway: TestGateway;
    let openai: ReturnType<typeof serve>;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      openai = serve(async (request) => {
        const asked = (await request.json()) as { tools: unknown; instructions?: string };
        const pieces = native(asked.tools, asked.instructions === 'usage first');
        const stream = new ReadableStream<Uint8Array>({
          async pull(controller) {
            const piece = pieces.shift();
            if (!piece) return controller.close();
            controller.enqueue(Buffer.from(piece));
            await Bun.sleep(1);
          },
        });
        return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
      });
      const { origin, url } = gateway.provider;
      await gateway.given.virtualKey({ slug: 'native', custom_host: `${openai.origin}/v1` });
      await gateway.given.virtualKey({ slug: 'groq', provider: 'groq', custom_host: url });
      await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
      await gateway.given.virtualKey({ slug: 'gemini', provider: 'google', custom_host: `${origin}/v1beta` });
    });
    afterAll(async () => {
      openai.stop();
      await gateway.stop();
    });

    for (const [slug, model, more] of [
      ['native', 'gpt-4o-mini', {}],
      ['native', 'gpt-4o-mini', { instructions: 'usage first' }],
      ['groq', 'llama-3.3-70b-versatile', {}],
      ['claude', 'claude-sonnet-4-5', {}],
      ['gemini', 'gemini-2.5-flash', {}],
    ] as const)
      test(`${slug}${'instructions' in more ? ', which tells its usage before all else' : ''}`, async () => {
        const { key, id } = await gateway.given.apiKey({
          defaults: { virtual_key: slug },
          usage_limits: { type: 'tokens', credit_limit: 1_000_000 },
        });
        const body = { model, input: 'Hello', stream: true, store: false, tools, ...more };
        const reply = await gateway.api.post('/v1/responses', body, { key });
        expect(reply.text).toContain('response.completed');
        const entry = await gateway.logOf(reply);
        expect(entry.input_tokens).toBeGreaterThan(0);
        expect(entry.total_tokens).toBe(entry.input_tokens + entry.output_tokens);
        expect(entry.cost).toBeGreaterThan(0);
        const { usage } = (await gateway.api.get(`/v1/api-keys/${id}`)).json;
        expect([usage].flat()[0].current_usage).toBe(entry.total_tokens);
      });
  });
}
