import { prose } from '../prompt.ts';
import type { Canned } from './canned.ts';

const head = { id: 'msg_01Bench00000000000000001', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5' };
const usage = {
  input_tokens: 74,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 46,
  service_tier: 'standard',
};

const event = (type: string, more: object = {}): Buffer =>
  Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
const delta = (text: string): Buffer => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });

export const anthropic: Canned = {
  whole: Buffer.from(
    JSON.stringify({
      ...head,
      content: [{ type: 'text', text: prose(230, 11) }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage,
    }),
  ),
  opening: [
    event('message_start', {
      message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } },
    }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('ping'),
  ],
  chunks: prose(400, 13)
    .split(' ')
    .map((word) => delta(` ${word}`)),
  ending: () => [
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 46 } }),
    event('message_stop'),
  ],
};
