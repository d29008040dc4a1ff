import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { serve, startGateway, type TestGateway } from '../gateway.ts';

/** What chat clients expect of every provider: JSON mode, and thoughts where they look for them. */
let gateway: TestGateway;
let claude: ReturnType<typeof serve>;
// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
let sent: any;

const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', stop_sequence: null };
const usage = { input_tokens: 3, output_tokens: 5 };
const thinking = { type: 'thinking', thinking: 'Let me see.', signature: 'c2lnbmVk' };

/** Calls the function that it is forced to call; else it thinks and then speaks. */
function answered({ tool_choice, stream }: { tool_choice?: { name?: string }; stream?: boolean }): Response {
  const input = { city: 'Oslo', rain: true };
  const content = tool_choice?.name
    ? [{ type: 'tool_use', id: 'toolu_1', name: tool_choice.name, input }]
    : [thinking, { type: 'text', text: 'Rain.' }];
  const stop_reason = tool_choice?.name ? 'tool_use' : 'end_turn';
  if (!stream) return Response.json({ ...head, content, stop_reason, usage });
  const events: [string, object][] = [['message_start', { message: { ...head, content: [], usage } }]];
  for (const [index, block] of content.entries()) {
    const empty = {
      ...block,
      ...('input' in block ? { input: {} } : 'text' in block ? { text: '' } : { thinking: '' }),
    };
    events.push(['content_block_start', { index, content_block: empty }]);
    const deltas =
      'input' in block
        ? ['{"city":"Os', 'lo","rain":true}'].map((partial_json) => ({ type: 'input_json_delta', partial_json }))
        : 'text' in block
          ? [{ type: 'text_delta', text: block.text }]
          : [{ type: 'thinking_delta', thinking: thinking.thinking }];
    for (const delta of deltas) events.push(['content_block_delta', { index, delta }]);
    events.push(['content_block_stop', { index }]);
  }
  events.push(['message_delta', { delta: { stop_reason, stop_sequence: null }, usage }], ['message_stop', {}]);
  const text = events.map(([type, members]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`);
  return new Response(text.join(''), { headers: { 'content-type': 'text/event-stream' } });
}

beforeAll(async () => {
  gateway = await startGateway();
  claude = serve(async (request) => {
    sent = await request.json();
    return answered(sent);
  });
  await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic', custom_host: `${claude.origin}/v1` });
});
afterAll(async () => {
  claude.stop();
  await gateway.stop();
});

const ask = (more: object, headers: Record<string, string> = {}, path = '/v1/chat/completions') =>
  gateway.api.post(
    path,
    { model: 'claude-sonnet-4-5', messages: [{ role: 'user', content: 'The weather as JSON' }], ...more },
    { headers: { 'x-gateway-virtual-key': 'claude', ...headers } },
  );

/** The first choice of a streamed answer, put together. */
function folded(text: string) {
  const deltas = text.split('\n\n').flatMap((event) => {
    if (!event.startsWith('data: {')) return [];
    return JSON.parse(event.slice(6)).choices.map((choice: object) => choice);
  });
  const joined = (name: string) => deltas.map(({ delta }) => delta[name] ?? '').join('');
  return {
    content: joined('content'),
    thoughts: joined('reasoning_content'),
    calls: deltas.filter(({ delta }) => delta.tool_calls).length,
    blocks: deltas.filter(({ delta }) => delta.content_blocks).length,
    finish: deltas.map(({ finish_reason }) => finish_reason).findLast(Boolean),
  };
}

describe('response_format: json_object on a provider that gives JSON by a schema only', () => {
  const response_format = { type: 'json_object' };

  test('is what the model calls a function with, whole and streamed', async () => {
    const whole = await ask({ response_format });
    const { message, finish_reason } = whole.json.choices[0];
    expect([JSON.parse(message.content), message.tool_calls, finish_reason]).toEqual([
      { city: 'Oslo', rain: true },
      undefined,
      'stop',
    ]);
    expect(sent.tool_choice).toMatchObject({ type: 'tool', name: sent.tools[0].name });
    expect(whole.headers.get('x-gateway-changed')).toContain('response_format (by a function that must be called)');
    const streamed = folded((await ask({ response_format, stream: true })).text);
    expect(streamed).toMatchObject({ content: '{"city":"Oslo","rain":true}', calls: 0, finish: 'stop' });
  });

  test('works for the Responses API', async () => {
    const body = { input: 'As JSON', messages: undefined, text: { format: { type: 'json_object' } }, store: false };
    const { output } = (await ask(body, {}, '/v1/responses')).json;
    expect(output).toMatchObject([{ type: 'message', content: [{ text: '{"city":"Oslo","rain":true}' }] }]);
  });
});

describe('thoughts of a model', () => {
  const strict = (value: string) => ({ 'x-gateway-strict-open-ai-compliance': value });

  test('are shown as reasoning_content, whole and streamed', async () => {
    const { message } = (await ask({})).json.choices[0];
    expect(message).toMatchObject({ content: 'Rain.', reasoning_content: 'Let me see.' });
    expect(message.content_blocks).toBeUndefined();
    const streamed = folded((await ask({ stream: true })).text);
    expect(streamed).toMatchObject({ content: 'Rain.', thoughts: 'Let me see.', blocks: 0 });
  });

  test('are hidden from a client that wants the vendor’s members only', async () => {
    const { message } = (await ask({}, strict('true'))).json.choices[0];
    expect(message).toEqual({ role: 'assistant', content: 'Rain.', refusal: null });
    expect(folded((await ask({ stream: true }, strict('true'))).text).thoughts).toBe('');
  });

  test('come with their signatures for a client that asks for them', async () => {
    const { message } = (await ask({}, strict('false'))).json.choices[0];
    expect(message.content_blocks[0]).toMatchObject({ type: 'thinking', signature: 'c2lnbmVk' });
    expect(folded((await ask({ stream: true }, strict('false'))).text).blocks).toBeGreaterThan(0);
  });

  test('are a summary in the Responses API', async () => {
    const { output } = (await ask({ input: 'Hello', messages: undefined, store: false }, {}, '/v1/responses')).json;
    expect(output[0]).toMatchObject({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Let me see.' }] });
  });
});
