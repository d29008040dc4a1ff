import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { beginBatch, chatLine, ended, linesIn } from '../batch-lines.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { openaiClient } from '../sdk-clients.ts';

const CHAT = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 30 },
  completion_tokens_details: { reasoning_tokens: 7 },
};

/** Counts in the words of each endpoint; the count of a request may be given in it. */
function startCountingProvider() {
  const heard: string[] = [];
  const { origin, stop } = serve(async (request) => {
    const path = new URL(request.url).pathname;
    const body = (await request.json()) as Record<string, unknown>;
    heard.push(path);
    if (body.user === 'fails') return Response.json({ error: { message: 'no' }, usage: CHAT }, { status: 400 });
    const usage = body.user ? JSON.parse(body.user as string) : CHAT;
    switch (path) {
      case '/v1/embeddings':
        return Response.json({ object: 'list', data: [], model: 'e', usage: { prompt_tokens: 8, total_tokens: 8 } });
      case '/v1/moderations':
        return Response.json({ id: 'modr-1', model: 'm', results: [{ flagged: false }] });
      case '/v1/images/generations':
      case '/v1/images/edits':
        return Response.json({
          created: 1,
          data: [{ b64_json: 'QQ==' }],
          usage: { input_tokens: 9, output_tokens: 40 },
        });
      default:
        return Response.json({ id: 'c', object: 'chat.completion', choices: [], model: 'm', usage });
    }
  });
  return { url: `${origin}/v1`, heard, stop };
}

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`what batches took, on ${engine}`, () => {
    const provider = startCountingProvider();
    let gateway: TestGateway;
    let openai: OpenAI;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      const { slug } = await gateway.given.virtualKey({ name: 'counting', custom_host: provider.url });
      const { key } = await gateway.given.apiKey({ defaults: { virtual_key: slug } });
      openai = openaiClient(gateway.url, key);
    });
    afterAll(async () => {
      await gateway.stop();
      provider.stop();
    });

    const nothing = {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    };
    const lineOf = (url: string, name: string, body: object) =>
      JSON.stringify({ custom_id: name, method: 'POST', url, body });

    test('is the sum over its answers, and the model is the one that all name', async () => {
      const lines = Array.from({ length: 250 }, (_, index) => chatLine(`request-${index}`));
      const begun = await beginBatch(openai, [...lines, chatLine('bad', 'Hello', { user: 'fails' })]);
      expect([begun.usage, begun.model as unknown]).toEqual([nothing, null]);
      const batch = await ended(openai, begun.id);
      expect(batch.request_counts).toEqual({ total: 251, completed: 250, failed: 1 });
      expect(batch.model).toBe('gpt-4o-mini');
      expect(batch.usage).toEqual({
        input_tokens: 25_100,
        input_tokens_details: { cached_tokens: 7_530 },
        output_tokens: 5_020,
        output_tokens_details: { reasoning_tokens: 1_757 },
        total_tokens: 30_120,
      });
      const listed = (await openai.batches.list({ limit: 1 })).data[0];
      expect(listed).toMatchObject({ id: batch.id, usage: batch.usage, model: batch.model });
    });

    test('takes no nonsense of a provider for a count, and no model where requests name several', async () => {
      const odd = [
        { prompt_tokens: -5, completion_tokens: 1 },
        { prompt_tokens: 1e300, completion_tokens: 1 },
        { prompt_tokens: '7', completion_tokens: 1 },
        null,
        [],
        { input_tokens: 3, output_tokens: 2, cache_read_input_tokens: 10 },
      ];
      const lines = odd.map((usage, index) => chatLine(`odd-${index}`, 'Hello', { user: JSON.stringify(usage) }));
      const begun = await beginBatch(openai, [...lines, chatLine('other', 'Hello', { model: 'another' })]);
      const batch = await ended(openai, begun.id);
      expect(batch.request_counts).toEqual({ total: 7, completed: 7, failed: 0 });
      expect(batch.model as unknown).toBeNull();
      expect(batch.usage).toEqual({
        input_tokens: 113,
        input_tokens_details: { cached_tokens: 40 },
        output_tokens: 22,
        output_tokens_details: { reasoning_tokens: 7 },
        total_tokens: 135,
      });
    });

    test('a batch that was never begun took nothing', async () => {
      const begun = await beginBatch(openai, ['nonsense']);
      const batch = await ended(openai, begun.id);
      expect([batch.status, batch.usage, batch.model as unknown]).toEqual(['failed', nothing, null]);
    });

    test('moderations and images are asked for, too', async () => {
      const rows: [OpenAI.BatchCreateParams['endpoint'], object, number][] = [
        ['/v1/moderations', { input: 'Is this good?' }, 0],
        ['/v1/moderations', { model: 'omni-moderation-latest', input: [{ type: 'text', text: 'a' }] }, 0],
        ['/v1/images/generations', { model: 'gpt-image-1', prompt: 'A fox' }, 49],
        ['/v1/images/edits', { model: 'gpt-image-1', prompt: 'A hat', images: [{ file_id: 'file-1' }] }, 49],
        ['/v1/embeddings', { model: 'e', input: 'a' }, 8],
      ];
      for (const [endpoint, body, total] of rows) {
        const begun = await beginBatch(openai, [lineOf(endpoint, 'one', body)], { endpoint });
        const batch = await ended(openai, begun.id);
        expect([endpoint, batch.status, batch.usage!.total_tokens]).toEqual([endpoint, 'completed', total]);
        expect(batch.model ?? undefined).toBe((body as { model?: string }).model!);
        const [line] = await linesIn(openai, batch.output_file_id);
        expect(line).toMatchObject({ custom_id: 'one', response: { status_code: 200 } });
        expect(provider.heard.at(-1)).toBe(endpoint);
      }
    });

    test('a request that none of these could be is named by its line', async () => {
      const rows: [OpenAI.BatchCreateParams['endpoint'], object, string][] = [
        ['/v1/moderations', { model: 'm' }, 'body.input'],
        ['/v1/images/generations', { model: 'm' }, 'body.prompt'],
        ['/v1/images/edits', { prompt: null }, 'body.prompt'],
      ];
      for (const [endpoint, body, param] of rows) {
        const batch = await ended(openai, (await beginBatch(openai, [lineOf(endpoint, 'one', body)], { endpoint })).id);
        expect([batch.status, batch.errors!.data![0]!.param]).toEqual(['failed', param]);
      }
      const variations = { endpoint: '/v1/images/variations' as never };
      await expect(beginBatch(openai, [chatLine('one')], variations)).rejects.toThrow("Invalid value: '/v1/images/var");
    });
  });
