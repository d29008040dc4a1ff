import { prose } from '../prompt.ts';
import type { Canned } from './canned.ts';

const usage = { prompt_tokens: 74, completion_tokens: 46, total_tokens: 120 };
const head = { id: 'chatcmpl-bench0000000000000000001', created: 1_760_000_000, model: 'gpt-4o-mini-2024-07-18' };

const event = (more: object): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...more })}\n\n`);
const delta = (content: string): Buffer =>
  event({ system_fingerprint: 'fp_bench', choices: [{ index: 0, delta: { content }, finish_reason: null }] });

const finish = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const lastUsage = event({ choices: [], usage });
const done = Buffer.from('data: [DONE]\n\n');

export const openai: Canned = {
  whole: Buffer.from(
    JSON.stringify({
      ...head,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: prose(230, 11), refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage,
      service_tier: 'default',
      system_fingerprint: 'fp_bench',
    }),
  ),
  opening: [],
  chunks: prose(400, 13)
    .split(' ')
    .map((word) => delta(` ${word}`)),
  ending: ({ stream_options }) => [finish, ...(stream_options?.include_usage ? [lastUsage] : []), done],
};

/** A call of the tool that searches files. */
export const searches = Buffer.from(
  JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'file_search', arguments: '{"queries":["harbour"]}' } },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage,
  }),
);
