import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { beginBatch, chatLine, ended, linesIn } from '../../batch-lines.ts';
import { serve, startGateway, type TestGateway } from '../../gateway.ts';
import { eventually } from '../../process.ts';
import { openaiClient } from '../../sdk-clients.ts';

/** A caller at the end of a limit hands its requests over in one file, to the provider's own batch API. */

const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

/** A provider with OpenAI's batch API, which also answers single requests. Its jobs end when they are let go. */
function startBatchProvider({ isSilent = false } = {}) {
  const lines: { custom_id: string }[] = [];
  const state = { jobs: 0, chats: 0, isHeld: false, metadata: null as unknown };
  const answer = (model: string) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
    ...(!isSilent && { usage }),
  });
  const job = () => ({
    id: 'batch_theirs',
    object: 'batch',
    status: state.isHeld ? 'in_progress' : 'completed',
    metadata: state.metadata,
    output_file_id: state.isHeld ? null : 'file-out',
    error_file_id: null,
    errors: null,
  });
  const { origin, stop } = serve(async (request) => {
    const path = new URL(request.url).pathname;
    if (path.endsWith('/chat/completions')) {
      state.chats++;
      return Response.json(answer('gpt-4o-mini'));
    }
    if (path === '/v1/files') {
      const text = await ((await request.formData()).get('file') as unknown as Blob).text();
      for (const line of text.split('\n').filter(Boolean)) lines.push(JSON.parse(line));
      return Response.json({ id: 'file-in', object: 'file' });
    }
    if (path === '/v1/batches' && request.method === 'POST') {
      state.jobs++;
      ({ metadata: state.metadata } = (await request.json()) as { metadata: unknown });
      return Response.json(job());
    }
    if (path.startsWith('/v1/batches')) return Response.json(job());
    const results = lines.map(({ custom_id }) => ({
      custom_id,
      response: { status_code: 200, request_id: 'x', body: answer('gpt-4o-mini') },
      error: null,
    }));
    return new Response(results.map((line) => `${JSON.stringify(line)}\n`).join(''));
  });
  return { url: `${origin}/v1`, lines, state, stop };
}

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`native batches on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    let made = 0;
    const given = async (limits: object, options?: { isSilent?: boolean }) => {
      const provider = startBatchProvider(options);
      const slug = `native-${++made}`;
      await gateway.given.virtualKey({
        slug,
        name: slug,
        custom_host: provider.url,
        configurations: { batches: 'native' },
      });
      const { key, id } = await gateway.given.apiKey({ ...limits, defaults: { virtual_key: slug } });
      const spent = async () => (await gateway.api.get(`/v1/api-keys/${id}`)).json.usage[0].current_usage as number;
      return { provider, key, id, slug, spent, openai: openaiClient(gateway.url, key) };
    };
    const requests = (count: number, more: object = {}) =>
      Array.from({ length: count }, (_, index) => chatLine(`n${index}`, 'hello', { max_tokens: 50, ...more }));

    test('what does not fit a budget as a whole is carried out request by request, and refused there', async () => {
      const { provider, openai, spent } = await given({ usage_limits: { type: 'tokens', credit_limit: 300 } });
      const batch = await ended(openai, (await beginBatch(openai, requests(20))).id);
      expect(provider.state.jobs).toBe(0);
      expect(provider.lines).toEqual([]);
      expect(batch.request_counts!.completed).toBeLessThan(5);
      const errors = await linesIn(openai, batch.error_file_id!);
      for (const line of errors) expect(line.response).toMatchObject({ status_code: 412 });
      expect(await spent()).toBeLessThanOrEqual(300 + 4 * 110);
      provider.stop();
    });

    test('a model without a price does not pass by a budget in dollars', async () => {
      const { provider, openai } = await given({ usage_limits: { type: 'cost', credit_limit: 5 } });
      const lines = requests(5, { model: 'nobody-knows-its-price' });
      const batch = await ended(openai, (await beginBatch(openai, lines)).id);
      expect([provider.state.jobs, provider.state.chats, batch.request_counts!.failed]).toEqual([0, 0, 5]);
      provider.stop();
    });

    test('while the provider has it, what it may take is held; then what it took is spent', async () => {
      const { provider, openai, key, slug, spent } = await given({
        usage_limits: { type: 'tokens', credit_limit: 1_000 },
      });
      provider.state.isHeld = true;
      const begun = await beginBatch(openai, requests(10));
      await eventually('the provider has it', () => provider.state.jobs === 1);
      const call = () =>
        gateway.api.post(
          '/v1/chat/completions',
          { model: 'gpt-4o-mini', max_tokens: 400, messages: [{ role: 'user', content: 'x' }] },
          { key, headers: { 'x-gateway-virtual-key': slug } },
        );
      const refused = await call();
      expect([refused.status, refused.json.error.code]).toEqual([412, 'budget_exhausted']);
      expect(provider.state.chats).toBe(0);
      provider.state.isHeld = false;
      const batch = await ended(openai, begun.id);
      expect(batch.request_counts).toMatchObject({ completed: 10 });
      // More than the estimate said: it is charged in full.
      await eventually('it is settled', async () => (await spent()) === 1_100);
      expect((await call()).status).toBe(412);
      provider.stop();
    });

    test('a batch that was cancelled before it was answered gives back what it held', async () => {
      const { provider, openai, spent } = await given({ usage_limits: { type: 'tokens', credit_limit: 100_000 } });
      provider.state.isHeld = true;
      const begun = await beginBatch(openai, requests(10));
      await eventually('the provider has it', () => provider.state.jobs === 1);
      await openai.batches.cancel(begun.id);
      provider.lines.length = 3;
      provider.state.isHeld = false;
      await ended(openai, begun.id);
      await eventually('it is settled', async () => (await spent()) === 330);
      provider.stop();
    });

    test('a provider that tells no usage is counted at the estimate', async () => {
      const limits = { usage_limits: { type: 'tokens', credit_limit: 100_000 } };
      const { provider, openai, spent } = await given(limits, { isSilent: true });
      await ended(openai, (await beginBatch(openai, requests(10))).id);
      expect(provider.state.jobs).toBe(1);
      await eventually('it is settled', async () => (await spent()) > 500);
      provider.stop();
    });

    test('rates and policies by model count its requests, and refuse them like those of calls', async () => {
      const rated = await given({ rate_limits: [{ type: 'requests', unit: 'rpw', value: 12 }] });
      const batch = await ended(rated.openai, (await beginBatch(rated.openai, requests(10))).id);
      expect([batch.request_counts!.completed, rated.provider.state.jobs]).toEqual([10, 1]);
      const ask = () =>
        gateway.api.post('/v1/chat/completions', JSON.parse(chatLine('x', 'x')).body, { key: rated.key });
      const statuses = [(await ask()).status, (await ask()).status, (await ask()).status];
      expect(statuses).toEqual([200, 200, 429]);
      rated.provider.stop();

      const limited = await given({});
      const policy = await gateway.api.post('/v1/policies/usage-limits', {
        conditions: [
          { key: 'model', value: 'gpt-4o-mini' },
          { key: 'virtual_key', value: limited.slug },
        ],
        group_by: [{ key: 'api_key' }],
        type: 'requests',
        credit_limit: 4,
      });
      expect(policy.status).toBe(200);
      const over = await ended(limited.openai, (await beginBatch(limited.openai, requests(6))).id);
      expect([limited.provider.state.jobs, over.request_counts!.completed]).toEqual([0, 4]);
      limited.provider.stop();
    });
  });
}
