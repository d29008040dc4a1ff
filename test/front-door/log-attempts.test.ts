import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { ADMIN_KEY, serve, startGateway, type TestGateway } from '../gateway.ts';

const CREDENTIAL = 'sk-credential-of-a-target-42';
const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] };
const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const answer = (content: string) => ({
  id: 'answer',
  object: 'chat.completion',
  model: 'gpt-4o-mini',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage,
});

/** A provider whose next answers a test lays out; without any it answers well. */
function startStub() {
  const answers: (() => Response | Promise<Response>)[] = [];
  const asked: string[] = [];
  const { origin, stop } = serve(async (request) => {
    asked.push(await request.text());
    return answers.shift()?.() ?? Response.json(answer('fine'));
  });
  return { url: `${origin}/v1`, host: new URL(origin).host, answers, asked, stop };
}

const busy = () => new Response('{}', { status: 503, headers: { 'retry-after-ms': '30' } });
const words = { 'default.contains': { words: ['forbidden'], operator: 'none' }, deny: true };

interface ShownAttempt {
  readonly started_ms: number;
  readonly first_byte_ms: number | null;
  readonly ended_ms: number;
}

/** Each begins where the one before has ended, and nothing ends after the call. */
function expectWaterfall({ attempts, duration_ms }: { attempts: ShownAttempt[]; duration_ms: number }) {
  let last = 0;
  for (const { started_ms, first_byte_ms, ended_ms } of attempts) {
    expect(started_ms).toBeGreaterThanOrEqual(last);
    expect(first_byte_ms ?? started_ms).toBeGreaterThanOrEqual(started_ms);
    expect(ended_ms).toBeGreaterThanOrEqual(first_byte_ms ?? started_ms);
    last = ended_ms;
  }
  expect(last).toBeLessThanOrEqual(duration_ms + 0.01);
}

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`the attempts of an entry on ${engine}`, () => {
    let gateway: TestGateway;
    let a: ReturnType<typeof startStub>;
    let b: ReturnType<typeof startStub>;
    beforeAll(async () => {
      gateway = await startGateway({ engine, environment: { GATEWAY_LOG_BODY_BYTES: '4096' } });
      await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
    });
    afterAll(() => gateway.stop());
    beforeEach(async () => {
      a = startStub();
      b = startStub();
      for (const [slug, { url }] of Object.entries({ a, b })) {
        await gateway.api.delete(`/v1/virtual-keys/${slug}`);
        await gateway.given.virtualKey({ slug, custom_host: url, key: CREDENTIAL });
      }
    });
    afterEach(() => {
      a.stop();
      b.stop();
    });

    const ask = async (config: object, body: object = chat, headers: Record<string, string> = {}) => {
      const all = { 'x-gateway-config': JSON.stringify(config), ...headers };
      const reply = await gateway.api.post('/v1/chat/completions', body, { headers: all });
      return { reply, entry: await gateway.logOf(reply) };
    };
    const both = (strategy: object = {}, first: object = {}) => ({
      strategy: { mode: 'fallback', ...strategy },
      targets: [
        { virtual_key: 'a', ...first },
        { virtual_key: 'b', override_params: { model: 'gpt-4o' } },
      ],
    });

    test('of a plain call: one, with the figures of the entry, its host and its times, and no secret', async () => {
      const reply = await gateway.api.post('/v1/chat/completions?key=hidden', chat, {
        headers: { 'x-gateway-virtual-key': 'a' },
      });
      const entry = await gateway.logOf(reply);
      expect(entry.attempt_count).toBe(1);
      expect(entry.attempts).toEqual([
        {
          target: 'config',
          provider: 'openai',
          model: 'gpt-4o-mini',
          virtual_key: 'a',
          host: a.host,
          skipped: false,
          reason: null,
          started_ms: expect.any(Number),
          connect_ms: expect.any(Number),
          first_byte_ms: expect.any(Number),
          ended_ms: entry.duration_ms,
          status: 200,
          error_code: null,
          input_tokens: 3,
          output_tokens: 4,
          total_tokens: 7,
          cost: entry.cost,
          cache: null,
          guardrails: [],
          request: null,
          response: null,
        },
      ]);
      expectWaterfall(entry);
      expect(JSON.stringify(entry.attempts)).not.toMatch(/hidden|sk-credential/);
      const again = await gateway.logOf(
        await gateway.api.post('/v1/chat/completions', chat, { headers: { 'x-gateway-virtual-key': 'a' } }),
      );
      expect(again.attempts[0].connect_ms).toBeNull();
      const { json } = await gateway.api.get(`/v1/logs?trace_id=${entry.id}`);
      expect(json.data[0].attempt_count).toBe(1);
      expect(json.data[0]).not.toHaveProperty('attempts');
    });

    test('of a call that is asked again: each with its status, until one is answered', async () => {
      a.answers.push(busy, busy);
      const retry = { attempts: 3, on_status_codes: [503], use_retry_after_headers: true };
      const { entry } = await ask({ virtual_key: 'a', retry });
      expect(entry.attempt_count).toBe(3);
      const seen = entry.attempts.map((each: Record<string, unknown>) => [each.status, each.reason, each.total_tokens]);
      expect(seen).toEqual([
        [503, null, null],
        [503, 'retry', null],
        [200, 'retry', 7],
      ]);
      expectWaterfall(entry);
      expect(entry.attempts[1].started_ms - entry.attempts[0].ended_ms).toBeGreaterThanOrEqual(25);
    });

    test('of a fallback: what each target was called, how it failed, and what was asked of the last', async () => {
      a.stop();
      const { entry } = await ask(both({}, { override_params: { model: 'gpt-4.1' } }));
      expect(entry).toMatchObject({ attempt_count: 2, status: 200, virtual_key: 'b', model: 'gpt-4o' });
      expect(entry.attempts).toMatchObject([
        { target: 'config.targets[0]', virtual_key: 'a', model: 'gpt-4.1', host: a.host, status: null },
        { target: 'config.targets[1]', virtual_key: 'b', model: 'gpt-4o', reason: 'fallback', status: 200 },
      ]);
      expect(entry.attempts[0].error_code).toBe('upstream_unreachable');
      expectWaterfall(entry);
      expect(JSON.parse(entry.request.body).model).toBe('gpt-4o');
      expect(entry.request_bytes).toBe(b.asked[0]!.length);
    });

    test('of a fallback keep the model that the call named where a target sets none', async () => {
      b.answers.push(busy);
      const config = { strategy: { mode: 'fallback' }, targets: both().targets.toReversed() };
      const { entry } = await ask(config);
      expect(entry.model).toBe('gpt-4o-mini');
      expect(entry.attempts.map(({ model }: { model: string }) => model)).toEqual(['gpt-4o', 'gpt-4o-mini']);
    });

    test('say which target was passed over because its circuit is open', async () => {
      const breaker = { failure_threshold: 1, cooldown_interval: 30_000 };
      const config = both({ cb_config: breaker });
      a.answers.push(busy);
      await ask(config);
      const { entry } = await ask(config);
      expect(entry.attempt_count).toBe(1);
      expect(entry.attempts).toMatchObject([
        { target: 'config.targets[0]', virtual_key: 'a', skipped: true, reason: 'circuit_open', host: null },
        { target: 'config.targets[1]', virtual_key: 'b', skipped: false, reason: null, status: 200, total_tokens: 7 },
      ]);
    });

    test('say where a guardrail denied an answer and another target was asked', async () => {
      a.answers.push(() => Response.json(answer('forbidden')));
      const config = both({ on_status_codes: [446] }, { output_guardrails: [words] });
      const { entry } = await ask(config);
      // Both answers were paid for.
      expect(entry).toMatchObject({ status: 200, attempt_count: 2, total_tokens: 14 });
      expect(entry.attempts).toMatchObject([
        { status: 200, error_code: 'guardrail_denied', total_tokens: 7, guardrails: [{ hook: 'output', deny: true }] },
        { status: 200, error_code: null, reason: 'fallback', total_tokens: 7, guardrails: [] },
      ]);
      expect(entry.attempts[0].cost).toBeGreaterThan(0);
      expect(entry.cost).toBeCloseTo(entry.attempts[0].cost + entry.attempts[1].cost, 12);
      expect(entry.attempts[0].guardrails[0].started_ms).toBeGreaterThanOrEqual(0);
    });

    test('say where a guardrail denied the request before anyone was asked', async () => {
      const forbidden = { ...chat, messages: [{ role: 'user', content: 'forbidden' }] };
      const { entry } = await ask({ virtual_key: 'a', input_guardrails: [words] }, forbidden);
      expect(entry).toMatchObject({ status: 446, attempt_count: 0 });
      expect(entry.attempts).toMatchObject([
        {
          skipped: true,
          status: 446,
          error_code: 'guardrail_denied',
          host: null,
          guardrails: [{ hook: 'input', deny: true }],
        },
      ]);
      const config = both({ on_status_codes: [446] }, { input_guardrails: [words] });
      const other = (await ask(config, forbidden)).entry;
      expect(other).toMatchObject({ status: 200, attempt_count: 1 });
      expect(other.attempts).toMatchObject([{ skipped: true }, { skipped: false, reason: 'fallback', guardrails: [] }]);
    });

    test('of a cached answer: none, and when the cache was asked', async () => {
      const config = { virtual_key: 'a', cache: { mode: 'simple' } };
      const fresh = { ...chat, messages: [{ role: 'user', content: crypto.randomUUID() }] };
      const missed = (await ask(config, fresh)).entry;
      const hit = (await ask(config, fresh)).entry;
      expect(missed).toMatchObject({
        attempt_count: 1,
        attempts: [{ cache: { status: 'MISS' }, total_tokens: 7 }],
        cache: null,
      });
      expect(hit).toMatchObject({ attempt_count: 0, attempts: [], cache: { status: 'HIT', target: 'config' } });
      expect(hit.cache.duration_ms).toBeGreaterThanOrEqual(0);
      expect(hit.cache.started_ms).toBeLessThanOrEqual(hit.duration_ms);
    });

    test('say that a server was asked again without the wish for usage', async () => {
      a.answers.push(() => Response.json({ error: { message: 'unknown field stream_options' } }, { status: 400 }));
      const { entry } = await ask({ virtual_key: 'a' }, { ...chat, stream: true });
      expect(entry.attempts).toMatchObject([
        { status: 400, reason: null },
        { status: 200, reason: 'stream_options_refused' },
      ]);
      expectWaterfall(entry);
    });

    test('say which target a limit kept from being asked', async () => {
      await gateway.given.virtualKey({ slug: `spent-${engine}`, usage_limits: { type: 'tokens', credit_limit: 1 } });
      const targets = [{ virtual_key: `spent-${engine}` }, { virtual_key: 'b' }];
      const { entry } = await ask({ strategy: { mode: 'fallback' }, targets });
      expect(entry).toMatchObject({ status: 200, attempt_count: 1 });
      expect(entry.attempts).toMatchObject([
        { target: 'config.targets[0]', skipped: true, status: 412, host: null, reason: null },
        { target: 'config.targets[1]', skipped: false, reason: 'fallback' },
      ]);
      expect(entry.attempts[0].error_code).toMatch(/limit|budget/);
    });

    test('of a provider inside the gateway have no host', async () => {
      await gateway.given.virtualKey({ slug: 'inside', provider: 'simulator', key: undefined, custom_host: undefined });
      const reply = await gateway.api.post('/v1/chat/completions', chat, {
        headers: { 'x-gateway-virtual-key': 'inside' },
      });
      const { attempts, attempt_count } = await gateway.logOf(reply);
      expect([reply.status, attempt_count]).toEqual([200, 1]);
      expect(attempts).toMatchObject([{ provider: 'simulator', host: null, connect_ms: null, status: 200 }]);
    });

    test('of a client that left in the middle of a stream', async () => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': ADMIN_KEY,
          'x-gateway-virtual-key': 'sim',
          'content-type': 'application/json',
          'x-simulate': 'stall=after:3',
        },
        body: JSON.stringify({ ...chat, stream: true }),
      });
      const reader = response.body!.getReader();
      await reader.read();
      await reader.cancel();
      const entry = await gateway.logOf(response);
      expect(entry.attempts).toMatchObject([{ status: 200, error_code: 'client_closed', ended_ms: entry.duration_ms }]);
    });

    test('of a translated call hold what the client said and what the provider was told', async () => {
      const reply = await gateway.api.post(
        '/v1/chat/completions',
        { ...chat, model: 'claude-sonnet-4-5' },
        {
          headers: { 'x-gateway-virtual-key': 'claude' },
        },
      );
      const entry = await gateway.logOf(reply);
      const [{ request, response }] = entry.attempts;
      expect(JSON.parse(entry.request.body)).toEqual({ ...chat, model: 'claude-sonnet-4-5' });
      expect(JSON.parse(request.body)).toMatchObject({ model: 'claude-sonnet-4-5', max_tokens: expect.any(Number) });
      expect(JSON.parse(response.body)).toMatchObject({ type: 'message', role: 'assistant' });
      expect(JSON.parse(entry.response.body)).toMatchObject({ object: 'chat.completion' });

      const streamed = await gateway.api.post(
        '/v1/chat/completions',
        { ...chat, model: 'claude-sonnet-4-5', stream: true },
        {
          headers: { 'x-gateway-virtual-key': 'claude' },
        },
      );
      const stream = await gateway.logOf(streamed);
      expect(stream.attempts[0].response.body).toContain('event: message_start');
      expect(stream.response.body).toContain('chat.completion.chunk');
    });

    test('of a translated call keep to the settings for bodies, and to what guardrails blanked out', async () => {
      const secret = {
        ...chat,
        model: 'claude-sonnet-4-5',
        messages: [{ role: 'user', content: 'mail ann@example.com' }],
      };
      const plain = await ask({ virtual_key: 'claude' }, secret, { 'x-gateway-debug': 'false' });
      expect(plain.entry.attempts).toMatchObject([{ request: null, response: null, status: 200 }]);
      const mask = { 'default.regexReplace': { rule: 'ann@[a-z.]+', redactText: '[mail]' } };
      const masked = await ask({ virtual_key: 'claude', input_guardrails: [mask], output_guardrails: [words] }, secret);
      expect(masked.reply.status).toBe(200);
      expect(masked.entry.attempts[0].request.body).toContain('[mail]');
      expect(masked.entry.attempts[0].response).toBeNull();
      expect(JSON.stringify(masked.entry)).not.toContain('ann@example.com');
      const long = { ...secret, messages: [{ role: 'user', content: 'x'.repeat(10_000) }] };
      const cut = (await ask({ virtual_key: 'claude' }, long)).entry;
      expect(cut.attempts[0].request).toMatchObject({ truncated: true });
      expect(cut.attempts[0].request.body.length).toBeLessThanOrEqual(4096);
    });
  });
}
