import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
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
      const { request } = await gateway.logOf(second.response);
      expect(JSON.parse(request.body).messages).toMatchObject([
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
