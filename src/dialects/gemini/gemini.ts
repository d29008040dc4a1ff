import type { Dialect, ReplyContext } from '../dialect.ts';
import { decodeRequest } from './decode.ts';
import { GeminiStreamDecoder } from './decode-stream.ts';
import { encodeRequest } from './encode.ts';
import { encodeReply } from './encode-reply.ts';
import { GeminiStreamEncoder } from './encode-stream.ts';
import { decodeError, encodeError } from './errors.ts';
import { decodeReply } from './reply.ts';

/** Google's generateContent: the Gemini API, and Gemini on Vertex AI, which differ in address and credential. */
export const gemini = {
  name: 'gemini',
  inbound: {
    decodeRequest,
    encodeReply,
    encodeStream: (context: ReplyContext) => new GeminiStreamEncoder(context),
    encodeError,
  },
  outbound: {
    signsThoughts: true,
    encodeRequest,
    decodeReply,
    decodeStream: () => new GeminiStreamDecoder(),
    decodeError,
  },
} as const satisfies Dialect;
