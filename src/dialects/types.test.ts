import { expect, test } from 'bun:test';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { encodeRequest as encodeMessages } from './anthropic/encode.ts';
import { encodeReply as encodeMessage } from './anthropic/reply.ts';
import type { ModelReply, ModelRequest } from './ir.ts';
import { encodeRequest as encodeChat } from './openai-chat/encode.ts';
import { encodeReply as encodeCompletion } from './openai-chat/reply.ts';

/** The vendors' types judge what we write: `tsc` fails when a body is not what their own client would send or get. */

const request: ModelRequest = { model: 'm', turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] };
const reply: ModelReply = { choices: [{ parts: [{ type: 'text', text: 'Hello' }], finish: { reason: 'stop' } }] };
const context = { request: { model: 'm' }, id: 'made-here', now: 1_760_000_000_000 };

test('a body for chat completions is one of the vendor’s types', () => {
  const { body } = encodeChat(request);
  body satisfies Pick<OpenAI.ChatCompletionCreateParams, keyof OpenAI.ChatCompletionCreateParams>;
  expect(body).toEqual({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
});

test('a body for messages is one of the vendor’s types', () => {
  const { body } = encodeMessages({ ...request, maxOutputTokens: 9 });
  body satisfies Pick<Anthropic.MessageCreateParams, keyof Anthropic.MessageCreateParams>;
  expect(body).toEqual({
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  });
});

test('a chat completion that we answer is one of the vendor’s types', () => {
  const { body } = encodeCompletion(reply, context);
  body satisfies OpenAI.ChatCompletion;
  expect(body).toEqual({
    id: 'made-here',
    object: 'chat.completion',
    created: 1_760_000_000,
    model: 'm',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
  });
});

test('a message that we answer is one of the vendor’s types', () => {
  const { body } = encodeMessage(reply, context);
  // The AI SDK refuses `citations: null`, which the vendor's types want and its API leaves out.
  type Block = Anthropic.ContentBlock | Omit<Anthropic.TextBlock, 'citations'>;
  body satisfies Omit<Anthropic.Message, 'content'> & { content: Block[] };
  expect(body).toMatchObject({ id: 'made-here', type: 'message', content: [{ type: 'text', text: 'Hello' }] });
});
