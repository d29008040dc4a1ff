import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { cut, families } from '../guardrails/families.ts';

let gateway: TestGateway;
let respond: () => Response = () => Response.json({});
const provider = serve(() => respond());

beforeAll(async () => {
  gateway = await startGateway();
  for (const name of ['openai', 'anthropic'])
    await gateway.given.virtualKey({ name, slug: name, provider: name, custom_host: `${provider.origin}/v1` });
});
afterAll(async () => {
  await gateway.stop();
  provider.stop();
});

const named = (name: string) => families.find((family) => family.name === name)!;
const words = { deny: true, 'default.contains': { words: ['forbidden'], operator: 'none' } };
const inWindows = { ...words, id: 'flowing', stream: 'window' };
const LONG = 'all of this is quite harmless and goes on for a while, '.repeat(12);

const call = (family: (typeof families)[number], config: object, headers: Record<string, string> = {}) =>
  fetch(gateway.url + family.path, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': 'gw-admin-key-for-tests-only',
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify({ virtual_key: family.provider, ...config }),
      ...headers,
    },
    body: JSON.stringify(family.request('Hi', true).body),
  });

/** Everything that came, also when the connection was cut behind it. */
async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>)
      text += decoder.decode(piece, { stream: true });
  } catch {
    // An error event is followed by a cut.
  }
  return text;
}

/** What a client of any of these dialects would put together. */
const saidIn = (stream: string): string =>
  [...stream.matchAll(/^data: (\{.*)$/gm)]
    .map(([, data]) => JSON.parse(data!))
    .map(
      (event) => event.choices?.[0]?.delta?.content ?? event.choices?.[0]?.text ?? event.delta?.text ?? deltaOf(event),
    )
    .join('');
const deltaOf = ({ type, delta }: { type?: string; delta?: unknown }) =>
  type?.endsWith('.delta') && typeof delta === 'string' ? delta : '';

const CONVERSATIONS = ['chat', 'chat, translated', 'completions', 'messages', 'messages, translated', 'responses'];

/** A stream that stops in the middle until it is let go on. */
function halting(first: Uint8Array, second: Uint8Array) {
  const gate = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(first);
      await gate.promise;
      controller.enqueue(second);
      controller.close();
    },
  });
  return { response: new Response(body, { headers: { 'content-type': 'text/event-stream' } }), go: gate.resolve };
}

const chunk = (content: string, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason }] })}\n\n`;
const chunks = (text: string) =>
  Buffer.from(
    cut(text)
      .map((piece) => chunk(piece))
      .join(''),
  );

for (const name of CONVERSATIONS) {
  describe(`${name}, in windows`, () => {
    const family = named(name);

    test('what is fine flows and is whole at the end', async () => {
      respond = () => family.answer!(LONG, true);
      const response = await call(family, { output_guardrails: [inWindows] });

      expect(response.status).toBe(200);
      expect(saidIn(await response.text())).toBe(LONG);
    });

    test('what is denied before anything has left is 446', async () => {
      respond = () => family.answer!('a forbidden word, soon', true);
      const response = await call(family, { output_guardrails: [inWindows] });

      expect(response.status).toBe(446);
      expect(await response.text()).not.toContain('soon');
    });

    test('what is denied later never leaves, and the stream ends with an error of its dialect', async () => {
      const whole = await family.answer!(`${LONG}forbidden secret-4711 and more`, true).bytes();
      const { response: halted, go } = halting(whole.subarray(0, whole.length / 3), whole.subarray(whole.length / 3));
      respond = () => halted;
      const response = await call(family, { output_guardrails: [inWindows] });
      go();
      const text = await textOf(response);

      expect(response.status).toBe(200);
      expect(saidIn(text).length).toBeGreaterThan(100);
      expect(LONG.startsWith(saidIn(text))).toBe(true);
      expect(text).not.toContain('4711');
      expect(text).not.toContain('forbidden secret');
      expect(text).toContain('flowing');
      expect(text).toContain('"error"');
      expect(text).not.toContain('[DONE]');
      expect(text).not.toContain('message_stop');
    });

    test('what is blacked out is nowhere, however its pieces were cut', async () => {
      const text = `${LONG}mail ada@example.com or bob@example.com ${LONG}`;
      respond = () => family.answer!(text, true);
      const redact = {
        stream: 'window',
        'default.regexReplace': { rule: '[a-z]{1,8}@[a-z]{1,8}\\.com', redactText: '#' },
      };
      const response = await call(family, { output_guardrails: [redact] });
      const got = await response.text();

      expect(saidIn(got)).toBe(text.replace('ada@example.com', '#').replace('bob@example.com', '#'));
      expect(got).not.toContain('@');
    });
  });
}

test('text leaves a window before the stream is over, and not before it was judged', async () => {
  const { response, go } = halting(chunks(LONG), Buffer.from(`${chunk('the end', 'stop')}data: [DONE]\n\n`));
  respond = () => response;
  const reply = await call(named('chat'), { output_guardrails: [inWindows] });
  const reader = reply.body!.getReader();
  const first = new TextDecoder().decode((await reader.read()).value);

  expect(LONG.startsWith(saidIn(first))).toBe(true);
  expect(saidIn(first).length).toBeGreaterThan(LONG.length / 2);
  expect(saidIn(first).length).toBeLessThan(LONG.length);
  go();
  let rest = '';
  for (let piece = await reader.read(); piece.value; piece = await reader.read())
    rest += new TextDecoder().decode(piece.value);
  expect(saidIn(first + rest)).toBe(`${LONG}the end`);
  expect(rest).toContain('[DONE]');
});

test('a stream that nobody may deny passes at once and is judged when it is over', async () => {
  const { response, go } = halting(chunks('a forbidden word'), Buffer.from('data: [DONE]\n\n'));
  respond = () => response;
  const headers = { 'x-gateway-strict-open-ai-compliance': 'false' };
  const reply = await call(named('chat'), { output_guardrails: [{ ...words, deny: false }] }, headers);
  const reader = reply.body!.getReader();
  const first = new TextDecoder().decode((await reader.read()).value);

  expect(saidIn(first)).toBe('a forbidden word');
  go();
  let rest = '';
  for (let piece = await reader.read(); piece.value; piece = await reader.read())
    rest += new TextDecoder().decode(piece.value);
  const [, last] = /\[DONE\]\n\ndata: (.*)\n\n$/.exec(rest)!;
  expect(JSON.parse(last!).hook_results.after_request_hooks[0]).toMatchObject({ verdict: false, deny: false });
  const { hook_results } = await gateway.logOf(reply);
  expect(hook_results.after_request_hooks[0]).toMatchObject({ verdict: false });
});

test('strict clients get nothing after the end of a stream', async () => {
  respond = () => named('chat').answer!('a forbidden word', true);

  const reply = await call(named('chat'), { output_guardrails: [{ ...words, deny: false }] });

  expect(await reply.text()).toEndWith('data: [DONE]\n\n');
});

test('a stream whose request failed without being denied is 246', async () => {
  respond = () => named('chat').answer!('fine', true);
  const guard = { 'default.contains': { words: ['Hi'], operator: 'none' } };

  const reply = await call(named('chat'), { input_guardrails: [guard] });

  expect(reply.status).toBe(246);
  expect(saidIn(await reply.text())).toBe('fine');
});

test('a held stream that breaks off is a failure of the provider and no verdict', async () => {
  const reply = await gateway.api.post(
    '/v1/chat/completions',
    { model: 'm', stream: true, messages: [{ role: 'user', content: 'Hi [[simulate: cut=after:2]]' }] },
    { headers: { 'x-gateway-config': JSON.stringify({ virtual_key: 'sim', output_guardrails: [words] }) } },
  );

  expect(reply.status).toBe(502);
  expect((await gateway.logOf(reply)).hook_results).toBeNull();
});

test('a denied stream counts what it took', async () => {
  respond = () => named('chat').answer!('a forbidden word', true);

  const reply = await call(named('chat'), { output_guardrails: [words] });

  expect(reply.status).toBe(446);
  expect(await gateway.logOf(reply)).toMatchObject({ total_tokens: 16, error_code: 'guardrail_denied' });
});

test('tool calls in a stream are judged as the text they come to', async () => {
  const call_ = (args: string, index = 0) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [{ index, function: { arguments: args } }] } }] })}\n\n`;
  const body = cut('{"q":"forbidden"}')
    .map((piece) => call_(piece))
    .join('');
  respond = () => new Response(body, { headers: { 'content-type': 'text/event-stream' } });

  for (const guard of [words, inWindows])
    expect((await call(named('chat'), { output_guardrails: [guard] })).status).toBe(446);
});
