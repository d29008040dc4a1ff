import { fold } from '../fold.ts';
import { FramingError } from '../framing-error.ts';
import type { ModelReply } from '../ir.ts';
import { isObject } from '../json.ts';
import { GeminiStreamDecoder } from './decode-stream.ts';

/** The whole answer is a stream of one chunk, and is read like one. */
export function decodeReply(body: unknown): ModelReply {
  if (!isObject(body)) throw new FramingError('the answer is no JSON object');
  if (!Array.isArray(body.candidates) && !isObject(body.promptFeedback) && !isObject(body.usageMetadata))
    throw new FramingError('the answer has no candidates');
  const decoder = new GeminiStreamDecoder();
  const { reply, failure } = fold([...decoder.chunk(body), ...decoder.finish()]);
  if (failure) throw new FramingError(failure.message);
  return reply;
}
