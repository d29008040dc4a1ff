import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { startGateway, type TestGateway } from '../gateway.ts';
import { openaiClient } from '../sdk-clients.ts';

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`conversations on ${engine}`, () => {
    let gateway: TestGateway;
    let openai: OpenAI;
    const user = (content: string) => ({ type: 'message' as const, role: 'user' as const, content });
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      const claude = { slug: 'claude', provider: 'anthropic', key: 'k', custom_host: gateway.provider.url };
      await gateway.given.virtualKey(claude);
      const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'claude' } });
      openai = openaiClient(gateway.url, key as string);
    });
    afterAll(() => gateway.stop());

    test('are begun, changed, read in pages and deleted as by the vendor', async () => {
      const made = await openai.conversations.create({ metadata: { topic: 'a' }, items: [user('One'), user('Two')] });
      expect(made).toMatchObject({ object: 'conversation', metadata: { topic: 'a' } });
      expect(await openai.conversations.update(made.id, { metadata: { topic: 'b' } })).toMatchObject({ id: made.id });
      expect(await openai.conversations.retrieve(made.id)).toEqual({ ...made, metadata: { topic: 'b' } });
      const added = await openai.conversations.items.create(made.id, { items: [user('Three')] });
      expect(added.data[0]).toMatchObject({ type: 'message', content: [{ type: 'input_text', text: 'Three' }] });
      const ids: string[] = [];
      for await (const item of openai.conversations.items.list(made.id, { limit: 1, order: 'asc' })) ids.push(item.id!);
      expect(ids).toHaveLength(3);
      expect(ids.at(-1)).toBe((added.data[0] as { id: string }).id);
      const [first] = ids as [string];
      const one = { conversation_id: made.id };
      expect(await openai.conversations.items.retrieve(first, one)).toMatchObject({ id: first, role: 'user' });
      expect(await openai.conversations.items.delete(first, one)).toMatchObject({ id: made.id });
      const gone = await openai.conversations.items.retrieve(first, one).catch((error) => error);
      expect(gone).toMatchObject({ status: 404 });
      expect(await openai.conversations.delete(made.id)).toEqual({
        ...{ id: made.id, object: 'conversation.deleted', deleted: true },
      });
      expect(await openai.conversations.retrieve(made.id).catch((error) => error.status)).toBe(404);
    });

    test('are gone on in by responses, streamed or not, on any model', async () => {
      const { id } = await openai.conversations.create({ items: [user('My name is Ada.')] });
      const answer = await openai.responses.create({ model: 'any', input: 'Hello', conversation: id });
      expect(answer.conversation).toEqual({ id });
      const stream = await openai.responses.create({
        model: 'any',
        input: 'Again',
        conversation: { id },
        stream: true,
      });
      const types: string[] = [];
      for await (const { type } of stream) types.push(type);
      expect(types.at(-1)).toBe('response.completed');
      const { data } = await openai.conversations.items.list(id, { order: 'asc' });
      expect(data.map((item) => (item as { role?: string }).role)).toEqual([
        ...['user', 'user', 'assistant', 'user', 'assistant'],
      ]);
      expect((await openai.responses.retrieve(answer.id)).output_text).toBe(answer.output_text);
    });

    test('are gone on in by a request longer than a megabyte', async () => {
      const { id } = await openai.conversations.create({});
      const input = 'All work and no play. '.repeat(80_000);
      const answer = await openai.responses.create({ model: 'any', input, conversation: id });
      expect(answer.conversation).toEqual({ id });
      expect((await openai.conversations.items.list(id)).data).toHaveLength(2);
    });

    test('of others, unknown ones and faulty requests are refused in words', async () => {
      const { id } = await openai.conversations.create({});
      const ask = (path: string, body: object, headers = {}) =>
        gateway.api.post(path, body, { headers: { 'x-gateway-virtual-key': 'claude', ...headers } });
      const { id: workspace_id } = await gateway.given.workspace();
      const { key } = await gateway.given.apiKey({ workspace_id });
      const foreign = { 'x-gateway-api-key': key as string };
      expect((await ask(`/v1/conversations/${id}/items`, { items: [user('x')] }, foreign)).status).toBe(404);
      const inIt = { model: 'any', input: 'x', conversation: id };
      expect((await ask('/v1/responses', inIt, foreign)).status).toBe(404);
      expect((await ask('/v1/responses', { ...inIt, conversation: 'conv_none' })).json.error.message).toContain(
        'conv_none',
      );
      const both = await ask('/v1/responses', { ...inIt, previous_response_id: 'resp_x' });
      expect(both.json.error).toMatchObject({ param: 'conversation' });
      expect((await ask('/v1/responses', { ...inIt, conversation: 7 })).json.error).toMatchObject({
        param: 'conversation',
      });
      expect((await ask('/v1/responses', { ...inIt, conversation: undefined, previous_response_id: id })).status).toBe(
        400,
      );
      expect((await gateway.api.get(`/v1/responses/${id}`)).status).toBe(404);
      const many = { items: Array.from({ length: 21 }, () => user('x')) };
      expect((await ask('/v1/conversations', many)).json.error).toMatchObject({ param: 'items' });
      const wrong = await ask('/v1/conversations', { items: [{ type: 'message', role: 'nobody', content: 'x' }] });
      expect(wrong.json.error).toMatchObject({ param: 'items[0].role' });
      expect((await ask('/v1/conversations', { surprise: 1 })).status).toBe(400);
    });
  });
