import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attributesIn, type Collector, KINDS, type ReadSpan, startCollector } from '../collector.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] };
const answer = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-4o-mini-2024-07-18',
  choices: [{ index: 0, message: { role: 'assistant', content: 'fine' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
};
const words = { 'default.contains': { words: ['forbidden'], operator: 'none' }, deny: true };

/** A provider that notes the context of each request, and whose next answers a test lays out. */
function startStub() {
  const answers: (() => Response | Promise<Response>)[] = [];
  const contexts: { traceparent: string | null; tracestate: string | null }[] = [];
  const { origin, stop } = serve(async (request) => {
    contexts.push({ traceparent: request.headers.get('traceparent'), tracestate: request.headers.get('tracestate') });
    await request.text();
    return answers.shift()?.() ?? Response.json(answer);
  });
  return { url: `${origin}/v1`, host: new URL(origin).host, answers, contexts, stop };
}

const busy = () => new Response('{}', { status: 503, headers: { 'retry-after-ms': '5' } });

/** The spans of one trace, once its root is there. */
async function traceOf(collector: Collector, traceId: string, name = ' /v1/'): Promise<ReadSpan[]> {
  const found = () => collector.spans.filter((span) => span.traceId === traceId);
  await eventually(`the trace ${traceId}`, () => found().some((span) => span.name.includes(name)));
  return found();
}

const traceIdOf = (reply: { headers: Headers }) => reply.headers.get('x-gateway-request-id')!.replaceAll('-', '');

describe('calls with a destination for traces', () => {
  let gateway: TestGateway;
  const collector = startCollector();
  const a = startStub();
  const b = startStub();
  beforeAll(async () => {
    gateway = await startGateway({
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.origin}/base/`,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20c2VjcmV0,x-scope=team',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test,service.name=front',
        OTEL_BSP_SCHEDULE_DELAY: '20',
      },
    });
    await gateway.given.virtualKey({ slug: 'a', custom_host: a.url });
    await gateway.given.virtualKey({ slug: 'b', custom_host: b.url });
  });
  afterAll(async () => {
    await gateway.stop();
    collector.stop();
    a.stop();
    b.stop();
  });

  const ask = (config: object, body: object = chat, headers: Record<string, string> = {}) =>
    gateway.api.post('/v1/chat/completions', body, {
      headers: { 'x-gateway-config': JSON.stringify(config), ...headers },
    });

  test('a call is a server span under the client’s, with the request to the provider below it', async () => {
    a.contexts.length = 0;
    const reply = await ask(
      { virtual_key: 'a' },
      { ...chat, temperature: 0.5, max_tokens: 10, stop: ['end'] },
      {
        traceparent: `00-${TRACE}-${PARENT}-01`,
        tracestate: 'vendor=one, other=two',
        'x-gateway-metadata': '{"team":"blue","_user":"ada"}',
        'x-gateway-session-id': 'session-1',
      },
    );
    const spans = await traceOf(collector, TRACE);
    const [server, client] = [
      spans.find(({ kind }) => kind === KINDS.server)!,
      spans.find(({ kind }) => kind === KINDS.client)!,
    ];
    expect(spans).toHaveLength(2);
    expect(server.name).toBe('POST /v1/chat/completions');
    expect(server.parentSpanId).toBe(PARENT);
    expect(server.traceState).toBe('vendor=one,other=two');
    expect(server.resource).toMatchObject({ 'service.name': 'front', 'deployment.environment': 'test' });
    expect(server.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'url.path': '/v1/chat/completions',
      'http.response.status_code': 200,
      'gateway.request.id': reply.headers.get('x-gateway-request-id')!,
      'gateway.trace.id': TRACE,
      'gateway.metadata.team': 'blue',
      'user.id': 'ada',
      'session.id': 'session-1',
    });
    expect(server.attributes['gateway.workspace.name']).toBeString();
    expect(server.attributes['gateway.api_key.name']).toBeString();
    expect(client.name).toBe('chat gpt-4o-mini');
    expect(client.parentSpanId).toBe(server.spanId);
    expect(client.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o-mini',
      'gen_ai.response.model': 'gpt-4o-mini-2024-07-18',
      'gen_ai.response.id': 'chatcmpl-1',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.max_tokens': 10,
      'gen_ai.request.stop_sequences': ['end'],
      'gen_ai.usage.input_tokens': 3,
      'gen_ai.usage.output_tokens': 4,
      'gen_ai.conversation.id': 'session-1',
      'gateway.metadata.team': 'blue',
      'server.address': '127.0.0.1',
      'server.port': Number(a.host.split(':')[1]),
      'openai.api.type': 'chat_completions',
    });
    expect(client.attributes['gen_ai.usage.cost']).toBeCloseTo((3 * 0.15 + 4 * 0.6) / 1e6, 12);
    expect(Object.keys(server.attributes).filter((name) => name.startsWith('gen_ai.'))).toEqual([]);
    expect(JSON.stringify(spans, (_, value) => (typeof value === 'bigint' ? String(value) : value))).not.toContain(
      'Hello',
    );
    expect(server.start).toBeLessThanOrEqual(client.start);
    expect(client.end).toBeLessThanOrEqual(server.end + 1_000n);
    // The provider is told of the span of its own request, and its state goes along.
    expect(a.contexts).toEqual([
      { traceparent: `00-${TRACE}-${client.spanId}-01`, tracestate: 'vendor=one,other=two' },
    ]);
    const [sent] = collector.requests;
    expect(sent!.path).toBe('/base/v1/traces');
    expect(sent!.headers.get('authorization')).toBe('Basic c2VjcmV0');
    expect(sent!.headers.get('content-encoding')).toBe('gzip');
    expect(sent!.headers.get('content-type')).toBe('application/x-protobuf');
  });

  test('each retry and each fallback is a span of its own, whose id its provider got', async () => {
    a.contexts.length = 0;
    b.contexts.length = 0;
    a.answers.push(busy, busy);
    const reply = await ask({
      strategy: { mode: 'fallback' },
      targets: [
        { virtual_key: 'a', retry: { attempts: 1 } },
        { virtual_key: 'b', override_params: { model: 'gpt-4o' } },
      ],
    });
    expect(reply.status).toBe(200);
    const spans = await traceOf(collector, traceIdOf(reply));
    const server = spans.find(({ kind }) => kind === KINDS.server)!;
    const clients = spans
      .filter(({ kind }) => kind === KINDS.client)
      .sort((one, other) => Number(one.start - other.start));
    expect(server.parentSpanId).toBe('');
    expect(clients.map(({ parentSpanId }) => parentSpanId)).toEqual(Array(3).fill(server.spanId));
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(4);
    expect(clients.map(({ isError }) => isError)).toEqual([true, true, false]);
    expect(clients.map(({ attributes }) => attributes['gateway.attempt.reason'])).toEqual([
      undefined,
      'retry',
      'fallback',
    ]);
    expect(clients.map(({ attributes }) => attributes['gateway.target'])).toEqual([
      'config.targets[0]',
      'config.targets[0]',
      'config.targets[1]',
    ]);
    expect(clients[2]!.name).toBe('chat gpt-4o');
    expect(clients.map(({ attributes }) => attributes['gen_ai.usage.input_tokens'])).toEqual([undefined, undefined, 3]);
    const told = [...a.contexts, ...b.contexts].map(({ traceparent }) => traceparent);
    expect(told).toEqual(clients.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`));
  });

  test('guardrails have spans below the call, also one that keeps it from every provider', async () => {
    const passed = await ask({ virtual_key: 'a', input_guardrails: [words], output_guardrails: [words] });
    const denied = await ask(
      { virtual_key: 'a', input_guardrails: [words] },
      { ...chat, messages: [{ role: 'user', content: 'a forbidden word' }] },
    );
    expect([passed.status, denied.status]).toEqual([200, 446]);
    const good = await traceOf(collector, traceIdOf(passed));
    const looks = good.filter(({ name }) => name.startsWith('guardrail '));
    const server = good.find(({ kind }) => kind === KINDS.server)!;
    expect(looks.map(({ attributes }) => attributes['gateway.guardrail.hook'])).toEqual(['input', 'output']);
    expect(looks.map(({ parentSpanId }) => parentSpanId)).toEqual([server.spanId, server.spanId]);
    const bad = await traceOf(collector, traceIdOf(denied));
    expect(bad.map(({ kind }) => kind).sort()).toEqual([KINDS.internal, KINDS.server]);
    expect(bad.find(({ kind }) => kind === KINDS.internal)!.attributes).toMatchObject({
      'gateway.guardrail.verdict': 'failed',
      'gateway.guardrail.denied': true,
    });
    expect(bad.find(({ kind }) => kind === KINDS.server)!.attributes).toMatchObject({
      'error.type': 'guardrail_denied',
    });
  });

  test('an answer from the cache has a span for the look, and none for a provider', async () => {
    const config = { virtual_key: 'a', cache: { mode: 'simple', max_age: 60 } };
    const body = { ...chat, messages: [{ role: 'user', content: 'keep this' }] };
    const first = await traceOf(collector, traceIdOf(await ask(config, body)));
    const second = await traceOf(collector, traceIdOf(await ask(config, body)));
    const statuses = (spans: ReadSpan[]) =>
      spans.filter(({ name }) => name === 'cache lookup').map(({ attributes }) => attributes['gateway.cache.status']);
    expect(statuses(first)).toEqual(['MISS']);
    expect(statuses(second)).toEqual(['HIT']);
    expect(second.some(({ kind }) => kind === KINDS.client)).toBe(false);
  });

  test('streams say when their first piece came, a client that leaves and a provider that is down what went wrong', async () => {
    const streamed = await gateway.api.post(
      '/v1/chat/completions',
      { ...chat, stream: true },
      { headers: { 'x-gateway-virtual-key': 'sim' } },
    );
    const stream = (await traceOf(collector, traceIdOf(streamed))).find(({ kind }) => kind === KINDS.client)!;
    expect(stream.attributes).toMatchObject({
      'gen_ai.request.stream': true,
      'gen_ai.response.finish_reasons': ['stop'],
    });
    expect(stream.attributes['gen_ai.response.time_to_first_chunk']).toBeNumber();

    const leave = new AbortController();
    a.answers.push(async () => {
      leave.abort();
      await Bun.sleep(500);
      return Response.json(answer);
    });
    const left = '1'.repeat(32);
    await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': 'gw-admin-key-for-tests-only',
        'x-gateway-virtual-key': 'a',
        traceparent: `00-${left}-${PARENT}-01`,
      },
      body: JSON.stringify(chat),
      signal: leave.signal,
    }).catch(() => {});
    const gone = await traceOf(collector, left);
    expect(gone.find(({ kind }) => kind === KINDS.server)!.attributes).toMatchObject({
      'http.response.status_code': 499,
    });
    expect(gone.find(({ kind }) => kind === KINDS.client)!.attributes).toMatchObject({ 'error.type': 'client_closed' });

    const down = startStub();
    await gateway.given.virtualKey({ slug: 'down', custom_host: down.url });
    down.stop();
    const failed = await ask({ virtual_key: 'down' });
    const [server, client] = (await traceOf(collector, traceIdOf(failed))).sort((one, other) => one.kind - other.kind);
    expect(failed.status).toBe(502);
    expect(server!.isError).toBe(true);
    expect(client!.isError).toBe(true);
    expect(client!.attributes).toMatchObject({ 'error.type': 'upstream_unreachable' });
  });

  test('a broken traceparent is no parent: the trace begins here', async () => {
    for (const traceparent of [
      `00-${TRACE}-${PARENT}`,
      `ff-${TRACE}-${PARENT}-01`,
      `00-${'0'.repeat(32)}-${PARENT}-01`,
      `00-${TRACE}-${PARENT}-01-more`,
    ]) {
      const reply = await ask({ virtual_key: 'a' }, chat, { traceparent, tracestate: 'a=b' });
      const server = (await traceOf(collector, traceIdOf(reply))).find(({ kind }) => kind === KINDS.server)!;
      expect([server.parentSpanId, server.traceState]).toEqual(['', '']);
    }
  });

  test('what a client forges in its context reaches no provider', async () => {
    a.contexts.length = 0;
    await ask({ virtual_key: 'a' }, chat, { traceparent: 'nonsense', tracestate: 'stolen=1' });
    expect(a.contexts[0]!.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{12}0001-01$/);
    expect(a.contexts[0]!.tracestate).toBeNull();
  });
});

describe('destinations', () => {
  const start = (environment: Record<string, string>) =>
    startGateway({ environment: { OTEL_BSP_SCHEDULE_DELAY: '10', ...environment } });
  const health = async (gateway: TestGateway) =>
    (await gateway.api.get('/health')).json.degraded as { part: string; effect: string }[];

  test('without one, nothing is added to what goes to a provider', async () => {
    const stub = startStub();
    const gateway = await startGateway();
    await gateway.given.virtualKey({ slug: 'a', custom_host: stub.url });
    const headers = { 'x-gateway-virtual-key': 'a' };
    await gateway.api.post('/v1/chat/completions', chat, { headers });
    await gateway.api.post('/v1/chat/completions', chat, { headers: { ...headers, traceparent: 'as sent' } });
    await gateway.stop();
    stub.stop();
    expect(stub.contexts.map(({ traceparent }) => traceparent)).toEqual([null, 'as sent']);
  });

  test('several get the same spans, each in its form; content only where the operator wants it', async () => {
    const [one, other] = [startCollector(), startCollector()];
    const gateway = await startGateway({ environment: {} });
    const file = join(gateway.dataDir, 'destinations.json');
    writeFileSync(
      file,
      JSON.stringify([
        {
          name: 'one',
          endpoint: one.origin,
          protocol: 'http/json',
          compression: 'none',
          headers: { 'x-key': 's3cret' },
        },
        { name: 'other', endpoint: other.origin, signals: ['traces'] },
      ]),
    );
    const traced = await start({
      GATEWAY_OTEL_DESTINATIONS_FILE: file,
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
    });
    const reply = await traced.api.post('/v1/chat/completions', chat, { headers: { 'x-gateway-virtual-key': 'sim' } });
    const traceId = traceIdOf(reply);
    const [json, proto] = [await traceOf(one, traceId), await traceOf(other, traceId)];
    const plain = (spans: ReadSpan[]) =>
      spans.map(({ spanId, name, start: begun, attributes }) => ({ spanId, name, begun, attributes }));
    expect(plain(json)).toEqual(plain(proto));
    const client = proto.find(({ kind }) => kind === KINDS.client)!;
    expect(JSON.parse(client.attributes['gen_ai.input.messages'] as string)).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'Hello' }] },
    ]);
    expect(JSON.parse(client.attributes['gen_ai.output.messages'] as string)[0]).toMatchObject({
      role: 'assistant',
      finish_reason: 'stop',
    });
    expect(one.requests[0]!.headers.get('content-encoding')).toBeNull();
    await traced.stop();
    await gateway.stop();
    one.stop();
    other.stop();
  });

  test('one that refuses, fails, asks for patience or hangs is counted and shown, and no call waits for it', async () => {
    const collector = startCollector();
    const gateway = await start({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.origin}/v1/traces`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '300',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=s3cret-of-a-destination',
      OTEL_BSP_MAX_QUEUE_SIZE: '20',
    });
    const call = () => gateway.api.post('/v1/chat/completions', chat, { headers: { 'x-gateway-virtual-key': 'sim' } });
    const metric = async (name: string) =>
      Number(
        new RegExp(`^${name}\\{destination="default/traces"\\} (\\d+)$`, 'm').exec(
          (await gateway.api.get('/metrics')).text,
        )?.[1],
      );

    collector.answerAlways(() => new Response('no', { status: 401 }));
    expect((await call()).status).toBe(200);
    await eventually('refused spans', async () => (await metric('gateway_otel_refused_total')) >= 2);
    expect((await health(gateway)).find(({ part }) => part === 'tracing')!.effect).toContain(
      'default/traces answers 401',
    );

    // Asked to wait, it waits, and sends the same again.
    collector.answerAlways(null);
    collector.answers.push(() => new Response(null, { status: 429, headers: { 'retry-after': '0' } }));
    const late = await call();
    await traceOf(collector, traceIdOf(late));
    await eventually('health', async () => (await health(gateway)).every(({ part }) => part !== 'tracing'));

    const hanging: (() => void)[] = [];
    collector.answerAlways(() => new Promise((resolve) => hanging.push(() => resolve(new Response(null)))));
    const begun = performance.now();
    for (let calls = 0; calls < 30; calls++) expect((await call()).status).toBe(200);
    expect(performance.now() - begun).toBeLessThan(60_000);
    await eventually('dropped spans', async () => (await metric('gateway_otel_dropped_total')) > 0);
    expect((await health(gateway)).find(({ part }) => part === 'tracing')!.effect).toContain('does not answer');
    const shown = JSON.stringify([await health(gateway), (await gateway.api.get('/metrics')).text]);
    expect(shown).not.toContain('s3cret');
    expect(shown).not.toContain(collector.origin);
    for (const release of hanging) release();
    await gateway.stop();
    collector.stop();
  });

  test('a part of all traces is kept by ratio; failed and slow calls are kept beside them', async () => {
    const collector = startCollector();
    const gateway = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
      GATEWAY_OTEL_SLOW_MS: '300',
    });
    const call = (text: string, headers: Record<string, string> = {}) =>
      gateway.api.post(
        '/v1/chat/completions',
        { ...chat, messages: [{ role: 'user', content: text }] },
        { headers: { 'x-gateway-virtual-key': 'sim', ...headers } },
      );
    const plain = await call('Hello');
    const failed = await call('[[simulate: status=500]]');
    const slow = await call('[[simulate: delay=400]]');
    await call('Hello', { traceparent: `00-${TRACE}-${PARENT}-01` });
    for (const traceId of [traceIdOf(failed), traceIdOf(slow), TRACE]) await traceOf(collector, traceId);
    expect(collector.spans.some(({ traceId }) => traceId === traceIdOf(plain))).toBe(false);
    await gateway.stop();
    collector.stop();
  });
});

describe('metrics', () => {
  // biome-ignore lint/suspicious/noExplicitAny: what was received is looked into
  const pointsOf = (collector: Collector, name: string): any[] => {
    const last = collector.metrics.at(-1);
    const metric = last?.resourceMetrics[0].scopeMetrics[0].metrics.find(
      (each: { name: string }) => each.name === name,
    );
    const { dataPoints = [] } = metric?.histogram ?? metric?.sum ?? {};
    // biome-ignore lint/suspicious/noExplicitAny: the same
    return dataPoints.map((point: any) => ({ ...point, attributes: attributesIn(point.attributes) }));
  };

  test('count every call by the names of both conventions, whatever the sampler says, and alone leave headers as they are', async () => {
    const [proto, json, stub] = [startCollector(), startCollector(), startStub()];
    const other = await startGateway();
    const file = join(other.dataDir, 'destinations.json');
    writeFileSync(
      file,
      JSON.stringify([
        { name: 'proto', endpoint: proto.origin },
        { name: 'json', endpoint: json.origin, protocol: 'http/json' },
      ]),
    );
    const gateway = await startGateway({
      environment: {
        GATEWAY_OTEL_DESTINATIONS_FILE: file,
        GATEWAY_OTEL_SEMCONV: 'both',
        OTEL_TRACES_EXPORTER: 'none',
        OTEL_METRIC_EXPORT_INTERVAL: '100',
      },
    });
    await gateway.given.virtualKey({ slug: 'a', custom_host: stub.url });
    const headers = { 'x-gateway-virtual-key': 'a', traceparent: `00-${TRACE}-${PARENT}-00` };
    stub.answers.push(() => new Response('{}', { status: 500 }));
    for (let calls = 0; calls < 3; calls++) await gateway.api.post('/v1/chat/completions', chat, { headers });
    const durations = (collector: Collector) => pointsOf(collector, 'gen_ai.client.operation.duration');
    const total = (collector: Collector) =>
      durations(collector).reduce((sum: number, { count }: { count: string }) => sum + Number(count), 0);
    for (const collector of [proto, json]) {
      await eventually('three calls', () => total(collector) === 3);
      const failed = durations(collector).find(({ attributes }) => attributes['error.type'] === '500');
      expect(Number(failed.count)).toBe(1);
      const [input] = pointsOf(collector, 'gen_ai.client.token.usage').filter(
        ({ attributes }) => attributes['gen_ai.token.type'] === 'input',
      );
      expect(input).toMatchObject({ sum: 6, attributes: { 'gen_ai.request.model': 'gpt-4o-mini' } });
      expect(Number(input.count)).toBe(2);
      expect(input.bucketCounts.map(Number)).toEqual([0, 2, ...Array(13).fill(0)]);
      expect(input.explicitBounds).toHaveLength(14);
      expect(pointsOf(collector, 'gen_ai.client.inference.usage.output_tokens')[0].asDouble).toBe(8);
      expect(pointsOf(collector, 'gateway.usage.cost')[0].asDouble).toBeGreaterThan(0);
      expect(collector.spans).toEqual([]);
    }
    expect(stub.contexts.map(({ traceparent }) => traceparent)).toEqual(Array(3).fill(headers.traceparent));
    await gateway.stop();
    await other.stop();
    for (const each of [proto, json, stub]) each.stop();
  });
});
