import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { GoogleGenAI, type LiveServerMessage, Modality } from '@google/genai';
import { finishedResponses } from '../../simulator/realtime.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { ledgerOf } from '../ledger.ts';
import { type LiveEvent, openLive } from '../live-client.ts';
import { eventually } from '../process.ts';
import { killedConversations } from '../realtime-kills.ts';

const PATH = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent';

/** A conversation in Google's format, with its frames read. */
async function converse(gateway: TestGateway, options: Options = {}) {
  const { model = '@google/gemini-live', setup = {}, path = PATH, ...rest } = options;
  const live = await openLive(gateway.url, { path, ...rest });
  const heard = (): LiveEvent[] =>
    live.heard.map((frame) => (frame instanceof ArrayBuffer || ArrayBuffer.isView(frame) ? read(frame) : frame));
  let seen = 0;
  const until = async (isLast: (event: LiveEvent) => boolean): Promise<LiveEvent[]> => {
    let events: LiveEvent[] = [];
    await eventually('that is heard', () => {
      events = heard().slice(seen);
      return events.some(isLast);
    });
    const taken = events.slice(0, events.findIndex(isLast) + 1);
    seen += taken.length;
    return taken;
  };
  const generationConfig = { responseModalities: ['TEXT'] };
  live.send({ setup: { model: `models/${model}`, generationConfig, ...setup } });
  const turn = () => until((event) => event.serverContent?.turnComplete === true);
  const ask = (text: string) => {
    live.send(say(text));
    return turn();
  };
  return { ...live, all: heard, until, turn, ask };
}

interface Options {
  readonly model?: string;
  readonly setup?: object;
  readonly path?: string;
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

const read = (frame: ArrayBuffer | ArrayBufferView) => JSON.parse(new TextDecoder().decode(frame as ArrayBuffer));
const say = (text: string, turnComplete = true) => ({
  clientContent: { turns: [{ role: 'user', parts: [{ text }] }], turnComplete },
});
const sound = (data: Buffer) => ({
  realtimeInput: { audio: { data: data.toString('base64'), mimeType: 'audio/pcm;rate=16000' } },
});
const spoken = (events: readonly LiveEvent[]): string =>
  events.flatMap(({ serverContent }) => serverContent?.modelTurn?.parts.map(({ text = '' }) => text) ?? []).join('');
const takenAt = (model: string): number =>
  finishedResponses.filter((each) => each.model === model).reduce((sum, { tokens }) => sum + tokens, 0);

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`Gemini Live on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      await gateway.given.virtualKey({ slug: 'google', provider: 'google', custom_host: gateway.provider.url });
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

    test('each turn is one entry of the log and of the ledger, with what it took', async () => {
      const { id, key } = await gateway.given.apiKey();
      const live = await converse(gateway, { key, model: `@google/talk-${engine}`, headers: { 'session-id': engine } });
      const first = await live.ask('Hello there');
      expect(spoken(first)).toContain('You said: "Hello there"');
      live.send(sound(Buffer.from('How are you?')));
      live.send(sound(Buffer.alloc(24)));
      expect(spoken(await live.turn())).toContain('How are you?');
      live.close();
      const calls = await logged(engine, 2);
      expect(calls).toHaveLength(2);
      expect(calls[1]).toMatchObject({ status: 200, provider: 'google', model: `talk-${engine}`, path: PATH });
      expect(calls[1].total_tokens).toBe(first.at(-1).usageMetadata.totalTokenCount);
      const rows = await ledgerOf(gateway, id, 2);
      const counted = rows.reduce((sum, row) => sum + row.input_tokens + row.output_tokens, 0);
      expect(counted).toBe(takenAt(`talk-${engine}`));
    });

    test('a budget that is spent in the middle of a turn ends it, and the ledger has what it took to the token', async () => {
      const { id, key } = await gateway.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 1_000 } });
      const live = await converse(gateway, { key, model: `@google/live-budget-${engine}` });
      live.send(say('Tell me all. [[simulate: length=9000, chunk-delay=1]]'));
      expect(await live.closed).toEqual({ code: 1008, reason: 'budget_exhausted' });
      expect(spoken(live.all()).length / 4).toBeGreaterThan(500);
      const [row, ...others] = await ledgerOf(gateway, id, 1);
      expect(others).toEqual([]);
      expect(row!.state).toBe('final');
      expect(row!.input_tokens + row!.output_tokens).toBe(takenAt(`live-budget-${engine}`));
      expect(takenAt(`live-budget-${engine}`)).toBeLessThan(3_000);
    });
  });
}

test('a budget that turns on two nodes share ends both, and the ledger has what both took', async () => {
  const one = await startGateway({ engine: 'postgres' });
  const two = await startGateway({ engine: 'postgres', databaseUrl: one.databaseUrl! });
  await one.given.virtualKey({ slug: 'google', provider: 'google', custom_host: one.provider.url });
  const { id, key } = await one.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 1_000 } });
  const ended = [one, two].map(async (node) => {
    const live = await converse(node, { key, model: '@google/live-two-nodes' });
    live.send(say('Tell me all. [[simulate: length=9000, chunk-delay=1]]'));
    return live.closed;
  });
  for (const end of await Promise.all(ended)) expect(end).toEqual({ code: 1008, reason: 'budget_exhausted' });
  const rows = await ledgerOf(one, id, 2);
  expect(rows.map(({ state }) => state)).toEqual(['final', 'final']);
  const counted = rows.reduce((sum, row) => sum + row.input_tokens + row.output_tokens, 0);
  expect(counted).toBe(takenAt('live-two-nodes'));
  await Promise.all([one.stop(), two.stop()]);
});

test(
  'turns during which the process is killed count once: none is free, none is counted twice',
  () => killedConversations({ sessions: 4, kills: 1, tongue: 'gemini' }),
  300_000,
);

describe('a conversation in the format of the Live API', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
    await gateway.given.virtualKey({ slug: 'google', provider: 'google', custom_host: gateway.provider.url });
  });
  afterAll(() => gateway.stop());

  test('with a tool is held by the official client, whose key stands in the address and goes no further', async () => {
    const { id, key } = await gateway.given.apiKey();
    for (const baseUrl of [gateway.url, `${gateway.url}/v1`]) {
      const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl } });
      const answer = Promise.withResolvers<string>();
      let text = '';
      const session = await client.live.connect({
        model: '@google/gemini-live',
        config: {
          responseModalities: [Modality.TEXT],
          tools: [{ functionDeclarations: [{ name: 'get_weather' }] }],
        },
        callbacks: {
          onmessage: ({ toolCall, serverContent }: LiveServerMessage) => {
            for (const call of toolCall?.functionCalls ?? []) {
              expect(call.args).toEqual({ city: 'Oslo' });
              const functionResponses = { id: call.id!, name: call.name!, response: { output: 'rain' } };
              session.sendToolResponse({ functionResponses });
            }
            for (const part of serverContent?.modelTurn?.parts ?? []) text += part.text ?? '';
            if (serverContent?.turnComplete) answer.resolve(text);
          },
          onclose: ({ reason }) => answer.reject(new Error(`closed: ${reason}`)),
        },
      });
      session.sendClientContent({ turns: 'call get_weather {"city":"Oslo"}' });
      expect(await answer.promise).toContain('rain');
      session.close();
    }
    const rows = await ledgerOf(gateway, id, 4);
    expect(rows.map(({ state }) => state)).toEqual(['final', 'final', 'final', 'final']);
    let entries = '';
    await eventually('the handshakes are logged', async () => {
      entries = JSON.stringify((await gateway.api.get('/v1/logs?limit=100')).json);
      return entries.includes('BidiGenerateContent');
    });
    expect(entries).not.toContain(key);
  });

  test('is opened with the stored credential, and with its own name for the model', async () => {
    const said: string[] = [];
    let asked = { url: '', headers: {} as Record<string, string> };
    const vendor = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: (request, server) => {
        asked = { url: request.url, headers: Object.fromEntries(request.headers) };
        return server.upgrade(request) ? undefined : new Response('no', { status: 400 });
      },
      websocket: {
        message(socket, frame) {
          said.push(String(frame));
          if (said.length === 3) socket.close(4_321, 'as you like');
        },
      },
    });
    const custom_host = `http://127.0.0.1:${vendor.port}/v1beta`;
    await gateway.given.virtualKey({ slug: 'plain', provider: 'google', custom_host });
    const path = `${PATH.replace('v1beta', 'v1alpha')}?key=${ADMIN_KEY}`;
    const live = await converse(gateway, { path, key: null, model: '@plain/m' });
    const frames = [
      '{"clientContent" : {"turns":[], "n":12345678901234567890}}',
      JSON.stringify(sound(Buffer.alloc(70_000, 1))),
    ];
    for (const frame of frames) live.send(frame);
    expect(await live.closed).toEqual({ code: 4_321, reason: 'as you like' });
    expect(JSON.parse(said[0]!).setup.model).toBe('models/m');
    expect(said.slice(1)).toEqual(frames);
    expect(new URL(asked.url).pathname).toBe(PATH.replace('v1beta', 'v1alpha'));
    expect(asked.headers['x-goog-api-key']).toBe('sk-test-credential');
    expect(JSON.stringify(asked)).not.toContain(ADMIN_KEY);
    vendor.stop(true);
  });

  test('is held with Vertex AI, in its form and under its names, by clients of either form', async () => {
    const { id, key } = await gateway.given.apiKey({ defaults: { virtual_key: 'vertex' } });
    const configurations = {
      vertex_region: 'europe-west4',
      vertex_project_id: 'our-project',
      vertex_auth_type: 'basic',
    };
    await gateway.given.virtualKey({
      ...{
        slug: 'vertex',
        provider: 'vertex-ai',
        key: 'ya29.token',
        custom_host: gateway.provider.url,
        configurations,
      },
    });
    const studio = await converse(gateway, { key, model: '@vertex/live-on-vertex' });
    expect(spoken(await studio.ask('Hello'))).toContain('Hello');
    studio.close();
    const path = '/ws/google.cloud.aiplatform.v1.LlmBidiService/BidiGenerateContent';
    const elsewhere = 'projects/their-project/locations/us-east1/publishers/google/models/live-on-vertex';
    const own = await converse(gateway, { key, path, setup: { model: elsewhere } });
    expect(spoken(await own.ask('Hello again'))).toContain('Hello again');
    own.close();
    const rows = await ledgerOf(gateway, id, 2);
    const counted = rows.reduce((sum, row) => sum + row.input_tokens + row.output_tokens, 0);
    expect(counted).toBe(takenAt('live-on-vertex'));
    const claude = await converse(gateway, { key, model: '@vertex/anthropic.claude' });
    expect((await claude.closed).reason).toContain('unsupported_by_provider');

    const client = new GoogleGenAI({ vertexai: true, apiKey: key, httpOptions: { baseUrl: gateway.url } });
    const answer = Promise.withResolvers<string>();
    let text = '';
    const session = await client.live.connect({
      model: 'live-on-vertex',
      config: { responseModalities: [Modality.TEXT] },
      callbacks: {
        onmessage: ({ serverContent }: LiveServerMessage) => {
          for (const part of serverContent?.modelTurn?.parts ?? []) text += part.text ?? '';
          if (serverContent?.turnComplete) answer.resolve(text);
        },
        onclose: ({ reason }) => answer.reject(new Error(`closed: ${reason}`)),
      },
    });
    session.sendClientContent({ turns: 'Hello from the official client' });
    expect(await answer.promise).toContain('official client');
    session.close();
  });

  test('is judged: what is said before it leaves, what is answered before it is heard', async () => {
    const words = (list: string[]) => ({ 'default.contains': { words: list, operator: 'none' }, deny: true });
    const config = {
      virtual_key: 'google',
      input_guardrails: [words(['forbidden'])],
      output_guardrails: [words(['unspeakable'])],
    };
    const options = { headers: { 'x-gateway-config': JSON.stringify(config) }, model: 'gemini-live' };
    const denied = { code: 1008, reason: 'guardrail_denied' };
    const tools = [{ functionDeclarations: [{ name: 'get_weather' }] }];
    const one = await converse(gateway, { ...options, setup: { tools } });
    expect(spoken(await one.ask('This is fine'))).toContain('This is fine');
    one.send(say('call get_weather {"city":"Oslo"}'));
    const called = (await one.until(({ toolCall }) => toolCall)).at(-1).toolCall.functionCalls[0];
    one.send({
      toolResponse: { functionResponses: [{ id: called.id, name: called.name, response: { output: 'rain' } }] },
    });
    expect(spoken(await one.turn())).toContain('rain');
    one.send(say('Say something unspeakable'));
    expect(await one.closed).toEqual(denied);
    expect(JSON.stringify(one.all())).not.toContain('unspeakable');

    const frames = [
      { client_content: { turns: [{ parts: [{ text: 'a forbidden word' }] }], turn_complete: true } },
      { realtimeInput: { text: 'a forbidden word' } },
      { toolResponse: { functionResponses: [{ id: 'x', name: 'y', response: { output: 'forbidden' } }] } },
      { contextUpdate: { systemInstruction: { parts: [{ text: 'forbidden' }] } } },
    ];
    for (const frame of frames) {
      const other = await converse(gateway, options);
      await other.until(({ setupComplete }) => setupComplete);
      other.send(frame);
      expect(await other.closed).toEqual(denied);
    }
    const setup = { systemInstruction: { parts: [{ text: 'Say what is forbidden.' }] } };
    expect(await (await converse(gateway, { ...options, setup })).closed).toEqual(denied);
    const heard = await converse(gateway, { ...options, setup: { inputAudioTranscription: {} } });
    heard.send(sound(Buffer.from('A forbidden sound.')));
    heard.send(sound(Buffer.alloc(24)));
    expect(await heard.closed).toEqual(denied);
    expect(spoken(heard.all())).toBe('');
  });

  test('that cannot be is ended with the reason: a limit, a model, a provider, a frame, a key', async () => {
    const { key } = await gateway.given.apiKey({ rate_limits: [{ type: 'requests', unit: 'rpw', value: 1 }] });
    const limited = await converse(gateway, { key });
    await limited.ask('One');
    limited.send(sound(Buffer.from('Two')));
    limited.send(sound(Buffer.alloc(24)));
    expect(await limited.closed).toEqual({ code: 1008, reason: 'rate_limited' });
    expect(spoken(limited.all())).not.toContain('Two');

    const fenced = await gateway.given.apiKey({ models: ['gemini-other'] });
    expect((await (await converse(gateway, { key: fenced.key })).closed).reason).toBe('model_not_allowed');
    await gateway.given.virtualKey({ slug: 'openai', provider: 'openai' });
    expect((await (await converse(gateway, { model: '@openai/m' })).closed).reason).toContain(
      'unsupported_by_provider',
    );
    const refused = await (await converse(gateway, { headers: { 'x-simulate': 'status=429' } })).closed;
    expect(refused).toMatchObject({ code: 1011, reason: expect.stringContaining('429') });

    for (const frame of ['no json', '[]', '{"type":1}', '{"clientContent":{},"realtimeInput":{}}', '{"setup":{}}']) {
      const live = await converse(gateway);
      await live.until(({ setupComplete }) => setupComplete);
      live.send(frame);
      expect(await live.closed).toMatchObject({ code: 1007, reason: expect.stringContaining('invalid_request') });
    }
    const unnamed = await openLive(gateway.url, { path: PATH });
    unnamed.send({ setup: {} });
    expect(await unnamed.closed).toMatchObject({ code: 1007, reason: expect.stringContaining('setup.model') });

    const gone = await gateway.given.apiKey();
    const live = await converse(gateway, { key: gone.key });
    await live.ask('Hello');
    await gateway.api.delete(`/v1/api-keys/${gone.id}`);
    live.send(say('Still there?'));
    expect(await live.closed).toEqual({ code: 1008, reason: 'invalid_api_key' });
  });

  test('whose client interrupts counts both turns, and a secret of Google in an address is told to no log', async () => {
    const { id, key } = await gateway.given.apiKey();
    const live = await converse(gateway, { key, model: '@google/interrupted' });
    live.send(say('Go on. [[simulate: length=5000, chunk-delay=5]]'));
    await live.until(({ serverContent }) => serverContent?.modelTurn);
    live.send(say('Second'));
    expect((await live.turn()).some(({ serverContent }) => serverContent?.interrupted)).toBe(true);
    expect(spoken(await live.turn())).toContain('Second');
    live.close();
    const rows = await ledgerOf(gateway, id, 2);
    const counted = rows.reduce((sum, row) => sum + row.input_tokens + row.output_tokens, 0);
    expect(counted).toBe(takenAt('interrupted'));

    const path = `/v1${PATH}Constrained?access_token=auth_tokens/secret`;
    await expect(openLive(gateway.url, { path })).rejects.toThrow('426');
    const after = await converse(gateway, { headers: { 'session-id': 'afterwards' } });
    await after.ask('Hello');
    after.close();
    let entries = '';
    await eventually('what came later is logged', async () => {
      entries = JSON.stringify((await gateway.api.get('/v1/logs?limit=100')).json);
      return entries.includes('afterwards');
    });
    expect(entries).not.toContain('auth_tokens/secret');
  });

  test('whose provider breaks off ends, and what was said is counted', async () => {
    const { id, key } = await gateway.given.apiKey();
    const live = await converse(gateway, { key });
    live.send(say('Go on. [[simulate: length=200, cut=after:100]]'));
    expect(await live.closed).toEqual({ code: 1011, reason: 'upstream_failed' });
    const [row] = await ledgerOf(gateway, id, 1);
    expect(row!.output_tokens).toBeGreaterThan(50);
  });

  test('waits for its turn when the process stops', async () => {
    const other = await startGateway({ environment: { GATEWAY_SHUTDOWN_SECONDS: '60' } });
    await other.given.virtualKey({ slug: 'google', provider: 'google', custom_host: other.provider.url });
    const live = await converse(other);
    live.send(say('Slow. [[simulate: length=30, chunk-delay=30]]'));
    await live.until(({ serverContent }) => serverContent?.modelTurn);
    const stopped = other.stop();
    expect((await live.turn()).at(-1).usageMetadata.totalTokenCount).toBeGreaterThan(0);
    expect((await live.closed).code).toBe(1001);
    await stopped;
  });
});
