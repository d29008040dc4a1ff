import { expect, test } from 'bun:test';
import { GatewayError } from '../../core/errors.ts';
import type { ReplyEvent } from '../ir.ts';
import { completions } from './completions.ts';

const context = {
  request: { model: 'claude', includeUsage: true },
  id: 'req-1',
  now: 1_700_000_000_000,
  isStrict: true,
};

test('a prompt is the one message of a conversation, its settings stay', () => {
  const request = completions.decodeRequest({
    model: 'claude',
    prompt: ['Once upon'],
    max_tokens: 5,
    stop: ['.'],
    echo: false,
    best_of: 1,
  });
  expect(request).toMatchObject({ model: 'claude', maxOutputTokens: 5, stop: ['.'] });
  expect(request.ext).toBeUndefined();
  expect(request.turns).toMatchObject([{ role: 'user', parts: [{ type: 'text', text: 'Once upon' }] }]);
});

for (const [name, body, code, param] of [
  ['several prompts', { prompt: ['a', 'b'] }, 'not_expressible', 'prompt'],
  ['numbers of tokens', { prompt: [1, 2] }, 'not_expressible', 'prompt'],
  ['no prompt', {}, 'invalid_request', 'prompt'],
  ['best_of', { prompt: 'a', best_of: 3 }, 'not_expressible', 'best_of'],
  ['a suffix', { prompt: 'a', suffix: 'b' }, 'not_expressible', 'suffix'],
  ['logprobs', { prompt: 'a', logprobs: 2 }, 'not_expressible', 'logprobs'],
] as const) {
  test(`${name} cannot be asked of a chat model`, () => {
    try {
      completions.decodeRequest({ model: 'claude', ...body });
      throw new Error('it was not refused');
    } catch (error) {
      expect(error).toBeInstanceOf(GatewayError);
      expect(error).toMatchObject({ code, param });
    }
  });
}

test('an answer is text', () => {
  const { body } = completions.encodeReply(
    {
      id: 'chatcmpl-7',
      model: 'claude',
      createdAt: 1_700_000_000,
      choices: [{ parts: [{ type: 'text', text: ' a time' }], finish: { reason: 'length' } }],
      usage: { inputTokens: 2, outputTokens: 3, totalTokens: 5 },
    },
    context,
  );
  expect(body).toMatchObject({
    id: 'cmpl-7',
    object: 'text_completion',
    created: 1_700_000_000,
    model: 'claude',
    choices: [{ text: ' a time', index: 0, logprobs: null, finish_reason: 'length' }],
    usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 },
  });
});

test('a stream is chunks of text, usage and the end', () => {
  const encoder = completions.encodeStream(context);
  const events: ReplyEvent[] = [
    { type: 'start', head: { id: 'chatcmpl-7', model: 'claude' } },
    { type: 'part-start', choice: 0, index: 0, part: { type: 'text', text: '' } },
    { type: 'part-delta', choice: 0, index: 0, delta: { text: ' a' } },
    { type: 'part-delta', choice: 0, index: 0, delta: { text: ' time' } },
    { type: 'part-end', choice: 0, index: 0 },
    { type: 'usage', usage: { inputTokens: 2, outputTokens: 3, totalTokens: 5 } },
    { type: 'finish', choice: 0, finish: { reason: 'stop' } },
  ];
  const sent = [...events.flatMap((event) => encoder.push(event)), ...encoder.end()].map(({ data }) => data);
  expect(sent.pop()).toBe('[DONE]');
  const chunks = sent.map((data) => JSON.parse(data));
  expect(chunks.map(({ choices }) => choices[0]?.text)).toEqual([' a', ' time', '', undefined]);
  expect(chunks[2].choices[0].finish_reason).toBe('stop');
  expect(chunks[3].usage).toMatchObject({ total_tokens: 5 });
  for (const { object, id } of chunks) expect({ object, id }).toEqual({ object: 'text_completion', id: 'cmpl-7' });
});

test('a stream that was cut ends with an error', () => {
  const encoder = completions.encodeStream(context);
  encoder.push({ type: 'start', head: {} });
  const [last] = encoder.end();
  expect(JSON.parse(last!.data).error.code).toBe('stream_broken');
});
