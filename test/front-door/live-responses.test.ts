import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { OpenAI } from 'openai-7';
import { ResponsesWS } from 'openai-7/resources/responses/ws';
import { ADMIN_KEY, serve, startGateway, startProvider, type TestGateway } from '../gateway.ts';
import { create, type Live, openLive, textOf } from '../live-client.ts';
import { givenBrowser } from '../people.ts';
import { eventually, forTests, newDataDir, removeDataDir, startProcess } from '../process.ts';
import { startRecorder } from '../recorder.ts';
import { openSocket, requestText } from '../socket.ts';

/** Only ends what hangs. */
const LIMIT_MS = 300_000;

/** A provider of the Responses API that keeps nothing: it says how many items it was told, and what the last one was. */
const created = (id: string, body: { input: unknown; store?: boolean; previous_response_id?: string }) => {
  const items = Array.isArray(body.input) ? body.input : [body.input];
  const text = `${items.length} items`;
  const response = {
    id,
    object: 'response',
    status: 'completed',
    model: 'any-model',
    store: body.store !== false,
    previous_response_id: body.previous_response_id ?? null,
    output: [
      { type: 'reasoning', id: `rs_${id}`, summary: [] },
      {
        type: 'message',
        id: `msg_${id}`,
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text }],
      },
    ],
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  };
  const events = [
    { type: 'response.created', sequence_number: 0, response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_text.delta', sequence_number: 1, delta: text, item_id: `msg_${id}`, output_index: 1 },
    { type: 'response.completed', sequence_number: 2, response },
  ];
  const lines = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  return new Response(lines, { headers: { 'content-type': 'text/event-stream' } });
};

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`Responses over WebSocket on ${engine}`, () => {
    let gateway: TestGateway;
    let vendor: ReturnType<typeof startRecorder>;
    let live: Live;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      vendor = startRecorder();
      let made = 0;
      vendor.answers(({ json }) => created(`resp_${++made}`, json));
      await gateway.given.virtualKey({ slug: 'vendor', custom_host: `${vendor.origin}/v1` });
      for (const provider of ['groq', 'anthropic', 'google'])
        await gateway.given.virtualKey({
          slug: provider,
          provider,
          custom_host: `${gateway.provider.origin}/${provider === 'google' ? 'v1beta' : 'v1'}`,
        });
      live = await openLive(gateway.url, { headers: { 'x-gateway-virtual-key': 'vendor' } });
    });
    afterAll(async () => {
      live.close();
      await gateway.stop();
      vendor.stop();
    });

    /** The calls of a session; the handshake is an entry of its own. */
    const logged = async (session: string, count: number) => {
      let calls: LiveLog[] = [];
      await eventually(`${count} calls of ${session}`, async () => {
        const { json } = await gateway.api.get(`/v1/logs?session_id=${session}`);
        calls = json.data.filter(({ method }: LiveLog) => method === 'POST');
        return calls.length >= count;
      });
      return calls;
    };

    test('each turn is a call like any other: the same events, one by one, logged and counted', async () => {
      const { key } = await gateway.given.apiKey({ name: 'live' });
      const session = `session-${engine}`;
      const headers = { 'x-gateway-virtual-key': 'anthropic', 'session-id': session };
      const spoken = await openLive(gateway.url, { key, headers });
      const events = await spoken.turn(create('Hello', { store: false }));
      spoken.close();

      const { text } = await gateway.api.post(
        '/v1/responses',
        { model: 'any-model', input: 'Hello', store: false, stream: true },
        { key, headers },
      );
      const streamed = text.split('\n\n').flatMap((event) => /^data: (\{.*)$/m.exec(event)?.[1] ?? []);
      expect(events.map(({ type }) => type)).toEqual(streamed.map((data) => JSON.parse(data).type));
      expect(textOf(events)).toContain('You said: "Hello"');
      const [first, second] = await logged(session, 2);
      for (const entry of [first, second])
        expect(entry).toMatchObject({ status: 200, provider: 'anthropic', is_stream: true });
      expect(first!.total_tokens).toBe(second!.total_tokens);
    });

    test.each(['groq', 'anthropic', 'google'])('on %s a conversation goes on from memory alone', async (slug) => {
      const spoken = await openLive(gateway.url, { headers: { 'x-gateway-virtual-key': slug } });
      const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: false }];
      const first = await spoken.turn(create('call get_weather {"city":"Oslo"}', { tools, store: false }));
      const { response } = first.at(-1);
      const call = response.output.find(({ type }: { type: string }) => type === 'function_call');
      const second = await spoken.turn(
        create([{ type: 'function_call_output', call_id: call.call_id, output: 'rain' }], {
          tools,
          store: false,
          previous_response_id: response.id,
        }),
      );
      expect(textOf(second)).toContain('rain');
      expect(second.at(-1).response.previous_response_id).toBe(response.id);
      const read = await gateway.api.get(`/v1/responses/${response.id}`, {
        headers: { 'x-gateway-virtual-key': slug },
      });
      expect(read.status).toBe(404);
      spoken.close();
    });

    test('what was said before is said again, word for word, without what only the provider could know', async () => {
      const odd = '{"type":"message","role":"user","content":"One","n":12345678901234567890}';
      const one = await live.turn(`{"type":"response.create","model":"any-model","store":false,"input":[${odd}]}`);
      expect(one.at(-1).response.id).toStartWith('resp_');
      const two = await live.turn(create('Two', { store: false, previous_response_id: one.at(-1).response.id }));
      const three = await live.turn(create('Three', { store: false, previous_response_id: two.at(-1).response.id }));
      expect(textOf(three)).toBe('5 items');
      expect(vendor.last.text).toContain(odd);
      expect(vendor.last.json).toMatchObject({ stream: true, store: false });
      expect(vendor.last.json.previous_response_id).toBeUndefined();
      expect(vendor.last.json.type).toBeUndefined();
      expect(vendor.last.json.input[1]).toEqual({
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: '1 items' }],
      });
      const fork = await live.turn(create('Other', { store: false, previous_response_id: one.at(-1).response.id }));
      expect(textOf(fork)).toBe('3 items');
    });

    test('a response that the provider keeps is gone on from there, and what follows it from memory', async () => {
      const kept = await live.turn(create('Kept'));
      const { id } = kept.at(-1).response;
      const next = await live.turn(create('Next', { store: false, previous_response_id: id }));
      expect(vendor.last.json).toMatchObject({ input: 'Next', previous_response_id: id });
      await live.turn(create('Last', { store: false, previous_response_id: next.at(-1).response.id }));
      expect(vendor.last.json.previous_response_id).toBe(id);
      expect(vendor.last.json.input).toHaveLength(3);
    });

    test('a frame that generates nothing asks nothing of a model, and is gone on from', async () => {
      const before = vendor.requests.length;
      const warm = await live.turn(
        create([{ type: 'message', role: 'developer', content: 'Be brief.' }], { generate: false }),
      );
      expect(warm.map(({ type }) => type)).toEqual(['response.created', 'response.completed']);
      expect(vendor.requests.length).toBe(before);
      const next = await live.turn(create('Hello', { previous_response_id: warm.at(-1).response.id }));
      expect(textOf(next)).toBe('2 items');
    });

    test('lanes run side by side, each in order, and say which they are', async () => {
      const spoken = await openLive(gateway.url, { headers: { 'x-gateway-virtual-key': 'anthropic' } });
      spoken.send(create('Slow. [[simulate: chunk-delay=30, chunks=10]]', { stream_id: 'slow', store: false }));
      spoken.send(create('Second of slow', { stream_id: 'slow', store: false }));
      const quick = await spoken.turn(create('Quick', { stream_id: 'quick', store: false }));
      expect(quick.at(-1)).toMatchObject({ type: 'response.completed', stream_id: 'quick' });
      await spoken.end('slow');
      const second = await spoken.end('slow');
      expect(textOf(second)).toContain('Second of slow');
      expect(new Set(spoken.heard.map(({ stream_id }) => stream_id))).toEqual(new Set(['slow', 'quick']));
      spoken.close();
    });

    test('a previous response that is nowhere is not found, and the conversation lives', async () => {
      const spoken = await openLive(gateway.url, { headers: { 'x-gateway-virtual-key': 'anthropic' } });
      const [lost] = await spoken.turn(create('Hello', { previous_response_id: 'resp_nowhere', stream_id: 'a' }));
      expect(lost).toMatchObject({ type: 'error', status: 400, stream_id: 'a' });
      expect(lost.error.code).toBe('previous_response_not_found');
      expect(textOf(await spoken.turn(create('Hello')))).toContain('Hello');
      spoken.close();
    });

    test('limits, guardrails and configs hold for each turn as for each call', async () => {
      const { key } = await gateway.given.apiKey({ rate_limits: [{ type: 'requests', unit: 'rph', value: 2 }] });
      const config = JSON.stringify({
        strategy: { mode: 'fallback', on_status_codes: [503] },
        targets: [
          { virtual_key: 'anthropic', override_params: { input: 'Down. [[simulate: status=503]]' } },
          { virtual_key: 'groq' },
        ],
      });
      const spoken = await openLive(gateway.url, { key, headers: { 'x-gateway-config': config } });
      expect(textOf(await spoken.turn(create('Hello', { store: false })))).toContain('Hello');
      const [refused] = await spoken.turn(create('Again', { store: false }));
      expect(refused).toMatchObject({ type: 'error', status: 429, error: { code: 'rate_limited' } });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      spoken.close();

      const guarded = await openLive(gateway.url, {
        headers: {
          'x-gateway-config': JSON.stringify({
            virtual_key: 'anthropic',
            input_guardrails: [{ 'default.contains': { words: ['forbidden'], operator: 'none' }, deny: true }],
          }),
        },
      });
      const [denied] = await guarded.turn(create('This is forbidden', { store: false }));
      expect(denied).toMatchObject({ type: 'error', status: 446, error: { code: 'guardrail_denied' } });
      expect(textOf(await guarded.turn(create('This is fine', { store: false })))).toContain('This is fine');
      guarded.close();
    });

    test('a key that is revoked while the WebSocket is open is not heard any more', async () => {
      for (const frame of [create('Hello', { store: false }), create('Hello', { generate: false })]) {
        const { id, key } = await gateway.given.apiKey();
        const spoken = await openLive(gateway.url, { key, headers: { 'x-gateway-virtual-key': 'anthropic' } });
        expect((await spoken.turn(frame)).at(-1).type).toBe('response.completed');
        expect((await gateway.api.delete(`/v1/api-keys/${id}`)).status).toBe(200);
        const [refused] = await spoken.turn(frame);
        expect(refused).toMatchObject({ type: 'error', status: 401, error: { code: 'invalid_api_key' } });
        expect((await spoken.closed).code).toBe(1008);
      }
    });

    test('a user who is removed is not heard any more either', async () => {
      const { user, browser } = await givenBrowser(gateway, { role: 'admin' });
      const made = await browser.call('POST', '/v1/api-keys', { name: 'own', user_id: user.id });
      expect(made.status).toBe(200);
      const spoken = await openLive(gateway.url, {
        key: made.json.key,
        headers: { 'x-gateway-virtual-key': 'anthropic' },
      });
      expect((await spoken.turn(create('Hello', { store: false }))).at(-1).type).toBe('response.completed');
      expect((await gateway.api.delete(`/v1/admin/users/${user.id}`)).status).toBe(200);
      const [refused] = await spoken.turn(create('Hello', { store: false }));
      expect(refused).toMatchObject({ type: 'error', status: 401 });
      expect((await spoken.closed).code).toBe(1008);
    });

    test("OpenAI's own client holds a conversation", async () => {
      const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'anthropic' } });
      const socket = new ResponsesWS(new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key }));
      const said: string[] = [];
      let last = '';
      const asked = ['Hello', 'And now?'];
      for await (const event of socket.stream()) {
        if (event.type === 'open')
          socket.send({ type: 'response.create', model: 'any-model', input: asked.shift()!, store: false });
        if (event.type === 'error') throw event.error;
        if (event.type !== 'message') continue;
        if (event.message.type === 'response.output_text.done') said.push(event.message.text);
        if (event.message.type !== 'response.completed') continue;
        last = event.message.response.id;
        const input = asked.shift();
        if (input === undefined) break;
        socket.send({ type: 'response.create', model: 'any-model', input, store: false, previous_response_id: last });
      }
      socket.close();
      expect(said).toHaveLength(2);
      expect(said[1]).toContain('And now?');
    });
  });
}

interface LiveLog {
  readonly method: string;
  readonly total_tokens: number;
}

const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

describe('a WebSocket of the Responses API', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ environment: { GATEWAY_SOCKETS_PER_KEY: '3' } });
    await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
  });
  afterAll(() => gateway.stop());
  const open = (more: Parameters<typeof openLive>[1] = {}) =>
    openLive(gateway.url, { ...more, headers: { 'x-gateway-virtual-key': 'claude', ...more.headers } });
  const answerTo = async (headers: Record<string, string>) => {
    const exchange = openSocket(gateway.url);
    exchange.socket.write(requestText('GET', '/v1/responses', { ...HANDSHAKE, ...headers }));
    const answer = await exchange.until((text) => text.includes('\r\n\r\n'));
    exchange.socket.destroy();
    return answer;
  };

  test('is accepted only for a caller that may call models, and tells no one the key', async () => {
    const { key: reader } = await gateway.given.apiKey({ scopes: ['models.list'] });
    expect(await answerTo({})).toStartWith('HTTP/1.1 401 ');
    expect(await answerTo({ authorization: 'Bearer gw-wrong' })).toStartWith('HTTP/1.1 401 ');
    expect(await answerTo({ cookie: 'gateway_session=anything', origin: 'https://evil.example' })).toStartWith(
      'HTTP/1.1 401 ',
    );
    expect(await answerTo({ authorization: `Bearer ${reader}` })).toStartWith('HTTP/1.1 403 ');
    // A page elsewhere opens WebSockets with the cookies of its visitors.
    const { browser } = await givenBrowser(gateway, { role: 'admin' });
    const { cookie = '' } = browser.headers;
    expect(await answerTo({ cookie, origin: 'https://evil.example' })).toStartWith('HTTP/1.1 403 ');
    expect(await answerTo({ ...browser.headers, origin: 'https://evil.example' })).toStartWith('HTTP/1.1 101 ');
    const authorization = `Bearer ${ADMIN_KEY}`;
    expect(await answerTo({ authorization, 'sec-websocket-version': '8' })).toMatch(
      /^HTTP\/1.1 400 [\s\S]*-version: 13/i,
    );
    expect(await answerTo({ authorization, 'sec-websocket-key': 'short' })).toStartWith('HTTP/1.1 400 ');
    const accepted = await answerTo({ authorization, 'sec-websocket-protocol': `realtime, secret.${ADMIN_KEY}` });
    expect(accepted).toStartWith('HTTP/1.1 101 ');
    expect(accepted).toContain('x-gateway-request-id');
    expect(accepted).not.toContain(ADMIN_KEY);
  });

  test('answers every frame that it cannot use with an error, and lives', async () => {
    const live = await open();
    const faults: [object | string, string, string | null][] = [
      ['{"type":', 'invalid_json', null],
      ['[]', 'invalid_request', 'frame'],
      ['{}', 'invalid_request', 'type'],
      [{ type: 'response.steer' }, 'invalid_request', 'type'],
      [create('x', { stream_id: 'two words' }), 'invalid_request', 'stream_id'],
      [create('x', { generate: 'no' }), 'invalid_request', 'generate'],
      [create('x', { stream: false }), 'invalid_request', 'stream'],
      [create('x', { background: true }), 'invalid_request', 'background'],
      [create('x', { previous_response_id: 5 }), 'invalid_request', 'previous_response_id'],
      [create({ type: 'message' }), 'invalid_request', 'input'],
      [`{"type":"response.create","input":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 'invalid_request', 'input'],
      [new Uint8Array([1, 2, 3]), 'invalid_request', 'frame'],
      [create('x'.repeat(17 << 20)), 'body_too_large', null],
    ];
    for (const [frame, code, param] of faults) {
      const [event] = await live.turn(frame);
      expect({ code: event.error.code, param: event.error.param, flat: event.code }).toEqual({
        code,
        param,
        flat: code,
      });
      expect(event.status).toBeGreaterThanOrEqual(400);
    }
    expect(textOf(await live.turn(create('Hello')))).toContain('Hello');
    live.close();
  });

  test('takes so many turns and lanes at once, and refuses the others', async () => {
    const live = await open();
    const slow = create('Wait. [[simulate: stall=headers]]', { store: false });
    for (let turn = 0; turn < 40; turn++) live.send({ ...slow, stream_id: 'one' });
    for (let lane = 0; lane < 20; lane++) live.send({ ...slow, stream_id: `lane-${lane}` });
    const refused = 40 - 1 - 32 + (20 - 15);
    await eventually('the others are refused', () => live.heard.length >= refused);
    expect(live.heard.map(({ error }) => error.code)).toEqual(Array(refused).fill('too_many_turns'));
    live.close();
    await eventually('the provider is left', () => gateway.provider.simulator.open === 0);
  });

  test('is one of so many that a key may have open', async () => {
    const { key } = await gateway.given.apiKey();
    const opened = await Promise.all([open({ key }), open({ key }), open({ key })]);
    const fourth = await answerTo({ authorization: `Bearer ${key}` });
    expect(fourth).toStartWith('HTTP/1.1 429 ');
    expect(fourth).toContain('too_many_sockets');
    opened[0]!.close();
    await opened[0]!.closed;
    await eventually('there is room again', async () =>
      (await answerTo({ authorization: `Bearer ${key}` })).startsWith('HTTP/1.1 101 '),
    );
    for (const live of opened) live.close();
  });

  test('is ended by its client: the provider is left, and the log says by whom', async () => {
    const live = await open({ headers: { 'x-gateway-trace-id': 'left-in-the-middle' } });
    live.send(create('Long. [[simulate: chunk-delay=50, chunks=1000]]', { store: false }));
    await eventually('it has begun', () => live.heard.length > 3);
    live.socket.terminate?.();
    await eventually('the provider is left', () => gateway.provider.simulator.open === 0);
    await eventually('it is logged', async () => {
      const { json } = await gateway.api.get('/v1/logs?trace_id=left-in-the-middle');
      return json.data.some((entry: { error_code: string }) => entry.error_code === 'client_closed');
    });
  });

  test('holds the provider back while its client does not read', async () => {
    const [pieces, delta] = [600, 'x'.repeat(64 * 1024)];
    let made = 0;
    const vendor = serve(() => {
      const pull = (controller: ReadableStreamDefaultController) => {
        if (made === pieces) return controller.close();
        made++;
        controller.enqueue(Buffer.from(`data: ${JSON.stringify({ type: 'response.output_text.delta', delta })}\n\n`));
      };
      return new Response(new ReadableStream({ pull }), { headers: { 'content-type': 'text/event-stream' } });
    });
    await gateway.given.virtualKey({ slug: 'much', custom_host: `${vendor.origin}/v1` });
    const exchange = openSocket(gateway.url);
    const headers = { ...HANDSHAKE, authorization: `Bearer ${ADMIN_KEY}`, 'x-gateway-virtual-key': 'much' };
    exchange.socket.write(requestText('GET', '/v1/responses', headers));
    await exchange.until((text) => text.includes('\r\n\r\n'));
    exchange.socket.pause();
    exchange.socket.write(maskedFrame(JSON.stringify(create('Much, please. '.repeat(20), { store: false }))));
    let before = -1;
    await eventually('the provider waits', async () => {
      const isSame = made > 0 && made === before;
      before = made;
      await Bun.sleep(500);
      return isSame;
    });
    expect(made).toBeLessThan(pieces);
    exchange.socket.resume();
    await exchange.until(() => exchange.receivedBytes > pieces * delta.length);
    expect(made).toBe(pieces);
    exchange.socket.destroy();
    vendor.stop();
  });
});

/** A text as a client's frame, masked by zeros. */
function maskedFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.from([0x81, 0x80 | 126, payload.byteLength >> 8, payload.byteLength & 255, 0, 0, 0, 0]);
  return Buffer.concat([head, payload]);
}

test(
  'a turn during which the process is killed counts once: it is neither free nor counted twice',
  async () => {
    const dataDir = newDataDir();
    const provider = startProvider();
    const headers = { 'x-gateway-virtual-key': 'sim' };
    let gateway = await startProcess({ dataDir, environment: forTests });
    const chat = { provider: 'groq', key: 'sk-test', custom_host: provider.url, name: 'sim', slug: 'sim' };
    expect((await gateway.api.post('/v1/virtual-keys', chat)).status).toBe(200);
    const limit = { rate_limits: [{ type: 'requests', unit: 'rpw', value: 3 }] };
    const { key } = (await gateway.api.post('/v1/api-keys', { name: 'limited', ...limit })).json;
    const killed = await openLive(gateway.url, { key, headers });
    killed.send(create('Slow. [[simulate: chunk-delay=50, chunks=10000]]', { store: false }));
    await eventually('it has begun', () => killed.heard.length > 3);
    await gateway.kill();
    await killed.closed;

    gateway = await startProcess({ dataDir, environment: forTests });
    const live = await openLive(gateway.url, { key, headers });
    for (const end of ['response.completed', 'response.completed', 'error'])
      expect((await live.turn(create('Hello', { store: false }))).at(-1).type).toBe(end);
    live.close();
    await gateway.stop();
    provider.stop();
    removeDataDir(dataDir);
  },
  LIMIT_MS,
);

describe('the end of a WebSocket', () => {
  const started = (environment: Record<string, string>) => startGateway({ environment });

  test('comes after an hour, in words, when its last turn is over', async () => {
    const gateway = await started({ GATEWAY_SOCKET_SECONDS: '1' });
    await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
    const live = await openLive(gateway.url, { headers: { 'x-gateway-virtual-key': 'claude' } });
    const events = await live.turn(create('Slow. [[simulate: chunk-delay=100, chunks=12]]', { store: false }));
    expect(events.at(-1).type).toBe('response.completed');
    const [event] = await live.end();
    expect(event.error.code).toBe('websocket_connection_limit_reached');
    expect((await live.closed).code).toBe(1000);
    await gateway.stop();
  });

  test('comes before its beginning where a key may have none: clients are told to go on without', async () => {
    const gateway = await started({ GATEWAY_SOCKETS_PER_KEY: '0' });
    const headers = { ...HANDSHAKE, 'x-gateway-api-key': ADMIN_KEY };
    const exchange = openSocket(gateway.url);
    exchange.socket.write(requestText('GET', '/v1/responses', headers));
    expect(await exchange.until((text) => text.includes('\r\n\r\n'))).toStartWith('HTTP/1.1 426 ');
    exchange.socket.destroy();
    await gateway.stop();
  });

  test('comes when nothing is asked for long enough', async () => {
    const gateway = await started({ GATEWAY_SOCKET_IDLE_SECONDS: '1' });
    const live = await openLive(gateway.url);
    expect(await live.closed).toEqual({ code: 1001, reason: 'idle' });
    await gateway.stop();
  });

  test('waits for the turn that is under way when the process stops; one that waits is refused', async () => {
    const gateway = await started({ GATEWAY_SHUTDOWN_SECONDS: '60' });
    await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
    const headers = { 'x-gateway-virtual-key': 'claude' };
    const [idle, busy] = [await openLive(gateway.url, { headers }), await openLive(gateway.url, { headers })];
    busy.send(create('Slow. [[simulate: chunk-delay=50, chunks=20]]', { store: false }));
    busy.send(create('Late', { store: false }));
    await eventually('it has begun', () => busy.heard.length > 1);
    const stopped = gateway.stop();
    expect((await idle.closed).code).toBe(1001);
    const [refused] = (await busy.end()).slice(-1);
    expect(refused).toMatchObject({ type: 'error', status: 503, error: { code: 'shutting_down' } });
    expect((await busy.end()).at(-1).type).toBe('response.completed');
    expect((await busy.closed).code).toBe(1001);
    await stopped;
  });
});
