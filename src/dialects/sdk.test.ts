import { expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { ReplyContext } from './dialect.ts';
import { unfold } from './fold.ts';
import { dialects } from './index.ts';
import type { Failure, ModelReply, ReplyEvent } from './ir.ts';
import { formatSse } from './sse.ts';

/** The vendors' own stream helpers are strict readers of their formats: what they put together must be what was said. */

const context: ReplyContext = {
  request: { model: 'asked-for', includeUsage: true },
  id: 'made-here',
  now: 1_760_000_000_000,
};

const reply: ModelReply = {
  id: 'reply-1',
  model: 'model-1',
  createdAt: 1_760_000_000,
  choices: [
    {
      parts: [
        { type: 'reasoning', text: 'Let me see. 🌊', signature: 'c2ln', signedBy: 'anthropic' },
        { type: 'text', text: 'I will look, 言葉 after word.' },
        { type: 'tool-call', id: 'call_1', name: 'get_weather', argsText: '{"city":"Paris"}' },
        { type: 'tool-call', id: 'call_2', name: 'get_weather', argsText: '{"city":"Rome","unit":"c"}' },
        { type: 'tool-call', id: 'call_3', name: 'now', argsText: '{}' },
      ],
      finish: { reason: 'tool-calls' },
    },
  ],
  usage: { inputTokens: 120, outputTokens: 30, cachedInputTokens: 100, cacheWriteTokens: 5, reasoningTokens: 7 },
};

const failure: Failure = { kind: 'overloaded', status: 503, message: 'Too busy.', code: 'overloaded' };

function streamed(name: 'openai-chat' | 'anthropic', events: Iterable<ReplyEvent>, isStrict = false): Response {
  const encoder = dialects[name].inbound!.encodeStream({ ...context, isStrict });
  const written = [...[...events].flatMap((event) => encoder.push(event)), ...encoder.end()];
  return new Response(written.map(formatSse).join(''), { headers: { 'content-type': 'text/event-stream' } });
}

const fetchOf = (response: Response) => (async () => response) as unknown as typeof fetch;
const openai = (response: Response) => new OpenAI({ apiKey: 'none', maxRetries: 0, fetch: fetchOf(response) });
const anthropic = (response: Response) => new Anthropic({ apiKey: 'none', maxRetries: 0, fetch: fetchOf(response) });
const chatStream = (response: Response) =>
  openai(response).chat.completions.stream({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
const messageStream = (response: Response) =>
  anthropic(response).messages.stream({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] });

/** The same reply, with its calls coming at the same time. */
function alternating(): ReplyEvent[] {
  const events = [...unfold(reply, 3)];
  const isOf = (index: number) => (event: ReplyEvent) => 'index' in event && event.index === index;
  const [first, second] = [events.filter(isOf(2)), events.filter(isOf(3))];
  const mixed = Array.from({ length: Math.max(first.length, second.length) }, (_, index) => [
    first[index],
    second[index],
  ]).flat();
  const others = events.filter((event) => !isOf(2)(event) && !isOf(3)(event));
  const at = others.findIndex(isOf(4));
  return [...others.slice(0, at), ...mixed.filter((event) => event !== undefined), ...others.slice(at)];
}

for (const isStrict of [true, false])
  for (const [kind, events] of Object.entries({ 'one after the other': () => unfold(reply, 4), alternating }))
    test(`OpenAI's helper puts a stream with calls ${kind} together, strict: ${isStrict}`, async () => {
      const completion = await chatStream(streamed('openai-chat', events(), isStrict)).finalChatCompletion();
      const [choice] = completion.choices;
      expect(completion).toMatchObject({ id: 'reply-1', model: 'model-1', created: 1_760_000_000 });
      expect(choice?.finish_reason).toBe('tool_calls');
      expect(choice?.message.content).toBe('I will look, 言葉 after word.');
      expect(
        choice?.message.tool_calls?.map((call) => [call.id, call.type === 'function' && call.function]),
      ).toMatchObject([
        ['call_1', { name: 'get_weather', arguments: '{"city":"Paris"}' }],
        ['call_2', { name: 'get_weather', arguments: '{"city":"Rome","unit":"c"}' }],
        ['call_3', { name: 'now', arguments: '{}' }],
      ]);
      expect(completion.usage).toMatchObject({
        prompt_tokens: 120,
        completion_tokens: 30,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 5 },
        completion_tokens_details: { reasoning_tokens: 7 },
      });
    });

for (const [kind, events] of Object.entries({ 'one after the other': () => unfold(reply, 4), alternating }))
  test(`Anthropic's helper puts a stream with calls ${kind} together`, async () => {
    const message = await messageStream(streamed('anthropic', events())).finalMessage();
    expect(message.content as unknown[]).toMatchObject([
      { type: 'thinking', thinking: 'Let me see. 🌊', signature: 'c2ln' },
      { type: 'text', text: 'I will look, 言葉 after word.' },
      { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Paris' } },
      { type: 'tool_use', id: 'call_2', name: 'get_weather', input: { city: 'Rome', unit: 'c' } },
      { type: 'tool_use', id: 'call_3', name: 'now', input: {} },
    ]);
    expect(message).toMatchObject({ id: 'reply-1', model: 'model-1', stop_reason: 'tool_use', stop_sequence: null });
    expect(message.usage).toMatchObject({
      input_tokens: 15,
      output_tokens: 30,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 5,
    });
  });

test('a chat client that did not ask for usage gets no chunk without a choice', async () => {
  const encoder = dialects['openai-chat'].inbound!.encodeStream({ ...context, request: { model: 'm' } });
  const written = [...[...unfold(reply)].flatMap((event) => encoder.push(event)), ...encoder.end()];
  expect(written.at(-1)?.data).toBe('[DONE]');
  for (const { data } of written.slice(0, -1)) expect(JSON.parse(data).choices).toHaveLength(1);
  expect(written.some(({ data }) => data.includes('"usage"'))).toBe(false);
});

const broken: ReplyEvent[] = [
  ...[...unfold(reply, 4)].slice(0, 12),
  { type: 'error', failure },
  { type: 'finish', choice: 0, finish: { reason: 'stop' } },
];

test('a failure inside a stream reaches each helper as an error, with its message', async () => {
  await expect(chatStream(streamed('openai-chat', broken)).finalChatCompletion()).rejects.toThrow('Too busy.');
  await expect(messageStream(streamed('anthropic', broken)).finalMessage()).rejects.toThrow('Too busy.');
});

test('a stream that was never finished never ends cleanly', async () => {
  const cut = [...unfold(reply, 4)].slice(0, 12);
  const why = 'ended the stream before the answer was complete';
  await expect(chatStream(streamed('openai-chat', cut)).finalChatCompletion()).rejects.toThrow(why);
  await expect(messageStream(streamed('anthropic', cut)).finalMessage()).rejects.toThrow(why);
  expect(await streamed('openai-chat', cut).text()).not.toContain('[DONE]');
  expect(await streamed('anthropic', cut).text()).not.toContain('message_stop');
});

test('errors are the ones that the clients know by their classes', async () => {
  const answer = (name: 'openai-chat' | 'anthropic') => {
    const { status, body } = dialects[name].inbound!.encodeError({ ...failure, kind: 'rate-limit', status: 429 });
    return Response.json(body, { status });
  };
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const chat = openai(answer('openai-chat')).chat.completions.create({ model: 'm', messages });
  await expect(Promise.resolve(chat)).rejects.toThrow(OpenAI.RateLimitError);
  const message = anthropic(answer('anthropic')).messages.create({ model: 'm', max_tokens: 9, messages });
  await expect(Promise.resolve(message)).rejects.toThrow(Anthropic.RateLimitError);
});
