import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { OpenAI as OpenAI6 } from 'openai';
import { OpenAIRealtimeWebSocket as WebSocket6 } from 'openai/realtime/websocket';
import { OpenAIRealtimeWS as WS6 } from 'openai/realtime/ws';
import { OpenAI } from 'openai-7';
import { OpenAIRealtimeWebSocket } from 'openai-7/realtime/websocket';
import { OpenAIRealtimeWS } from 'openai-7/realtime/ws';
import { finishedResponses } from '../../simulator/realtime.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { ledgerOf } from '../ledger.ts';
import { type Live, type LiveEvent, openLive } from '../live-client.ts';
import { eventually } from '../process.ts';
import { killedConversations } from '../realtime-kills.ts';
import { openSocket, requestText } from '../socket.ts';
import { startTlsFront } from '../tls-front.ts';

/** A conversation in real time, with text alone unless told otherwise. */
async function converse(gateway: TestGateway, options: Parameters<typeof openLive>[1] & { model?: string } = {}) {
  const { model = '@vendor/gpt-realtime', ...rest } = options;
  const path = `/v1/realtime?model=${encodeURIComponent(model)}`;
  const live = await openLive(gateway.url, { path, ...rest });
  await live.until('session.created');
  return live;
}

const textOnly = { type: 'session.update', session: { type: 'realtime', output_modalities: ['text'] } };
const say = (text: string) => ({
  type: 'conversation.item.create',
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
});
const ask = (live: Live, text: string, response: object = {}): Promise<LiveEvent[]> => {
  live.send(say(text));
  live.send({ type: 'response.create', response: { output_modalities: ['text'], ...response } });
  return live.end();
};
const spoken = (events: readonly LiveEvent[]): string =>
  events
    .filter(({ type }) => /\.(?:output_text|output_audio_transcript)\.delta$/.test(type))
    .map(({ delta }) => delta)
    .join('');
const sound = (text: string) => ({
  type: 'input_audio_buffer.append',
  audio: Buffer.from(text).toString('base64'),
});
const SILENCE = { type: 'input_audio_buffer.append', audio: Buffer.alloc(24).toString('base64') };

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`realtime on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      await gateway.given.virtualKey({ slug: 'vendor', provider: 'openai', custom_host: gateway.provider.url });
    });
    afterAll(() => gateway.stop());

    const logged = async (session: string, count: number) => {
      let calls: LiveEvent[] = [];
      await eventually(`${count} calls of ${session}`, async () => {
        const { json } = await gateway.api.get(`/v1/logs?session_id=${session}`);
        calls = json.data.filter(({ method }: LiveEvent) => method === 'POST');
        return calls.length >= count;
      });
      return calls;
    };

    test('text is answered, and each response is one entry of the log with what it took', async () => {
      const session = `talk-${engine}`;
      const live = await converse(gateway, { headers: { 'session-id': session } });
      expect(live.heard[0].session.model).toBe('gpt-realtime');
      const first = await ask(live, 'Hello there');
      expect(spoken(first)).toContain('You said: "Hello there"');
      const second = await ask(live, 'And again');
      expect(spoken(second)).toContain('And again');
      live.close();
      const calls = await logged(session, 2);
      expect(calls).toHaveLength(2);
      for (const [at, done] of [second, first].entries()) {
        const { usage } = done.at(-1).response;
        expect(calls[at]).toMatchObject({
          status: 200,
          provider: 'openai',
          model: 'gpt-realtime',
          path: '/v1/realtime',
        });
        expect(calls[at].total_tokens).toBe(usage.total_tokens);
      }
    });

    test('sound that is heard is answered by itself, in sound, and counted all the same', async () => {
      const session = `sound-${engine}`;
      const live = await converse(gateway, { headers: { 'session-id': session } });
      live.send(sound('How are you?'));
      live.send(SILENCE);
      const events = await live.end();
      expect(events.map(({ type }) => type)).toContain('input_audio_buffer.speech_started');
      const heard = events.filter(({ type }) => type === 'response.output_audio.delta');
      const said = heard.map(({ delta }) => Buffer.from(delta, 'base64').toString()).join('');
      expect(said).toContain('How are you?');
      live.close();
      const [call] = await logged(session, 1);
      expect(call.output_tokens).toBe(events.at(-1).response.usage.output_tokens);
    });

    test('a budget that is spent in the middle of a response ends it: told, cancelled, closed, and counted to the token', async () => {
      const usage_limits = { type: 'tokens', credit_limit: 1_000 };
      const { id, key } = await gateway.given.apiKey({ usage_limits });
      const live = await converse(gateway, { key, model: `@vendor/budget-${engine}` });
      live.send(say('Tell me all. [[simulate: length=9000, chunk-delay=1]]'));
      live.send({ type: 'response.create', response: { output_modalities: ['text'] } });
      const events = await live.until('error');
      expect(events.at(-1).error.code).toBe('budget_exhausted');
      expect(await live.closed).toEqual({ code: 1008, reason: 'budget_exhausted' });
      expect(spoken(events).length / 4).toBeGreaterThan(500);
      const [row, ...others] = await ledgerOf(gateway, id, 1);
      expect(others).toEqual([]);
      expect(row!.state).toBe('final');
      expect(row!.input_tokens + row!.output_tokens).toBe(takenAt(`budget-${engine}`));
      expect(takenAt(`budget-${engine}`)).toBeLessThan(3_000);
      // What is left, if anything, is too little for another one.
      const again = await converse(gateway, { key }).catch(() => null);
      if (again) expect((await ask(again, 'More')).at(-1).error.code).toBe('budget_exhausted');
      again?.close();
    });

    test('a limit that is reached cuts a slow response before it has said 25 words more: 250 ms at its pace', async () => {
      const { id, key } = await gateway.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 500 } });
      const live = await converse(gateway, { key, model: `@vendor/cut-${engine}` });
      const asked = say('Tell me all. [[simulate: length=3000, chunk-delay=10]]');
      const create = { type: 'response.create', response: { output_modalities: ['text'] } };
      live.send(asked);
      live.send(create);
      const events = await live.until('error');
      expect(events.at(-1).error.code).toBe('budget_exhausted');
      const words = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta.length);
      const perWord = words.reduce((sum, length) => sum + length, 0) / words.length / 4;
      // What the gateway counts for the question, until the provider says what it took.
      const input = (JSON.stringify(asked.item).length + JSON.stringify(create).length) / 4;
      const [row] = await ledgerOf(gateway, id, 1);
      const beyond = (row!.output_tokens - (500 - input)) / perWord;
      expect(beyond).toBeGreaterThan(-5);
      expect(beyond).toBeLessThan(25);
    });

    test('a response that a limit has no room for is refused in words, and the conversation goes on', async () => {
      const { key } = await gateway.given.apiKey({ rate_limits: [{ type: 'requests', unit: 'rpw', value: 1 }] });
      const live = await converse(gateway, { key });
      await ask(live, 'One');
      live.send({ type: 'response.create', event_id: 'mine' });
      const [refused] = (await live.end()).slice(-1);
      expect(refused).toMatchObject({ type: 'error', error: { code: 'rate_limited', event_id: 'mine' } });
      live.send({ ...textOnly, event_id: 'still' });
      await live.until('session.updated');
      live.close();
    });

    test('a client secret opens what it is bound to and nothing else, for as long as it holds, and once where it says so', async () => {
      const { id, key } = await gateway.given.apiKey({ defaults: { virtual_key: 'vendor' } });
      const session = {
        type: 'realtime',
        model: 'gpt-realtime',
        instructions: 'Be brief.',
        output_modalities: ['text'],
      };
      const secret = async (more: object = {}) => {
        const made = await gateway.api.post('/v1/realtime/client_secrets', { session, ...more }, { key });
        expect(made.status).toBe(200);
        return made.json.value as string;
      };
      const value = await secret();
      expect(value).toStartWith('ek_');
      expect(gateway.provider.calls).toBe(0);
      const protocols = ['realtime', `openai-insecure-api-key.${value}`];
      const live = await openLive(gateway.url, { path: '/v1/realtime?model=gpt-realtime', key: null, protocols });
      const [updated] = (await live.until('session.updated')).slice(-1);
      expect(updated.session).toMatchObject({ instructions: 'Be brief.', model: 'gpt-realtime' });
      live.send({ type: 'session.update', session: { instructions: 'Be rude.' } });
      expect((await live.until('error')).at(-1).error.code).toBe('session_bound');
      live.send({ type: 'response.create', response: { instructions: 'Be rude.' } });
      expect((await live.until('error')).at(-1).error.code).toBe('session_bound');
      live.send(say('Hello'));
      live.send({ type: 'response.create' });
      expect(spoken(await live.end())).toContain('Hello');
      live.close();
      await ledgerOf(gateway, id, 1);

      const authorization = `Bearer ${value}`;
      const other = await gateway.api.post('/v1/chat/completions', { model: 'm', messages: [] }, { key: value });
      expect(other.status).toBe(401);
      expect(await handshake(gateway, '/v1/responses', { authorization })).toStartWith('HTTP/1.1 401 ');
      expect(await handshake(gateway, '/v1/realtime?model=gpt-other', { authorization })).toContain('session_bound');
      const forged = `Bearer ${value.slice(0, -4)}AAAA`;
      expect(await handshake(gateway, '/v1/realtime', { authorization: forged })).toStartWith('HTTP/1.1 401 ');

      const once = { authorization: `Bearer ${await secret({ single_use: true })}` };
      expect(await handshake(gateway, '/v1/realtime', once)).toStartWith('HTTP/1.1 101 ');
      expect(await handshake(gateway, '/v1/realtime', once)).toContain('client_secret_used');

      const late = await gateway.api.post(
        '/v1/realtime/client_secrets',
        { session, expires_after: { seconds: 5 } },
        { key },
      );
      expect(late.json.error).toMatchObject({ code: 'invalid_request', param: 'expires_after.seconds' });
      const long = { ...session, instructions: crypto.getRandomValues(new Uint8Array(9_000)).toString() };
      const large = await gateway.api.post('/v1/realtime/client_secrets', { session: long }, { key });
      expect(large.json.error).toMatchObject({ code: 'invalid_request', param: 'session' });

      await gateway.api.delete(`/v1/api-keys/${id}`);
      expect(await handshake(gateway, '/v1/realtime', { authorization })).toStartWith('HTTP/1.1 401 ');
      for (const path of [
        '/v1/proxy/realtime/client_secrets',
        '/v1/proxy/realtime/sessions',
        '/v1/v1alpha/auth_tokens',
      ])
        expect((await gateway.api.post(path, {}, { headers: { 'x-gateway-virtual-key': 'vendor' } })).status).toBe(400);
    });

    test('a workspace that is deleted ends its conversations: one that is silent, and one in the middle of a response', async () => {
      const { id } = await gateway.given.workspace({ name: `Talking on ${engine}`, slug: `talking-${engine}` });
      await gateway.given.virtualKey({
        ...{ slug: 'vendor', provider: 'openai', custom_host: gateway.provider.url, workspace_id: id },
      });
      const { key } = await gateway.given.apiKey({ workspace_id: id });
      const model = `@vendor/deleted-${engine}`;
      const [silent, busy] = [await converse(gateway, { key, model }), await converse(gateway, { key, model })];
      busy.send(say('Go on. [[simulate: length=90000, chunk-delay=5]]'));
      busy.send({ type: 'response.create', response: { output_modalities: ['text'] } });
      await busy.until('response.output_text.delta');
      expect((await gateway.api.delete(`/v1/admin/workspaces/${id}`)).status).toBe(200);
      for (const live of [silent, busy]) {
        expect((await live.until('error')).at(-1).error.code).toBe('invalid_api_key');
        expect((await live.closed).code).toBe(1008);
      }
      await eventually('the response is cancelled', () => takenAt(`deleted-${engine}`) > 0);
      await expect(converse(gateway, { key, model })).rejects.toThrow();
      let deletion: LiveEvent;
      await eventually('nothing is left of it', async () => {
        deletion = (await gateway.api.get(`/v1/admin/workspaces/${id}/deletion`)).json;
        return deletion.status === 'completed';
      });
    });

    test('a key that is revoked ends its conversations', async () => {
      const { id, key } = await gateway.given.apiKey();
      const live = await converse(gateway, { key });
      await gateway.api.delete(`/v1/api-keys/${id}`);
      live.send({ type: 'response.create' });
      expect((await live.until('error')).at(-1).error.code).toBe('invalid_api_key');
      expect((await live.closed).code).toBe(1008);
    });
  });
}

/** What the provider says that responses of a model have taken. */
const takenAt = (model: string): number =>
  finishedResponses.filter((each) => each.model === model).reduce((sum, { tokens }) => sum + tokens, 0);

test('a budget that conversations on two nodes share ends both, and the ledger has what both took', async () => {
  const one = await startGateway({ engine: 'postgres' });
  const two = await startGateway({ engine: 'postgres', databaseUrl: one.databaseUrl! });
  await one.given.virtualKey({ slug: 'vendor', provider: 'openai', custom_host: one.provider.url });
  const { id, key } = await one.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 1_000 } });
  const ended = [one, two].map(async (node) => {
    const live = await converse(node, { key, model: '@vendor/two-nodes' });
    live.send(say('Tell me all. [[simulate: length=9000, chunk-delay=1]]'));
    live.send({ type: 'response.create', response: { output_modalities: ['text'] } });
    expect((await live.until('error')).at(-1).error.code).toBe('budget_exhausted');
    return live.closed;
  });
  for (const { code } of await Promise.all(ended)) expect(code).toBe(1008);
  const rows = await ledgerOf(one, id, 2);
  expect(rows.map(({ state }) => state)).toEqual(['final', 'final']);
  const counted = rows.reduce((sum, row) => sum + row.input_tokens + row.output_tokens, 0);
  expect(counted).toBe(takenAt('two-nodes'));
  await Promise.all([one.stop(), two.stop()]);
});

test(
  'responses during which the process is killed count once: none is free, none is counted twice',
  () => killedConversations({ sessions: 4, kills: 1 }),
  300_000,
);

describe('a conversation in real time', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
    await gateway.given.virtualKey({ slug: 'vendor', provider: 'openai', custom_host: gateway.provider.url });
  });
  afterAll(() => gateway.stop());

  test('is opened by a browser with its key as a subprotocol, which is never said back', async () => {
    const { key } = await gateway.given.apiKey();
    const offers = [`openai-insecure-api-key.${key}, realtime`, `realtime, openai-insecure-api-key.${key}`];
    for (const offer of offers)
      for (const path of ['/v1/realtime?model=@vendor/gpt-realtime', '/v1/responses']) {
        const answer = await handshake(gateway, path, { 'sec-websocket-protocol': offer });
        expect(answer).toStartWith('HTTP/1.1 101 ');
        expect(answer.toLowerCase()).toContain('sec-websocket-protocol: realtime\r\n');
        expect(answer).not.toContain(key);
      }
    const alone = await handshake(gateway, '/v1/realtime?model=@vendor/x', {
      'sec-websocket-protocol': `openai-insecure-api-key.${key}`,
    });
    expect(alone).toStartWith('HTTP/1.1 400 ');
    const forged = await handshake(gateway, '/v1/realtime?model=@vendor/x', {
      'sec-websocket-protocol': 'realtime, openai-insecure-api-key.gw-none',
    });
    expect(forged).toStartWith('HTTP/1.1 401 ');
  });

  test('with tools is held by the official client, in both of its forms and two of its versions', async () => {
    const front = startTlsFront(gateway.url);
    const options = { apiKey: ADMIN_KEY, baseURL: `${front.url}/v1` };
    const [client, client6] = [new OpenAI(options), new OpenAI6(options)];
    const model = '@vendor/gpt-realtime';
    for (const open of [
      () => new OpenAIRealtimeWS({ model, options: { rejectUnauthorized: false } }, client),
      () => trusting(() => new OpenAIRealtimeWebSocket({ model, dangerouslyAllowBrowser: true }, client)),
      () => new WS6({ model, options: { rejectUnauthorized: false } }, client6),
      () => trusting(() => new WebSocket6({ model, dangerouslyAllowBrowser: true }, client6)),
    ]) {
      const live = open() as OpenAIRealtimeWS;
      const output = Promise.withResolvers<string>();
      live.on('error', (error) => output.reject(error));
      live.on('session.created', () => {
        const tools = [{ type: 'function' as const, name: 'get_weather', parameters: { type: 'object' } }];
        live.send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['text'], tools } });
        live.send(say('call get_weather {"city":"Oslo"}') as never);
        live.send({ type: 'response.create' });
      });
      live.on('response.function_call_arguments.done', ({ call_id, arguments: given }) => {
        expect(JSON.parse(given)).toEqual({ city: 'Oslo' });
        live.send({
          type: 'conversation.item.create',
          item: { type: 'function_call_output', call_id, output: 'rain' },
        });
      });
      let responses = 0;
      live.on('response.done', () => {
        if (++responses === 1) live.send({ type: 'response.create' });
      });
      live.on('response.output_text.done', ({ text }) => output.resolve(text));
      expect(await output.promise).toContain('rain');
      live.close();
    }
    front.stop();
  });

  test('is judged: texts before they leave, transcripts when they are written, answers before they are heard', async () => {
    const words = (list: string[]) => ({ 'default.contains': { words: list, operator: 'none' }, deny: true });
    const config = {
      virtual_key: 'vendor',
      input_guardrails: [words(['forbidden'])],
      output_guardrails: [words(['unspeakable'])],
    };
    const headers = { 'x-gateway-config': JSON.stringify(config), 'session-id': 'judged' };
    const live = await converse(gateway, { headers, model: 'gpt-realtime' });
    live.send(say('This is forbidden'));
    expect((await live.until('error')).at(-1).error.code).toBe('guardrail_denied');
    const answered = await ask(live, 'This is fine');
    expect(spoken(answered)).toContain('This is fine');
    expect(live.heard.some(({ type }) => type === 'conversation.item.added')).toBe(true);
    expect(JSON.stringify(live.heard)).not.toContain('This is forbidden');

    const denied = await ask(live, 'Say something unspeakable');
    expect(denied.at(-1)).toMatchObject({ type: 'error', error: { code: 'guardrail_denied' } });
    expect(spoken(denied)).toBe('');

    const input = { transcription: { model: 'whisper-1' } };
    live.send({ type: 'session.update', session: { type: 'realtime', audio: { input } } });
    await live.until('session.updated');
    live.send(sound('A forbidden sound. [[simulate: length=300, chunk-delay=20]]'));
    live.send(SILENCE);
    expect((await live.until('error')).at(-1).error.code).toBe('guardrail_denied');
    expect((await live.until('conversation.item.deleted')).length).toBeGreaterThan(0);
    live.close();

    const session = { type: 'realtime', model: 'gpt-realtime', instructions: 'Say what is forbidden.' };
    const secret = await gateway.api.post('/v1/realtime/client_secrets', { session }, { headers });
    const opened = await handshake(gateway, '/v1/realtime', { authorization: `Bearer ${secret.json.value}` });
    expect(opened).toContain('guardrail_denied');
  });

  test('passes byte for byte, and ends as the provider ends it', async () => {
    const said: (string | Uint8Array)[] = [];
    const vendor = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: (request, server) => {
        vendorHeaders = Object.fromEntries(request.headers);
        return server.upgrade(request) ? undefined : new Response('no', { status: 400 });
      },
      websocket: {
        pong: (_, bytes) => void said.push(`pong ${bytes.toString()}`),
        message(socket, frame) {
          if (frame === '{"type":"ping me"}') return void socket.ping('there?');
          said.push(frame);
          if (frame === '{"type" : "bye"}') return socket.close(4_321, 'as you like');
          socket.send(frame);
        },
      },
    });
    let vendorHeaders: Record<string, string> = {};
    const custom_host = `http://127.0.0.1:${vendor.port}/v1`;
    await gateway.given.virtualKey({ slug: 'plain', provider: 'openai', custom_host });
    const live = await openLive(gateway.url, { path: '/v1/realtime?model=@plain/m&other=1' });
    const frames = ['{"type":"a","n":12345678901234567890, "é":"\\u00e9"}', JSON.stringify(sound('x'.repeat(70_000)))];
    for (const frame of frames) live.send(frame);
    await eventually('all is back', () => live.heard.length === 2);
    expect(said).toEqual(frames);
    live.send('{"type":"ping me"}');
    await eventually('its ping is answered', () => said.at(-1) === 'pong there?');
    expect(vendorHeaders.authorization).toBe('Bearer sk-test-credential');
    expect(JSON.stringify(vendorHeaders)).not.toContain(ADMIN_KEY);
    live.send('{"type" : "bye"}');
    expect(await live.closed).toEqual({ code: 4_321, reason: 'as you like' });
    vendor.stop(true);
  });

  test('counts a response that the provider refuses at nothing, and the next one as what it takes', async () => {
    const { id, key } = await gateway.given.apiKey();
    const live = await converse(gateway, { key });
    live.send({ type: 'response.create', response: { input: [say('[[simulate: nonsense=1]]').item] } });
    expect((await live.until('error')).at(-1).error.code).toBe('invalid_event');
    const done = await ask(live, 'Hello');
    live.close();
    const rows = await ledgerOf(gateway, id, 2);
    const { usage } = done.at(-1).response;
    expect(rows.map((row) => row.output_tokens).sort((one, other) => one - other)).toEqual([0, usage.output_tokens]);
  });

  test('answers the pings of its client', async () => {
    const exchange = openSocket(gateway.url);
    const headers = { ...HANDSHAKE, authorization: `Bearer ${ADMIN_KEY}` };
    exchange.socket.write(requestText('GET', '/v1/realtime?model=@vendor/m', headers));
    await exchange.until((text) => text.includes('session.created'));
    exchange.socket.write(Buffer.from([0x89, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
    await exchange.until((text) => text.includes('\x02hi'));
    exchange.socket.destroy();
  });

  test('answers a frame that is none in words, and goes on', async () => {
    const live = await converse(gateway);
    for (const frame of ['no json', '[]', '{"type":1}', new Uint8Array([1, 2, 3]) as never]) {
      live.send(frame);
      expect((await live.until('error')).at(-1).error.type).toBe('invalid_request_error');
    }
    live.send({ type: 'session.update', session: { type: 'realtime', model: 'gpt-other' } });
    expect((await live.until('error')).at(-1).error.param).toBe('session.model');
    expect(spoken(await ask(live, 'Hello'))).toContain('Hello');
    live.close();
  });

  test('is refused as a call would be: by the provider, by the rules on hosts, for its model, without any', async () => {
    const path = (model: string) => `/v1/realtime?model=${model}`;
    const authorization = `Bearer ${ADMIN_KEY}`;
    const refused = await handshake(gateway, path('@vendor/m'), { authorization, 'x-simulate': 'status=429' });
    expect(refused).toStartWith('HTTP/1.1 429 ');
    expect(refused).toContain('simulated error 429');
    const { status } = await gateway.api.post('/v1/virtual-keys', {
      ...{ name: 'inside', slug: 'inside', provider: 'openai', key: 'sk', custom_host: 'https://10.0.0.1/v1' },
    });
    expect(status).toBe(400);
    const host = { 'x-gateway-provider': 'openai', 'x-gateway-custom-host': 'https://10.0.0.1/v1' };
    const inside = await handshake(gateway, path('m'), {
      'x-gateway-api-key': ADMIN_KEY,
      authorization: 'Bearer sk',
      ...host,
    });
    expect(inside).toStartWith('HTTP/1.1 400 ');
    expect(inside).toContain('egress_refused');
    const { key } = await gateway.given.apiKey({ models: ['gpt-realtime-mini'] });
    expect(await handshake(gateway, path('@vendor/gpt-realtime'), { authorization: `Bearer ${key}` })).toContain(
      'model_not_allowed',
    );
    expect(await handshake(gateway, '/v1/realtime', { authorization })).toStartWith('HTTP/1.1 400 ');
    await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
    expect(await handshake(gateway, path('@claude/m'), { authorization })).toContain('unsupported_by_provider');
  });

  test('finds another provider where the first does not answer', async () => {
    await gateway.given.virtualKey({ slug: 'gone', provider: 'openai', custom_host: 'http://127.0.0.1:9/v1' });
    const config = { strategy: { mode: 'fallback' }, targets: [{ virtual_key: 'gone' }, { virtual_key: 'vendor' }] };
    const headers = { 'x-gateway-config': JSON.stringify(config), 'session-id': 'other' };
    const live = await converse(gateway, { headers, model: 'gpt-realtime' });
    expect(spoken(await ask(live, 'Hello'))).toContain('Hello');
    live.close();
  });

  test('goes by a config of its own: its model, its conditions and its credential hold for every response', async () => {
    const { id, key } = await gateway.given.apiKey();
    const config = {
      strategy: {
        mode: 'conditional',
        conditions: [{ query: { 'metadata.plan': { $eq: 'paid' } }, then: 'good' }],
        default: 'other',
      },
      // What calls are retried and kept for is nothing that a conversation has.
      retry: { attempts: 3 },
      cache: { mode: 'simple' },
      targets: [
        { name: 'good', virtual_key: 'vendor', override_params: { model: 'configured-good' } },
        { name: 'other', virtual_key: 'vendor', override_params: { model: 'configured-other' } },
      ],
    };
    const headers = { 'x-gateway-config': JSON.stringify(config), 'x-gateway-metadata': '{"plan":"paid"}' };
    const live = await converse(gateway, { key, headers: { ...headers, 'session-id': 'configured' }, model: 'asked' });
    expect(live.heard[0].session.model).toBe('configured-good');
    for (const text of ['Same', 'Same']) expect(spoken(await ask(live, text))).toContain('Same');
    live.send({ type: 'session.update', session: { type: 'realtime', model: 'configured-other' } });
    expect((await live.until('error')).at(-1).error.param).toBe('session.model');
    live.close();
    const rows = await ledgerOf(gateway, id, 2);
    expect(rows.map((row) => row.input_tokens + row.output_tokens).reduce((sum, each) => sum + each)).toBe(
      takenAt('configured-good'),
    );
    await eventually('both are logged as they went', async () => {
      const { json } = await gateway.api.get('/v1/logs?session_id=configured');
      const models = json.data
        .filter(({ method }: LiveEvent) => method === 'POST')
        .map(({ model }: LiveEvent) => model);
      return models.join() === 'configured-good,configured-good';
    });

    const brought = { provider: 'openai', api_key: 'sk-brought', custom_host: gateway.provider.url };
    const own = await converse(gateway, {
      ...{ key, headers: { 'x-gateway-config': JSON.stringify(brought), 'session-id': 'brought' }, model: 'm' },
    });
    expect(spoken(await ask(own, 'Hello'))).toContain('Hello');
    own.close();

    const fenced = await gateway.given.apiKey({ forbidden: ['inline_config'] });
    const authorization = `Bearer ${fenced.key}`;
    const path = '/v1/realtime?model=m';
    expect(await handshake(gateway, path, { ...headers, authorization })).toStartWith('HTTP/1.1 403 ');
    const limited = await gateway.given.apiKey({ models: ['asked'] });
    expect(
      await handshake(gateway, '/v1/realtime?model=asked', { ...headers, authorization: `Bearer ${limited.key}` }),
    ).toContain('model_not_allowed');
    const broken = { ...headers, 'x-gateway-config': '{"targets":[]}', authorization: `Bearer ${key}` };
    expect(await handshake(gateway, path, broken)).toStartWith('HTTP/1.1 400 ');
  });

  test('whose provider breaks off ends, and what was said is counted', async () => {
    const { id, key } = await gateway.given.apiKey();
    const live = await converse(gateway, { key });
    live.send(say('Go on. [[simulate: length=200, cut=after:100]]'));
    live.send({ type: 'response.create', response: { output_modalities: ['text'] } });
    expect((await live.until('error')).at(-1).error.code).toBe('upstream_failed');
    expect((await live.closed).code).toBe(1011);
    const [row] = await ledgerOf(gateway, id, 1);
    expect(row!.output_tokens).toBeGreaterThan(50);
  });

  test('that its client leaves in the middle of a response is counted as the provider says', async () => {
    const { id, key } = await gateway.given.apiKey();
    const live = await converse(gateway, { key });
    live.send(say('Go on. [[simulate: length=5000, chunk-delay=5]]'));
    live.send({ type: 'response.create', response: { output_modalities: ['text'] } });
    await live.until('response.output_text.delta');
    live.close();
    const [row, ...others] = await ledgerOf(gateway, id, 1);
    expect(others).toEqual([]);
    expect(row!.state).toBe('final');
    expect(row!.output_tokens).toBeLessThan(4_000);
  });

  test('waits for its response when the process stops', async () => {
    const other = await startGateway({ environment: { GATEWAY_SHUTDOWN_SECONDS: '60', GATEWAY_SOCKETS: '2' } });
    await other.given.virtualKey({ slug: 'vendor', provider: 'openai', custom_host: other.provider.url });
    const [idle, busy] = [await converse(other), await converse(other)];
    expect(await handshake(other, '/v1/realtime?model=m', { authorization: `Bearer ${ADMIN_KEY}` })).toContain(
      'sockets_exhausted',
    );
    busy.send(say('Slow. [[simulate: length=30, chunk-delay=30]]'));
    busy.send({ type: 'response.create', response: { output_modalities: ['text'] } });
    await busy.until('response.output_text.delta');
    const stopped = other.stop();
    expect((await idle.closed).code).toBe(1001);
    expect((await busy.end()).at(-1).response.status).toBe('completed');
    expect((await busy.closed).code).toBe(1001);
    await stopped;
  });
});

/** A browser that trusts any certificate, while something is opened in it. */
function trusting<Result>(open: () => Result): Result {
  const { WebSocket: own } = globalThis;
  class Trusting extends own {
    constructor(url: string, protocols: string[]) {
      super(url, { protocols, tls: { rejectUnauthorized: false } } as never);
    }
  }
  globalThis.WebSocket = Trusting as never;
  try {
    return open();
  } finally {
    globalThis.WebSocket = own;
  }
}

const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** The answer to a bare handshake. */
async function handshake({ url }: TestGateway, path: string, headers: Record<string, string>): Promise<string> {
  const exchange = openSocket(url);
  exchange.socket.write(requestText('GET', path, { ...HANDSHAKE, ...headers }));
  const answer = await exchange.until((text) => {
    const [head, body] = text.split('\r\n\r\n');
    if (body === undefined) return false;
    const length = /content-length: (\d+)/i.exec(head!)?.[1];
    return head!.includes(' 101 ') || body.length >= Number(length ?? 1);
  });
  exchange.socket.destroy();
  return answer;
}
