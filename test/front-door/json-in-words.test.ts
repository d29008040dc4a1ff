import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

/** JSON for a provider whose setting for it does not go with the rest of the call: asked for in words, and checked. */
let gateway: TestGateway;
let claude: ReturnType<typeof serve>;
// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
const sent: any[] = [];
/** What the model says, one after the other. */
let script: (string | object[])[] = [];
let hungUp = 0;

const usage = { input_tokens: 10, output_tokens: 5 };
const CALL = [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } }];
/** Says nothing, and never ends. */
const HANGS = 'hangs';

function answered(said: string | object[], isStream: boolean): Response {
  const content = typeof said === 'string' ? [{ type: 'text', text: said }] : said;
  const stop_reason = typeof said === 'string' ? (said.startsWith('{"cut') ? 'max_tokens' : 'end_turn') : 'tool_use';
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', stop_sequence: null };
  if (!isStream) return Response.json({ ...head, content, stop_reason, usage });
  const text = typeof said === 'string' ? said : '';
  const deltas = [text.slice(0, 9), text.slice(9)].map((piece) => ({ type: 'text_delta', text: piece }));
  const events: object[] = [
    { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
  const lines = events.map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`);
  return new Response(lines.join(''), { headers: { 'content-type': 'text/event-stream' } });
}

beforeAll(async () => {
  gateway = await startGateway();
  claude = serve(async (request) => {
    const body = (await request.json()) as { stream?: boolean };
    sent.push(body);
    const said = script.shift() ?? '{"ok":true}';
    if (said !== HANGS) return answered(said, body.stream === true);
    request.signal.addEventListener('abort', () => hungUp++);
    return new Promise(() => {});
  });
  await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic', custom_host: `${claude.origin}/v1` });
});
afterAll(async () => {
  claude.stop();
  await gateway.stop();
});
afterEach(() => {
  expect(script).toEqual([]);
  sent.length = 0;
});

const tools = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }];
const json = { response_format: { type: 'json_object' }, tools };
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const json_schema = { name: 'place', schema };

interface Asked {
  readonly says?: typeof script;
  readonly headers?: Record<string, string>;
  readonly key?: string;
}
const ask = (more: object, { says = [], headers = {}, key }: Asked = {}) => {
  script = says;
  const messages = [{ role: 'user', content: 'The weather as JSON' }];
  const body = { model: 'claude-sonnet-4-5', max_tokens: 99, messages, ...more };
  const chosen = headers['x-gateway-config'] ? headers : { 'x-gateway-virtual-key': 'claude', ...headers };
  return gateway.api.post('/v1/chat/completions', body, { headers: chosen, ...(key && { key }) });
};
const contentOf = (reply: Awaited<ReturnType<typeof ask>>) => reply.json?.choices?.[0].message.content ?? reply.text;
const streamed = (text: string) => {
  const chunks = text
    .split('\n\n')
    .flatMap((event) => (event.startsWith('data: {') ? [JSON.parse(event.slice(6))] : []));
  return chunks.flatMap(({ choices }) =>
    choices.map((choice: { delta: { content?: string } }) => choice.delta.content ?? ''),
  );
};

describe('JSON beside tools or thoughts', () => {
  for (const [beside, more] of Object.entries({
    tools: json,
    thinking: { response_format: json.response_format, reasoning_effort: 'low', max_tokens: 9_999 },
  }))
    test(`is asked for in words, beside ${beside}, and named so`, async () => {
      const reply = await ask(more, { says: ['{"rain":true}'] });
      expect([reply.status, contentOf(reply)]).toEqual([200, '{"rain":true}']);
      expect(reply.headers.get('x-gateway-changed')).toContain('response_format (by words, and checked)');
      expect(reply.headers.get('x-gateway-repaired')).toBeNull();
      expect(JSON.stringify(sent[0].system)).toContain('one JSON object and nothing else');
      expect(sent).toHaveLength(1);
    });

  test('comes out of the code fence that models put around it, whole and streamed', async () => {
    const fenced = '```json\n{"rain": true}\n```';
    expect(contentOf(await ask(json, { says: [fenced] }))).toBe('{"rain": true}');
    const stream = await ask({ ...json, stream: true }, { says: [fenced] });
    expect(streamed(stream.text).join('')).toBe('{"rain": true}');
  });

  test('passes as it is where a tool is called or the answer was cut', async () => {
    const called = await ask(json, { says: [CALL] });
    expect(called.json.choices[0].message.tool_calls[0].function.name).toBe('get_weather');
    const cut = await ask(json, { says: ['{"cut":'] });
    expect(cut.json.choices[0]).toMatchObject({ message: { content: '{"cut":' }, finish_reason: 'length' });
    expect(sent).toHaveLength(2);
  });

  test('a stream is held back until it is whole, and then comes in the pieces it came in', async () => {
    const reply = await ask({ ...json, stream: true }, { says: ['{"rain":true,"wind":false}'] });
    expect(streamed(reply.text).filter(Boolean)).toEqual(['{"rain":t', 'rue,"wind":false}']);
    expect(await gateway.logOf(reply)).toMatchObject({ total_tokens: 15 });
  });
});

describe('an answer that is not the JSON that was asked for', () => {
  for (const stream of [false, true])
    test(`is shown to the model once, with its fault${stream ? ', in a stream' : ''}; both calls are counted`, async () => {
      const reply = await ask({ ...json, stream }, { says: ['It rains.', '{"rain":true}'] });
      expect(stream ? streamed(reply.text).join('') : contentOf(reply)).toBe('{"rain":true}');
      expect(reply.headers.get('x-gateway-repaired')).toBe('it is not JSON');
      expect(sent[1].messages.slice(1)).toMatchObject([
        { role: 'assistant', content: [{ text: 'It rains.' }] },
        { role: 'user', content: [{ text: expect.stringContaining('cannot be used: it is not JSON') }] },
      ]);
      expect(sent[1].tools).toEqual(sent[0].tools);
      const entry = await gateway.logOf(reply);
      expect(entry).toMatchObject({ input_tokens: 20, output_tokens: 10, total_tokens: 30 });
      const tokens = entry.attempts.map(({ input_tokens }: { input_tokens: number }) => input_tokens);
      expect(tokens).toEqual([10, 10]);
      expect(entry.cost).toBeGreaterThan(0);
    });

  test('twice is an error that names the fault, from which a config falls back', async () => {
    const wrong = { says: ['No.', '["no object"]'] };
    const reply = await ask(json, wrong);
    expect(reply).toMatchObject({ status: 502, json: { error: { code: 'answer_not_json' } } });
    expect(reply.json.error.message).toContain('it is not a JSON object');
    expect(await gateway.logOf(reply)).toMatchObject({ total_tokens: 30, error_code: 'answer_not_json' });
    const config = JSON.stringify({
      strategy: { mode: 'fallback' },
      targets: [{ virtual_key: 'claude' }, { virtual_key: 'sim' }],
    });
    const says = ['No.', 'No.'];
    const other = await ask(
      { response_format: json.response_format, tools },
      { says, headers: { 'x-gateway-config': config } },
    );
    expect([other.status, typeof JSON.parse(contentOf(other))]).toEqual([200, 'object']);
  });

  test('is judged by its schema where the model has no setting for one', async () => {
    const old = { model: 'claude-3-5-sonnet-20241022', response_format: { type: 'json_schema', json_schema }, tools };
    const reply = await ask(old, { says: ['{"town":"Oslo"}', '{"city":"Oslo"}'] });
    expect(contentOf(reply)).toBe('{"city":"Oslo"}');
    expect(reply.headers.get('x-gateway-repaired')).toContain('it does not fit the schema');
    expect(JSON.stringify(sent[0].system)).toContain('required');
    expect(sent[1].messages.at(-1).content[0].text).toContain('"city"');
    const pattern = { ...schema, patternProperties: { a: {} } };
    const unusable = { type: 'json_schema', json_schema: { name: 'x', schema: pattern } };
    const refused = await ask({ ...old, response_format: unusable });
    expect(refused).toMatchObject({ status: 400, json: { error: { code: 'not_expressible' } } });
  });

  test('of a schema without tools is what an older model calls a function with', async () => {
    const old = { model: 'claude-3-5-sonnet-20241022', response_format: { type: 'json_schema', json_schema } };
    const use = [{ type: 'tool_use', id: 't', name: 'give_json_answer', input: { city: 'Oslo' } }];
    expect(contentOf(await ask(old, { says: [use] }))).toBe('{"city":"Oslo"}');
    expect(sent[0].tools[0].input_schema).toEqual(schema);
  });
});

describe('the second call', () => {
  test('is one that the limits admit, and counts in them', async () => {
    const { key } = await gateway.given.apiKey({ rate_limits: [{ type: 'requests', unit: 'rpd', value: 3 }] });
    const repaired = await ask(json, { key, says: ['No.', '{}'] });
    expect([repaired.status, repaired.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '1']);
    const refused = await ask(json, { key, says: ['No.'] });
    expect([refused.status, refused.json.error.code]).toEqual([502, 'answer_not_json']);
    expect(refused.json.error.message).toContain('was not asked again');
    expect(sent).toHaveLength(3);
  });

  test('spends a budget once', async () => {
    const { key, id } = await gateway.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 100_000 } });
    await ask(json, { key, says: ['No.', '{}'] });
    await ask(json, { key, says: ['No.', 'No.'] });
    const spent = async () => [(await gateway.api.get(`/v1/api-keys/${id}`)).json.usage].flat()[0].current_usage;
    await eventually('all four are counted', async () => (await spent()) === 60);
  });

  test('is not made again where its answer is in the cache', async () => {
    const config = JSON.stringify({ virtual_key: 'claude', cache: { mode: 'simple' } });
    const headers = { 'x-gateway-config': config };
    const first = await ask(json, { headers, says: ['No.', '{"kept":1}'] });
    const second = await ask(json, { headers });
    expect([contentOf(first), contentOf(second)]).toEqual(['{"kept":1}', '{"kept":1}']);
    expect([second.headers.get('x-gateway-cache-status'), sent.length]).toEqual(['HIT', 2]);
  });

  test('is judged by output guardrails like any other answer', async () => {
    const checks = [{ id: 'default.contains', parameters: { words: ['secret'], operator: 'none' } }];
    const guardrail = await gateway.api.post('/v1/guardrails', { name: 'no secrets', checks, actions: { deny: true } });
    const config = JSON.stringify({ virtual_key: 'claude', output_guardrails: [guardrail.json.slug] });
    const reply = await ask(json, { headers: { 'x-gateway-config': config }, says: ['No.', '{"secret":1}'] });
    expect(reply.status).toBe(446);
  });

  test('ends when the client hangs up', async () => {
    script = ['No.', HANGS];
    const leaving = new AbortController();
    const asking = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: {
        authorization: `Bearer ${await admin()}`,
        'x-gateway-virtual-key': 'claude',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'claude-sonnet-4-5', messages: [{ role: 'user', content: 'Hi' }], ...json }),
    }).catch((error: Error) => error.name);
    await eventually('the second call is out', async () => sent.length === 2);
    leaving.abort();
    expect(await asking).toBe('AbortError');
    await eventually('the provider sees it', async () => hungUp === 1);
  });
});

const admin = async () => (await gateway.given.apiKey()).key;

describe('other providers', () => {
  test('are asked in words, too, where they refuse JSON beside tools: Gemini before its third generation', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
    const bodies: any[] = [];
    const google = serve(async (request) => {
      bodies.push(await request.json());
      const parts = [{ text: bodies.length % 2 === 1 ? 'No.' : '{"rain":true}' }];
      const candidates = [{ content: { role: 'model', parts }, finishReason: 'STOP' }];
      return Response.json({ candidates, usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } });
    });
    await gateway.given.virtualKey({ slug: 'gemini', provider: 'google', custom_host: `${google.origin}/v1beta` });
    const headers = { 'x-gateway-virtual-key': 'gemini' };
    const reply = await ask({ ...json, model: 'gemini-2.5-flash' }, { headers });
    expect([contentOf(reply), bodies.length]).toEqual(['{"rain":true}', 2]);
    expect(bodies[0].generationConfig?.responseMimeType).toBeUndefined();
    await ask({ ...json, model: 'gemini-3-pro' }, { headers });
    expect(bodies[2].generationConfig.responseMimeType).toBe('application/json');
    google.stop();
  });

  test('Cohere likewise', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
    const bodies: any[] = [];
    const cohere = serve(async (request) => {
      bodies.push(await request.json());
      const content = [{ type: 'text', text: '{"rain":true}' }];
      return Response.json({ id: 'c', finish_reason: 'COMPLETE', message: { role: 'assistant', content } });
    });
    await gateway.given.virtualKey({ slug: 'cohere', provider: 'cohere', custom_host: `${cohere.origin}/v2` });
    const headers = { 'x-gateway-virtual-key': 'cohere' };
    const reply = await ask({ ...json, model: 'command-a-03-2025' }, { headers });
    expect([contentOf(reply), bodies[0].response_format]).toEqual(['{"rain":true}', undefined]);
    await ask({ response_format: json.response_format, model: 'command-a-03-2025' }, { headers });
    expect(bodies[1].response_format).toEqual({ type: 'json_object' });
    cohere.stop();
  });

  test('are asked for some JSON where they know no schema: DeepSeek', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
    const bodies: any[] = [];
    const deepseek = serve(async (request) => {
      bodies.push(await request.json());
      const content = bodies.length === 1 ? '{"town":"Oslo"}' : '{"city":"Oslo"}';
      return Response.json({ choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] });
    });
    await gateway.given.virtualKey({ slug: 'deepseek', provider: 'deepseek', custom_host: `${deepseek.origin}/v1` });
    const reply = await gateway.api.post(
      '/v1/messages',
      {
        ...{ model: 'deepseek-chat', max_tokens: 99, messages: [{ role: 'user', content: 'A place' }] },
        output_config: { format: { type: 'json_schema', schema } },
      },
      { headers: { 'x-gateway-virtual-key': 'deepseek' } },
    );
    expect(reply.json.content).toMatchObject([{ type: 'text', text: '{"city":"Oslo"}' }]);
    expect(bodies.map(({ response_format }) => response_format)).toEqual([json.response_format, json.response_format]);
    deepseek.stop();
  });
});
