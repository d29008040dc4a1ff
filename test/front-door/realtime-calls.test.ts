import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { OpenAI } from 'openai-7';
import { OpenAIRealtimeWS } from 'openai-7/realtime/ws';
import { type SimulatedCall, simulatedCalls } from '../../simulator/calls.ts';
import { finishedResponses } from '../../simulator/realtime.ts';
import { startChromium } from '../chromium.ts';
import { ADMIN_KEY, serve, startGateway, startProvider, type TestGateway } from '../gateway.ts';
import { ledgerOf } from '../ledger.ts';
import { type LiveEvent, openLive } from '../live-client.ts';
import { startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { eventually, forTests, newDataDir, removeDataDir, startProcess } from '../process.ts';
import { startTlsFront } from '../tls-front.ts';

const OFFER = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n';
const offer = (...faults: string[]) => OFFER + faults.map((fault) => `a=simulate:${fault}\r\n`).join('');
const SESSION = { type: 'realtime', model: '@vendor/gpt-realtime', output_modalities: ['text'] };

interface Asked {
  readonly key?: string;
  readonly sdp?: string;
  readonly session?: object | null;
  readonly headers?: Record<string, string>;
  readonly search?: string;
}

/** The answer to an offer, and the call behind it at the provider. */
async function place(url: string, asked: Asked = {}) {
  const { key = ADMIN_KEY, sdp = OFFER, session = SESSION, headers = {}, search = '' } = asked;
  const form = new FormData();
  form.set('sdp', sdp);
  if (session) form.set('session', JSON.stringify(session));
  const reply = await fetch(`${url}/v1/realtime/calls${search}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...headers },
    body: form,
  });
  return placed(reply);
}

async function placed(reply: Response) {
  const text = await reply.text();
  const call = simulatedCalls.get(/^s=(rtc_\w+)/m.exec(text)?.[1] ?? '') as SimulatedCall;
  const id = reply.headers.get('location')?.split('/').pop() ?? '';
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was answered
  return { status: reply.status, headers: reply.headers, text, call, id, error: parsed(text)?.error as any };
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const say = (text: string) => ({
  type: 'conversation.item.create',
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
});
/** What the client of a call says on its data channel, past the gateway. */
async function ask(call: SimulatedCall, text: string): Promise<LiveEvent> {
  const before = call.heard.length;
  call.say(say(text));
  call.say({ type: 'response.create' });
  let done: LiveEvent;
  await eventually(`an answer to ${text}`, () => {
    done = call.heard.slice(before).find(({ type }) => type === 'response.done');
    return done !== undefined;
  });
  return done.response;
}
const begun = (call: SimulatedCall): Promise<void> =>
  eventually('a response has begun', () => call.heard.some(({ type }) => type === 'response.output_text.delta'));
const isOver = (call: SimulatedCall): Promise<void> => eventually('the call is over', () => call.isOver);
const takenAt = (model: string): number =>
  finishedResponses.filter((each) => each.model === model).reduce((sum, { tokens }) => sum + tokens, 0);

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`calls by WebRTC on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      await gateway.given.virtualKey({ slug: 'vendor', provider: 'openai', custom_host: gateway.provider.url });
    });
    afterAll(() => gateway.stop());

    test('an offer is answered, and each response is one entry of the log and of the ledger', async () => {
      const { id: keyId, key } = await gateway.given.apiKey();
      const session = `call-${engine}`;
      const made = await place(gateway.url, { key, headers: { 'session-id': session } });
      expect(made.status).toBe(201);
      expect(made.headers.get('content-type')).toBe('application/sdp');
      expect(made.id).toStartWith('rtc_');
      expect(made.id).not.toBe(made.call.id);
      expect(made.call.credential).toBe('Bearer sk-test-credential');
      expect(made.call.session).toMatchObject({ model: 'gpt-realtime', output_modalities: ['text'] });
      const responses = [await ask(made.call, 'Hello there'), await ask(made.call, 'And again')];
      const rows = await ledgerOf(gateway, keyId, 2);
      const taken = responses.map(({ usage }) => usage.output_tokens);
      expect(rows.map((row) => row.output_tokens).sort()).toEqual(taken.sort());
      let calls: LiveEvent[] = [];
      await eventually('both are logged', async () => {
        const { json } = await gateway.api.get(`/v1/logs?session_id=${session}`);
        calls = json.data.filter(({ path }: LiveEvent) => path === '/v1/realtime');
        return calls.length === 2;
      });
      expect(calls[0]).toMatchObject({ status: 200, provider: 'openai', model: 'gpt-realtime', virtual_key: 'vendor' });

      const reply = await gateway.api.post(`/v1/realtime/calls/${made.id}/hangup`, undefined, { key });
      expect(reply.status).toBe(200);
      expect(made.call.isOver).toBe(true);
      await eventually('it is forgotten', async () => {
        const again = await gateway.api.post(`/v1/realtime/calls/${made.id}/hangup`, undefined, { key });
        return again.json?.error?.code === 'call_not_found';
      });
    });

    test('a call is its key’s: for every other it looks missing', async () => {
      const [{ key }, { key: other }] = [await gateway.given.apiKey(), await gateway.given.apiKey()];
      const { id, call } = await place(gateway.url, { key });
      for (const [name, by] of [
        [id, other],
        [call.id, key],
        ['rtc_guessed', key],
      ] as const) {
        const reply = await gateway.api.post(`/v1/realtime/calls/${name}/hangup`, undefined, { key: by });
        expect(reply.status).toBe(404);
        expect(reply.json.error).toMatchObject({
          code: 'call_not_found',
          message: `No call ${name} of this key is under way.`,
        });
      }
      expect(call.isOver).toBe(false);
      call.end();
    });

    test('a budget that is spent in the middle of a response ends the call, counted to the token', async () => {
      const model = `called-budget-${engine}`;
      const { id, key } = await gateway.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 1_000 } });
      const { call } = await place(gateway.url, { key, session: { ...SESSION, model: `@vendor/${model}` } });
      call.say(say('Tell me all. [[simulate: length=9000, chunk-delay=1]]'));
      call.say({ type: 'response.create' });
      await isOver(call);
      const done: LiveEvent = call.heard.find(({ type }) => type === 'response.done');
      expect(done.response.status).toBe('cancelled');
      expect(call.hangups).toBeGreaterThan(0);
      const [row, ...others] = await ledgerOf(gateway, id, 1);
      expect(others).toEqual([]);
      expect(row!.state).toBe('final');
      expect(row!.input_tokens + row!.output_tokens).toBe(takenAt(model));
      expect(takenAt(model)).toBeLessThan(3_000);
    });

    test('a response for which there is no room ends the call', async () => {
      const rate_limits = [{ type: 'requests', unit: 'rpw', value: 1 }];
      const { key } = await gateway.given.apiKey({ rate_limits });
      const { call } = await place(gateway.url, { key });
      await ask(call, 'One');
      call.say(say('Two. [[simulate: length=9000, chunk-delay=1]]'));
      call.say({ type: 'response.create' });
      await isOver(call);
      const refused = await place(gateway.url, { key });
      expect(refused.status).toBe(429);
      expect(refused.error.code).toBe('rate_limited');
    });

    test('a secret places a call with its session, which its client cannot change', async () => {
      const { id: keyId, key } = await gateway.given.apiKey({ defaults: { virtual_key: 'vendor' } });
      const session = { ...SESSION, model: 'gpt-realtime', instructions: 'Be brief.' };
      const secret = async (more: object = {}) =>
        (await gateway.api.post('/v1/realtime/client_secrets', { session, ...more }, { key })).json.value as string;
      const value = await secret({ single_use: true });
      const headers = { authorization: `Bearer ${value}`, 'content-type': 'application/sdp' };
      const raw = () =>
        fetch(`${gateway.url}/v1/realtime/calls?model=gpt-realtime`, { method: 'POST', headers, body: OFFER });
      const { status, call, id } = await placed(await raw());
      expect(status).toBe(201);
      expect(call.session).toMatchObject({ instructions: 'Be brief.', model: 'gpt-realtime' });
      expect((await placed(await raw())).error.code).toBe('client_secret_used');
      await ask(call, 'Hello');
      await ledgerOf(gateway, keyId, 1);
      call.say({ type: 'session.update', session: { instructions: 'Be rude.' } });
      await isOver(call);
      expect(call.hangups).toBeGreaterThan(0);
      expect(id).toStartWith('rtc_');

      const other = await placed(
        await fetch(`${gateway.url}/v1/realtime/calls?model=gpt-other`, {
          ...{ method: 'POST', body: OFFER },
          headers: { ...headers, authorization: `Bearer ${await secret()}` },
        }),
      );
      expect(other.error.code).toBe('session_bound');
      const own = await place(gateway.url, { key: await secret() });
      expect(own.error).toMatchObject({ code: 'session_bound', param: 'session' });
      const ends = await place(gateway.url, { key: await secret(), session: null });
      const ended = await gateway.api.post(`/v1/realtime/calls/${ends.id}/hangup`, undefined, { key });
      expect(ended.status).toBe(200);
    });

    test('a call ends with its key', async () => {
      const { id, key } = await gateway.given.apiKey();
      const { call } = await place(gateway.url, { key });
      await gateway.api.delete(`/v1/api-keys/${id}`);
      call.say(say('Go on. [[simulate: length=9000, chunk-delay=1]]'));
      call.say({ type: 'response.create' });
      await isOver(call);
      expect(call.hangups).toBeGreaterThan(0);
    });

    test('a call ends with its workspace, though nothing is said in it', async () => {
      const { id } = await gateway.given.workspace({ name: `Called on ${engine}`, slug: `called-${engine}` });
      await gateway.given.virtualKey({
        ...{ slug: 'vendor', provider: 'openai', custom_host: gateway.provider.url, workspace_id: id },
      });
      const { key } = await gateway.given.apiKey({ workspace_id: id });
      const { status, call } = await place(gateway.url, { key });
      expect(status).toBe(201);
      const gone = await gateway.api.delete(`/v1/admin/workspaces/${id}`);
      expect(gone.status).toBeLessThan(300);
      await isOver(call);
      expect(call.hangups).toBeGreaterThan(0);
    });
  });
}

describe('a call by WebRTC', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
    await gateway.given.virtualKey({ slug: 'vendor', provider: 'openai', custom_host: gateway.provider.url });
  });
  afterAll(() => gateway.stop());

  test('whose side channel cannot be opened is refused and ended: none goes on unmetered', async () => {
    const before = new Set(simulatedCalls.keys());
    const refused = await place(gateway.url, { sdp: offer('side-channel=100') });
    expect(refused.status).toBe(502);
    expect(refused.error.code).toBe('call_not_watched');
    expect(refused.text).not.toContain('v=0');
    const [left] = [...simulatedCalls.values()].filter(({ id }) => !before.has(id));
    await isOver(left!);
    // It may take the provider a moment to know its own call everywhere.
    const late = await place(gateway.url, { sdp: offer('side-channel=2') });
    expect(late.status).toBe(201);
    late.call.end();
    const nameless = await place(gateway.url, { sdp: offer('no-location') });
    expect(nameless.error).toMatchObject({ code: 'call_not_watched' });
  });

  test('whose side channel breaks off is ended, and what was said is counted', async () => {
    const { id, key } = await gateway.given.apiKey();
    const { call } = await place(gateway.url, { key });
    call.say(say('Go on. [[simulate: length=200, chunk-delay=5, cut=after:100]]'));
    call.say({ type: 'response.create' });
    await isOver(call);
    expect(call.hangups).toBeGreaterThan(0);
    const [row] = await ledgerOf(gateway, id, 1);
    expect(row!.output_tokens).toBeGreaterThan(50);
  });

  test('is ended though the provider fails to at first', async () => {
    const { id, key } = await gateway.given.apiKey();
    const { call } = await place(gateway.url, { key, sdp: offer('hangup=2') });
    await gateway.api.delete(`/v1/api-keys/${id}`);
    call.say(say('Go on. [[simulate: length=20]]'));
    call.say({ type: 'response.create' });
    await isOver(call);
    expect(call.hangups).toBe(3);
  });

  test('that its client leaves is over for the gateway, too', async () => {
    const { id, key } = await gateway.given.apiKey();
    const { call, id: name } = await place(gateway.url, { key });
    call.say(say('Go on. [[simulate: length=5000, chunk-delay=5]]'));
    call.say({ type: 'response.create' });
    await begun(call);
    call.end();
    await ledgerOf(gateway, id, 1);
    await eventually('it is forgotten', async () => {
      const again = await gateway.api.post(`/v1/realtime/calls/${name}/hangup`, undefined, { key });
      return again.json?.error?.code === 'call_not_found';
    });
  });

  test('that its owner ends in the middle of a response is counted as the provider says', async () => {
    const { id, key } = await gateway.given.apiKey();
    const { call, id: name } = await place(gateway.url, { key });
    call.say(say('Go on. [[simulate: length=5000, chunk-delay=5]]'));
    call.say({ type: 'response.create' });
    await begun(call);
    await gateway.api.post(`/v1/realtime/calls/${name}/hangup`, undefined, { key });
    const done: LiveEvent = call.heard.find(({ type }) => type === 'response.done');
    const [row, ...others] = await ledgerOf(gateway, id, 1);
    expect(others).toEqual([]);
    expect(row!.output_tokens).toBe(done.response.usage.output_tokens);
  });

  test('is judged: its session before it is placed, what is said as it is told, and a denial ends it', async () => {
    const words = (list: string[]) => ({ 'default.contains': { words: list, operator: 'none' }, deny: true });
    const config = {
      virtual_key: 'vendor',
      input_guardrails: [words(['forbidden'])],
      output_guardrails: [words(['unspeakable'])],
    };
    const headers = { 'x-gateway-config': JSON.stringify(config) };
    const session = { ...SESSION, model: 'gpt-realtime' };
    const at = (more: object = {}) => place(gateway.url, { headers, session: { ...session, ...more } });
    expect((await at({ instructions: 'Say what is forbidden.' })).error.code).toBe('guardrail_denied');
    const said = await at();
    await ask(said.call, 'This is fine');
    said.call.say(say('This is forbidden'));
    await isOver(said.call);
    const answered = await at();
    await ask(answered.call, 'Say something unspeakable');
    await isOver(answered.call);
    const told = await at();
    told.call.say({ type: 'session.update', session: { instructions: 'Say what is forbidden.' } });
    await isOver(told.call);
    const heard = await at({ audio: { input: { transcription: { model: 'whisper-1' } } } });
    const audio = Buffer.from('A forbidden sound.').toString('base64');
    heard.call.say({ type: 'input_audio_buffer.append', audio });
    heard.call.say({ type: 'input_audio_buffer.append', audio: Buffer.alloc(24).toString('base64') });
    await isOver(heard.call);
  });

  test('is spoken in, and counted while it is spoken', async () => {
    const model = 'spoken-budget';
    const { id, key } = await gateway.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 1_000 } });
    const session = { ...SESSION, model: `@vendor/${model}`, output_modalities: ['audio'] };
    const { call } = await place(gateway.url, { key, session });
    const audio = Buffer.from('Go on. [[simulate: length=9000, chunk-delay=1]]').toString('base64');
    call.say({ type: 'input_audio_buffer.append', audio });
    call.say({ type: 'input_audio_buffer.append', audio: Buffer.alloc(24).toString('base64') });
    await isOver(call);
    const rows = await ledgerOf(gateway, id, 1);
    expect(rows.map((row) => row.input_tokens + row.output_tokens)).toEqual([takenAt(model)]);
  });

  test('is refused in words where it is not one, or may not be', async () => {
    const refusals: [Asked, string, string?][] = [
      [{ sdp: 'hello' }, 'invalid_request', 'sdp'],
      [{ sdp: `v=0${'x'.repeat(300_000)}` }, 'invalid_request', 'sdp'],
      [{ session: null }, 'invalid_request', 'session.model'],
      [{ session: [] }, 'invalid_request', 'session'],
      [{ session: { type: 'translation', model: 'm' } }, 'invalid_request', 'session.type'],
      [{ session: { model: 3 } }, 'invalid_request', 'session.model'],
      [{ session: { model: 'a' }, search: '?model=b' }, 'invalid_request', 'model'],
      [{ session: { model: '@nowhere/m' } }, 'unknown_virtual_key'],
      [{ session: { model: '@claude/m' } }, 'unsupported_by_provider'],
    ];
    await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic' });
    for (const [asked, code, param] of refusals) {
      const { error } = await place(gateway.url, asked);
      expect(error).toMatchObject({ code, ...(param && { param }) });
    }
    const json = await gateway.api.post('/v1/realtime/calls', { sdp: OFFER });
    expect(json.status).toBe(415);
    const refused = await place(gateway.url, { headers: { 'x-simulate': 'status=429' } });
    expect(refused.status).toBe(429);
    expect(refused.text).toContain('simulated error 429');
    const { key } = await gateway.given.apiKey({ models: ['gpt-realtime-mini'] });
    expect((await place(gateway.url, { key })).error.code).toBe('model_not_allowed');
    const headers = {
      ...{ 'x-gateway-api-key': ADMIN_KEY, authorization: 'Bearer sk' },
      ...{ 'x-gateway-provider': 'openai', 'x-gateway-custom-host': 'https://10.0.0.1/v1' },
    };
    expect((await place(gateway.url, { headers, session: { model: 'm' } })).error.code).toBe('egress_refused');
    for (const verb of ['accept', 'reject', 'refer']) {
      const { json: telephone } = await gateway.api.post(`/v1/realtime/calls/rtc_1/${verb}`, {});
      expect(telephone.error).toMatchObject({ code: 'invalid_path' });
      expect(telephone.error.message).toContain('telephone');
    }
  });

  test('finds another provider where the first does not answer, and is the caller’s own where it brings its credential', async () => {
    await gateway.given.virtualKey({ slug: 'gone', provider: 'openai', custom_host: 'http://127.0.0.1:9/v1' });
    const config = { strategy: { mode: 'fallback' }, targets: [{ virtual_key: 'gone' }, { virtual_key: 'vendor' }] };
    const headers = { 'x-gateway-config': JSON.stringify(config) };
    const { status, call } = await place(gateway.url, { headers, session: { ...SESSION, model: 'gpt-realtime' } });
    expect(status).toBe(201);
    call.end();
    const own = {
      ...{ 'x-gateway-api-key': ADMIN_KEY, authorization: 'Bearer sk-own' },
      ...{ 'x-gateway-provider': 'openai', 'x-gateway-custom-host': gateway.provider.url },
    };
    const brought = await place(gateway.url, { headers: own, session: { model: 'gpt-realtime' } });
    expect(brought.call.credential).toBe('Bearer sk-own');
    brought.call.end();
  });

  test('is placed by pages of other origins: they may ask, and read what it is called', async () => {
    const preflight = await fetch(`${gateway.url}/v1/realtime/calls`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example.com',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
    const headers = { origin: 'https://app.example.com' };
    const { headers: answered, call } = await place(gateway.url, { headers });
    expect(answered.get('access-control-allow-origin')).toBe('*');
    expect(answered.get('access-control-expose-headers')).toBe('location');
    expect(answered.get('access-control-allow-credentials')).toBeNull();
    call.end();
    const refused = await place(gateway.url, { headers, key: 'gw-none' });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('access-control-allow-origin')).toBe('*');
  });

  test('is placed by a real browser, whose offer reaches the provider line by line', async () => {
    const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'vendor' } });
    const session = { ...SESSION, model: 'gpt-realtime' };
    const secret = (await gateway.api.post('/v1/realtime/client_secrets', { session }, { key })).json.value;
    const page = serve(
      () => new Response('<!doctype html><title>App</title>', { headers: { 'content-type': 'text/html' } }),
    );
    const browser = await startChromium();
    try {
      const tab = await browser.newPage();
      await tab.goto(page.origin);
      const script = `(async () => {
        const connection = new RTCPeerConnection();
        connection.addTransceiver('audio');
        connection.createDataChannel('oai-events');
        const offer = await connection.createOffer();
        const authorization = 'Bearer ' + ${JSON.stringify(secret)};
        const answer = await fetch(${JSON.stringify(`${gateway.url}/v1/realtime/calls`)}, {
          method: 'POST', body: offer.sdp, headers: { authorization, 'content-type': 'application/sdp' },
        });
        const location = answer.headers.get('location');
        const text = await answer.text();
        const ended = await fetch(${JSON.stringify(gateway.url)} + location + '/hangup', {
          method: 'POST', headers: { authorization },
        });
        return { offer: offer.sdp, status: answer.status, location, text, ended: ended.status };
      })()`;
      const seen = (await tab.evaluate(script)) as Record<string, string | number>;
      expect(seen).toMatchObject({ status: 201, ended: 200 });
      const call = simulatedCalls.get(/^s=(rtc_\w+)/m.exec(String(seen.text))![1]!)!;
      expect(call.offer).toBe(String(seen.offer));
      expect(call.isOver).toBe(true);
    } finally {
      await browser.close();
      page.stop();
    }
  }, 300_000);

  test('goes to Azure with the credential as Azure wants it', async () => {
    await gateway.given.virtualKey({ slug: 'azure', provider: 'azure-openai', custom_host: gateway.provider.url });
    const { status, call, id } = await place(gateway.url, { session: { ...SESSION, model: '@azure/gpt-realtime' } });
    expect(status).toBe(201);
    expect(call.credential).toBe('sk-test-credential');
    await ask(call, 'Hello');
    expect((await gateway.api.post(`/v1/realtime/calls/${id}/hangup`)).status).toBe(200);
  });

  test('is ended by the official client', async () => {
    const client = new OpenAI({ apiKey: ADMIN_KEY, baseURL: `${gateway.url}/v1` });
    // biome-ignore lint/suspicious/noExplicitAny: versions name it differently
    const { calls } = client.realtime as any;
    const { call, id } = await place(gateway.url);
    await calls.hangup(id);
    expect(call.isOver).toBe(true);
  });

  test('is joined by a server of its key, which the official client does, and what that asks for is counted once', async () => {
    const { id: keyId, key } = await gateway.given.apiKey();
    const { call, id } = await place(gateway.url, { key });
    const front = startTlsFront(gateway.url);
    const client = new OpenAI({ apiKey: key, baseURL: `${front.url}/v1` });
    const live = new OpenAIRealtimeWS({ callID: id, options: { rejectUnauthorized: false } }, client);
    const heard = Promise.withResolvers<string>();
    live.on('error', (error) => heard.reject(error));
    live.on('response.output_text.done', ({ text }) => heard.resolve(text));
    await new Promise((resolve) => live.socket.on('open', resolve));
    live.send(say('Hello from the server') as never);
    live.send({ type: 'response.create' });
    expect(await heard.promise).toContain('Hello from the server');
    // Both sides hear what the other does.
    await ask(call, 'Hello from the browser');
    live.close();
    front.stop();
    const rows = await ledgerOf(gateway, keyId, 2);
    expect(rows).toHaveLength(2);
    expect(call.isOver).toBe(false);

    const join = (name: string, by: string, more = '') =>
      openLive(gateway.url, { path: `/v1/realtime?call_id=${name}${more}`, key: by });
    const other = await gateway.given.apiKey();
    await expect(join(id, other.key)).rejects.toThrow('404');
    await expect(join(call.id, key)).rejects.toThrow('404');
    await expect(join(id, key, '&model=m')).rejects.toThrow('400');
    const server = await join(id, key);
    server.send({ type: 'session.update', session: { type: 'realtime', model: 'other' } });
    expect((await server.until('error')).at(-1).error.param).toBe('session.model');
    server.send('no json');
    expect((await server.until('error')).at(-1).error.type).toBe('invalid_request_error');
    server.send({ type: 'session.update', session: { type: 'realtime', instructions: 'Be kind.' } });
    await server.until('session.updated');
    await gateway.api.post(`/v1/realtime/calls/${id}/hangup`, undefined, { key });
    expect((await server.closed).code).toBe(1000);
    await expect(join(id, key)).rejects.toThrow('404');
  });

  test('is joined under the same rules: a secret’s session stays, and nothing passes guardrails unseen', async () => {
    const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'vendor' } });
    const session = { ...SESSION, model: 'gpt-realtime' };
    const secret = (await gateway.api.post('/v1/realtime/client_secrets', { session }, { key })).json.value;
    const bound = await place(gateway.url, { key: secret, session: null });
    await expect(openLive(gateway.url, { path: `/v1/realtime?call_id=${bound.id}`, key: secret })).rejects.toThrow(
      '403',
    );
    const server = await openLive(gateway.url, { path: `/v1/realtime?call_id=${bound.id}`, key });
    server.send({ type: 'session.update', session: { type: 'realtime', instructions: 'Be rude.' } });
    expect((await server.until('error')).at(-1).error.code).toBe('session_bound');
    expect(bound.call.isOver).toBe(false);
    bound.call.end();

    const deny = [{ 'default.contains': { words: ['forbidden'], operator: 'none' }, deny: true }];
    const headers = { 'x-gateway-config': JSON.stringify({ virtual_key: 'vendor', input_guardrails: deny }) };
    const judged = await place(gateway.url, { key, headers, session });
    const joined = await openLive(gateway.url, { path: `/v1/realtime?call_id=${judged.id}`, key });
    joined.send({ type: 'response.create', response: { instructions: 'Say what is forbidden.' } });
    expect((await joined.until('error')).at(-1).error.param).toBe('response.instructions');
    joined.send(say('This is forbidden'));
    await isOver(judged.call);
    await joined.closed;
  });

  // These wait for most of their time, and do so together.
  test.concurrent('whose side channel says nothing is not given to the holder of a secret, whose session it could not keep', async () => {
    const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'vendor' } });
    const session = { ...SESSION, model: 'gpt-realtime' };
    const secret = (await gateway.api.post('/v1/realtime/client_secrets', { session }, { key })).json.value;
    const before = new Set(simulatedCalls.keys());
    const refused = await place(gateway.url, { key: secret, session: null, sdp: offer('silent') });
    expect(refused.error.code).toBe('call_not_watched');
    const [left] = [...simulatedCalls.values()].filter(({ id }) => !before.has(id));
    await isOver(left!);
  });

  test.concurrent('counts among the WebSockets of its key, and ends when it is idle, too old, or the process stops', async () => {
    const limits = { GATEWAY_SOCKETS_PER_KEY: '1', GATEWAY_SOCKET_IDLE_SECONDS: '10', GATEWAY_SHUTDOWN_SECONDS: '30' };
    const other = await startGateway({ environment: limits });
    await other.given.virtualKey({ slug: 'vendor', provider: 'openai', custom_host: other.provider.url });
    const { call: idle } = await place(other.url);
    expect((await place(other.url)).error.code).toBe('too_many_sockets');
    await isOver(idle);
    let last: SimulatedCall | undefined;
    await eventually('there is room again', async () => {
      last = (await place(other.url)).call;
      return last !== undefined;
    });
    last!.say(say('Slow. [[simulate: length=30, chunk-delay=30]]'));
    last!.say({ type: 'response.create' });
    await begun(last!);
    await other.stop();
    expect(last!.isOver).toBe(true);
    const done: LiveEvent = last!.heard.find(({ type }) => type === 'response.done');
    expect(done.response.status).toBe('completed');
  });
});

test.concurrent('a call whose process is killed is ended by the next one, and its response counts once', async () => {
  const dataDir = newDataDir();
  const provider = startProvider();
  let gateway = await startProcess({ dataDir, environment: forTests });
  await gateway.given.virtualKey(provider.url, 'vendor');
  const many = 1_000_000;
  const limit = { rate_limits: [{ type: 'requests', unit: 'rpw', value: many }], defaults: { virtual_key: 'vendor' } };
  const { key } = (await gateway.api.post('/v1/api-keys', { name: 'counted', ...limit })).json;
  const { call, id } = await place(gateway.url, { key });
  await ask(call, 'Hello');
  call.say(say('Slow. [[simulate: length=100000, chunk-delay=50]]'));
  call.say({ type: 'response.create' });
  await begun(call);
  const hi = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
  let chats = 0;
  /** What was counted beside the calls that ask for it. */
  const counted = async (): Promise<number> => {
    const { headers } = await gateway.api.post('/v1/chat/completions', hi, { key });
    return many - Number(headers.get('x-ratelimit-remaining-requests')) - ++chats;
  };
  await eventually('the second response is admitted', async () => (await counted()) === 2);
  await gateway.kill();
  expect(call.isOver).toBe(false);
  gateway = await startProcess({ dataDir, environment: forTests });
  await isOver(call);
  await eventually('it is forgotten', async () => {
    const again = await gateway.api.post(`/v1/realtime/calls/${id}/hangup`, undefined, { key });
    return again.json?.error?.code === 'call_not_found';
  });
  expect(await counted()).toBe(2);
  await gateway.stop();
  provider.stop();
  removeDataDir(dataDir);
}, 300_000);

test.concurrent('a call whose node is killed is ended by another node', async () => {
  const databaseUrl = await createDatabase();
  const provider = startProvider();
  const [one, two] = [await startNode(databaseUrl), await startNode(databaseUrl)];
  await one.given.virtualKey(provider.url, 'vendor');
  const { key } = (await one.api.post('/v1/api-keys', { name: 'caller' })).json;
  const [{ call, id }, other] = [await place(one.url, { key }), await place(two.url, { key })];
  expect(call.isOver).toBe(false);
  await one.kill();
  await isOver(call);
  await eventually('it is forgotten', async () => {
    const again = await two.api.post(`/v1/realtime/calls/${id}/hangup`, undefined, { key });
    return again.json?.error?.code === 'call_not_found';
  });
  // A call that another node watches goes on.
  await ask(other.call, 'Hello');
  expect(other.call.isOver).toBe(false);
  await two.stop();
  expect(other.call.isOver).toBe(true);
  provider.stop();
}, 300_000);

test.concurrent('two nodes: a call is ended by its owner through either, and share its budget', async () => {
  const one = await startGateway({ engine: 'postgres' });
  const two = await startGateway({ engine: 'postgres', databaseUrl: one.databaseUrl! });
  await one.given.virtualKey({ slug: 'vendor', provider: 'openai', custom_host: one.provider.url });
  const { id, key } = await one.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 1_000 } });
  const first = await place(one.url, { key, session: { ...SESSION, model: '@vendor/called-first' } });
  const joined = await openLive(two.url, { path: `/v1/realtime?call_id=${first.id}`, key });
  await ask(first.call, 'Hello');
  await joined.until('response.done');
  expect((await two.api.post(`/v1/realtime/calls/${first.id}/hangup`, undefined, { key })).status).toBe(200);
  expect(first.call.isOver).toBe(true);
  const session = { ...SESSION, model: '@vendor/called-by-two' };
  const both = await Promise.all([one, two].map(({ url }) => place(url, { key, session })));
  for (const { call } of both) {
    call.say(say('Tell me all. [[simulate: length=9000, chunk-delay=1]]'));
    call.say({ type: 'response.create' });
  }
  for (const { call } of both) await isOver(call);
  const rows = await ledgerOf(one, id, 3);
  const counted = rows.reduce((sum, row) => sum + row.input_tokens + row.output_tokens, 0);
  expect(counted).toBe(takenAt('called-by-two') + takenAt('called-first'));
  await Promise.all([one.stop(), two.stop()]);
});
