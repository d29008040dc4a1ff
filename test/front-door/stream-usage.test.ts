import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { serve, startGateway, type TestGateway } from '../gateway.ts';

/** Every stream in OpenAI's format is counted, whether or not its client asked for usage. */

interface Asked {
  readonly path: string;
  readonly text: string;
  readonly encoding: string | null;
}

/** Speaks as OpenAI does: asked for usage, it says null in every chunk and tells it in a last one without choices. */
function startOpenAI({ refuses = () => false }: { refuses?: (body: Body) => boolean } = {}) {
  const asked: Asked[] = [];
  const { origin, stop } = serve(async (request) => {
    const text = await request.text();
    asked.push({ path: new URL(request.url).pathname, text, encoding: request.headers.get('accept-encoding') });
    const body = JSON.parse(text) as Body;
    const options = body.stream_options;
    if (options && refuses(body)) return Response.json({ error: { message: REFUSAL } }, { status: 400 });
    if (!body.stream) {
      if (options) return Response.json({ error: { message: `'stream_options' needs stream` } }, { status: 400 });
      return Response.json({ choices: [{ message: { role: 'assistant', content: 'ok' } }] });
    }
    const bytes = Buffer.from(streamed(body.model, options?.include_usage === true, body.ends ?? '\n'));
    const size = body.cut ?? bytes.byteLength;
    const pieces = Array.from({ length: Math.ceil(bytes.byteLength / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const piece = pieces.shift();
        if (!piece) return controller.close();
        controller.enqueue(piece);
        await Bun.sleep(0);
      },
    });
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  });
  return { url: `${origin}/v1`, asked, stop };
}

interface Body {
  readonly model: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean } | null;
  /** How many bytes a piece has. */
  readonly cut?: number;
  readonly ends?: string;
}

const REFUSAL = 'Unrecognized request argument supplied: stream_options';

function streamed(model: string, tells: boolean, end: string): string {
  const chunk = (members: object, usage: object | null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model, ...members, ...(tells && { usage }) })}${end}${end}`;
  const said = ['Say ', '"usage":null', ' or {"usage":{"prompt_tokens":9}}, "choices":[]', ' 字'].map((content) =>
    chunk({ choices: [{ index: 0, delta: { content } }] }, null),
  );
  said.push(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, null));
  const filtered = chunk({ choices: [], prompt_filter_results: [] }, null);
  const last = tells ? chunk({ choices: [] }, { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }) : '';
  return `: begins${end}${end}${filtered}${said.join('')}${last}data: [DONE]${end}${end}`;
}

let gateway: TestGateway;
let openai: ReturnType<typeof startOpenAI>;
beforeAll(async () => {
  gateway = await startGateway();
  openai = startOpenAI();
  await gateway.given.virtualKey({ slug: 'openai', custom_host: openai.url });
});
afterAll(async () => {
  openai.stop();
  await gateway.stop();
});

const post = (path: string, body: object | string, slug = 'openai') =>
  gateway.api.post(path, typeof body === 'string' ? body : JSON.stringify(body), {
    headers: { 'x-gateway-virtual-key': slug, 'content-type': 'application/json' },
  });
const hello = { model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'Hello' }] };

for (const [name, more] of Object.entries({
  'in one piece': {},
  'cut at every byte': { cut: 1 },
  'cut at odd places': { cut: 37 },
  'with the line ends of other servers': { cut: 53, ends: '\r\n' },
  'with a refusal of usage': { stream_options: { include_usage: false } },
  'with stream options that are null': { stream_options: null },
})) {
  for (const path of ['/v1/chat/completions', '/v1/completions']) {
    test(`${path} is counted, and the client gets what it would have got: ${name}`, async () => {
      const reply = await post(path, { ...hello, ...more });
      expect(reply.text).toBe(streamed(hello.model, false, 'ends' in more ? '\r\n' : '\n'));
      expect(openai.asked.at(-1)!.encoding).toBe('identity');
      const entry = await gateway.logOf(reply);
      expect(entry).toMatchObject({ input_tokens: 7, output_tokens: 5, total_tokens: 12 });
      expect(entry.cost).toBeGreaterThan(0);
    });
  }
}

test('a client that asks for usage gets every byte of the answer', async () => {
  const body = JSON.stringify({ ...hello, cut: 37, stream_options: { include_usage: true } });
  const reply = await post('/v1/chat/completions', body);
  expect(reply.text).toBe(streamed(hello.model, true, '\n'));
  expect(openai.asked.at(-1)!.text).toBe(body);
  expect((await gateway.logOf(reply)).total_tokens).toBe(12);
});

test('below /proxy the payload and the answer stay as they are, and only the answer is counted', async () => {
  const silent = JSON.stringify({ ...hello, stream_options: {} });
  const first = await post('/v1/proxy/chat/completions', silent);
  expect(openai.asked.at(-1)!.text).toBe(silent);
  expect(first.text).toBe(streamed(hello.model, false, '\n'));
  expect((await gateway.logOf(first)).total_tokens).toBeNull();

  const asking = JSON.stringify({ ...hello, stream_options: { include_usage: true } });
  const second = await post('/v1/proxy/chat/completions', asking);
  expect(openai.asked.at(-1)!.text).toBe(asking);
  expect(second.text).toBe(streamed(hello.model, true, '\n'));
  expect((await gateway.logOf(second)).total_tokens).toBe(12);
});

test('a call that does not stream goes out as it came', async () => {
  const body = JSON.stringify({ ...hello, stream: false, user: '"stream":true' });
  expect((await post('/v1/chat/completions', body)).json.choices[0].message.content).toBe('ok');
  expect(openai.asked.at(-1)!.text).toBe(body);
});

test('a large body is counted, too', async () => {
  const content = 'a '.repeat(700_000);
  const reply = await post('/v1/chat/completions', { messages: [{ role: 'user', content }], model: 'm', stream: true });
  expect(reply.text).toBe(streamed('m', false, '\n'));
  expect((await gateway.logOf(reply)).total_tokens).toBe(12);
});

describe('a server that refuses stream_options', () => {
  let server: ReturnType<typeof startOpenAI>;
  const asks = async (work: () => Promise<unknown>) => {
    const before = server.asked.length;
    await work();
    return server.asked.slice(before).map(({ text }) => JSON.parse(text).stream_options ?? null);
  };
  const wish = { include_usage: true };

  beforeAll(async () => {
    server = startOpenAI({ refuses: ({ model }) => model.startsWith('old') });
    await gateway.given.virtualKey({ slug: 'refusing', custom_host: server.url });
  });
  afterAll(() => server.stop());

  test('is asked once more without them; the client sees the stream, and the next call knows', async () => {
    const call = async () => {
      const reply = await post('/v1/chat/completions', { ...hello, model: 'old' }, 'refusing');
      expect(reply.text).toBe(streamed('old', false, '\n'));
    };
    expect(await asks(call)).toEqual([wish, null]);
    expect(await asks(call)).toEqual([null]);
    expect(await asks(() => post('/v1/chat/completions', { ...hello, model: 'new' }, 'refusing'))).toEqual([wish]);
  });

  test("is asked once more for another dialect's client", async () => {
    const call = async () => {
      const body = { ...hello, model: 'old-for-claude', max_tokens: 9 };
      const reply = await post('/v1/messages', body, 'refusing');
      expect(reply.text).toEndWith('data: {"type":"message_stop"}\n\n');
    };
    expect(await asks(call)).toEqual([wish, null]);
    expect(await asks(call)).toEqual([null]);
  });

  test('tells a client that wrote them itself, byte for byte', async () => {
    const body = { ...hello, model: 'old-asked', stream_options: wish };
    const reply = await post('/v1/chat/completions', body, 'refusing');
    expect(reply.status).toBe(400);
    expect(reply.json.error.message).toBe(REFUSAL);
  });

  test('is not believed on the word of a call that did not stream', async () => {
    const twice = `{"model":"new","stream":true,"stream":false,"messages":[]}`;
    const call = async () => expect((await post('/v1/chat/completions', twice, 'refusing')).status).toBe(200);
    expect(await asks(call)).toEqual([wish, null]);
    expect(await asks(() => post('/v1/chat/completions', { ...hello, model: 'new' }, 'refusing'))).toEqual([wish]);
  });

  test('is asked once more for a run of an assistant, and the next run knows', async () => {
    const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'refusing' } });
    const { json: assistant } = await gateway.api.post('/v1/assistants', { model: 'old-for-runs' }, { key });
    const run = async () => {
      const thread = { messages: [{ role: 'user', content: 'Hello' }] };
      const body = { assistant_id: assistant.id, thread, stream: true };
      const { text } = await gateway.api.post('/v1/threads/runs', body, { key });
      expect(text).toContain('event: thread.run.completed');
    };
    expect(await asks(run)).toEqual([wish, null]);
    expect(await asks(run)).toEqual([null]);
  });

  test('may be known for it', async () => {
    const custom_host = server.url;
    await gateway.given.virtualKey({ slug: 'mistral', provider: 'mistral-ai', custom_host });
    for (const [slug, azure_api_version] of [
      ['azure-old', '2024-06-01'],
      ['azure-new', '2024-10-21'],
    ]) {
      const configurations = { azure_resource_name: 'r', azure_deployment_id: 'd', azure_api_version };
      await gateway.given.virtualKey({ slug, provider: 'azure-openai', custom_host, configurations });
    }
    const asked = (slug: string) => asks(() => post('/v1/chat/completions', hello, slug));
    expect(await asked('mistral')).toEqual([null]);
    expect(await asked('azure-old')).toEqual([null]);
    expect(await asked('azure-new')).toEqual([wish]);
  });
});

test('another refusal is asked for once and passed on as it came', async () => {
  let calls = 0;
  const text = '{"error": {"message": "no such model"}}';
  const server = serve(() => {
    calls++;
    return new Response(text, { status: 400, headers: { 'content-type': 'application/json', 'x-ratelimit': '1' } });
  });
  await gateway.given.virtualKey({ slug: 'modelless', custom_host: `${server.origin}/v1` });
  const reply = await post('/v1/chat/completions', hello, 'modelless');
  expect([reply.status, reply.text, reply.headers.get('x-ratelimit'), calls]).toEqual([400, text, '1', 1]);
  server.stop();
});
