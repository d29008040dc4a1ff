import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type OpenAI from 'openai';
import { startGateway, type TestGateway } from '../gateway.ts';
import { createDatabase } from '../postgres.ts';
import { startRecorder } from '../recorder.ts';
import { openaiClient } from '../sdk-clients.ts';
import { query } from '../state-tables.ts';

/** Clients of the plain chat format cannot carry what a provider signs. The next turn may reach another node. */
const provider = startRecorder();
let first: TestGateway;
let second: TestGateway;
const keys: Record<string, string> = {};

const MODELS = { google: 'gemini-3-pro-preview', anthropic: 'claude-sonnet-4-5' } as const;
type Maker = keyof typeof MODELS;

beforeAll(async () => {
  const databaseUrl = await createDatabase();
  first = await startGateway({ engine: 'postgres', databaseUrl });
  second = await startGateway({ engine: 'postgres', databaseUrl });
  const { given } = first;
  for (const [slug, base] of [
    ['google', 'v1beta'],
    ['anthropic', 'v1'],
  ] as const) {
    await given.virtualKey({ slug, provider: slug, custom_host: `${provider.origin}/${base}` });
    keys[slug] = (await given.apiKey({ defaults: { virtual_key: slug } })).key;
  }
});
afterAll(async () => {
  await first.stop();
  await second.stop();
  provider.stop();
});
beforeEach(() => {
  provider.requests.length = 0;
});

const tools: OpenAI.Chat.Completions.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } },
];
const question = { role: 'user' as const, content: 'How is the weather?' };

const sse = (...events: object[]) =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  });
const namedSse = (...events: { type: string }[]) =>
  new Response(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  });

/** A call that its maker signed, as each of them gives it. */
const calls: Record<Maker, (id: string, isStream: boolean) => Response> = {
  google: (id, isStream) => {
    const parts = [
      { text: 'Let me look.' },
      { functionCall: { id, name: 'get_weather', args: {} }, thoughtSignature: 'c2lnbmF0dXJl' },
    ];
    const answer = { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }], responseId: 'r' };
    return isStream ? sse(answer) : Response.json(answer);
  },
  anthropic: (id, isStream) => {
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', usage: { input_tokens: 1 } };
    const content = [
      { type: 'thinking', thinking: 'The weather, then.', signature: 'c2lnbmF0dXJl' },
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_use', id, name: 'get_weather', input: {} },
    ];
    if (!isStream)
      return Response.json({
        ...message,
        content,
        stop_reason: 'tool_use',
        usage: { input_tokens: 1, output_tokens: 1 },
      });
    const [thought, text, call] = content as [object, object, object];
    return namedSse(
      { type: 'message_start', message: { ...message, content: [] } } as { type: string },
      { type: 'content_block_start', index: 0, content_block: { ...thought, thinking: '', signature: '' } } as never,
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'The weather,' } } as never,
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: ' then.' } } as never,
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2lnbmF0dXJl' } } as never,
      { type: 'content_block_stop', index: 0 } as never,
      { type: 'content_block_start', index: 1, content_block: text } as never,
      { type: 'content_block_stop', index: 1 } as never,
      { type: 'content_block_start', index: 2, content_block: call } as never,
      { type: 'content_block_stop', index: 2 } as never,
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } } as never,
      { type: 'message_stop' },
    );
  },
};

const lastWords: Record<Maker, () => Response> = {
  google: () => Response.json({ candidates: [{ content: { parts: [{ text: 'Fine.' }] }, finishReason: 'STOP' }] }),
  anthropic: () =>
    Response.json({
      ...{ id: 'msg_2', type: 'message', role: 'assistant', model: 'claude', stop_reason: 'end_turn' },
      content: [{ type: 'text', text: 'Fine.' }],
      usage: { input_tokens: 1, output_tokens: 1 },
    }),
};

/** What the maker must get back of its own turn. */
const wanted: Record<Maker, (id: string) => unknown> = {
  google: (id) => [
    { text: 'Let me look.' },
    { functionCall: { id, name: 'get_weather', args: {} }, thoughtSignature: 'c2lnbmF0dXJl' },
  ],
  anthropic: (id) => [
    { type: 'thinking', thinking: 'The weather, then.', signature: 'c2lnbmF0dXJl' },
    { type: 'text', text: 'Let me look.' },
    { type: 'tool_use', id, name: 'get_weather', input: {} },
  ],
};

const turnSent = (maker: Maker): unknown => {
  const { json } = provider.last;
  return maker === 'google' ? json.contents[1].parts : json.messages[1].content;
};

async function asksAndCalls(gateway: TestGateway, maker: Maker, id: string, isStream: boolean) {
  provider.answers(() => calls[maker](id, isStream));
  const client = openaiClient(gateway.url, keys[maker]!).chat.completions;
  const body = { model: MODELS[maker], messages: [question], tools };
  const completion = isStream ? await client.stream(body).finalChatCompletion() : await client.create(body);
  const { message } = completion.choices[0]!;
  // Only what the format has, as a strict client would keep it.
  expect(Object.keys(message)).not.toContain('content_blocks');
  const { role, content, tool_calls } = message;
  return { role, content, tool_calls } as OpenAI.Chat.Completions.ChatCompletionMessageParam;
}

async function answersTool(gateway: TestGateway, maker: Maker, turn: object, key = keys[maker]!) {
  const [call] = (turn as { tool_calls: { id: string }[] }).tool_calls;
  provider.answers(lastWords[maker]);
  const messages = [question, turn, { role: 'tool', tool_call_id: call!.id, content: 'Sunny.' }];
  return gateway.api.post('/v1/chat/completions', { model: MODELS[maker], messages, tools }, { key });
}

for (const maker of ['google', 'anthropic'] as const)
  for (const isStream of [false, true])
    describe(`${maker}, ${isStream ? 'streamed' : 'in one piece'}`, () => {
      test('what the provider signed comes back to it with the next turn, through another node', async () => {
        const id = `call_${maker}_${isStream}`;
        const turn = await asksAndCalls(first, maker, id, isStream);
        const reply = await answersTool(second, maker, turn);
        expect(reply.status).toBe(200);
        expect(reply.json.choices[0].message.content).toBe('Fine.');
        expect(turnSent(maker)).toEqual(wanted[maker](id));
        expect(reply.headers.get('x-gateway-changed') ?? '').not.toContain('made elsewhere');
        expect(reply.headers.get('x-gateway-dropped') ?? '').not.toContain('messages[1]');
      });
    });

test('another workspace that knows the id gets none of it', async () => {
  const workspace = await first.given.workspace({ slug: 'others' });
  const slug = 'others-google';
  await first.given.virtualKey({
    ...{ slug, provider: 'google', workspace_id: workspace.id, custom_host: `${provider.origin}/v1beta` },
  });
  const { key } = await first.given.apiKey({ workspace_id: workspace.id, defaults: { virtual_key: slug } });
  const turn = await asksAndCalls(first, 'google', 'call_of_mine', false);
  const reply = await answersTool(second, 'google', turn, key);
  expect(reply.headers.get('x-gateway-changed')).toContain('made elsewhere');
  expect(provider.last.text).not.toContain('c2lnbmF0dXJl');
});

test('thoughts of one maker never reach another', async () => {
  const turn = await asksAndCalls(first, 'anthropic', 'call_elsewhere', false);
  const reply = await answersTool(second, 'google', turn);
  expect(reply.status).toBe(200);
  expect(provider.last.text).not.toContain('The weather, then.');
  expect(provider.last.text).not.toContain('c2lnbmF0dXJl');
});

test('a call without tools, or without anything signed, leaves nothing in the store', async () => {
  const count = async () => (await query<{ n: string }>(first, 'select count(*) as n from kept_thoughts'))[0]!.n;
  const before = await count();
  provider.answers(lastWords.google);
  const body = { model: MODELS.google, messages: [question] };
  expect((await first.api.post('/v1/chat/completions', body, { key: keys.google })).status).toBe(200);
  expect(await count()).toBe(before);
});
