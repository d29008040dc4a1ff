import type { Dialect } from '../dialect.ts';
import { GeminiStreamDecoder } from './decode-stream.ts';
import { encodeRequest } from './encode.ts';
import { decodeError } from './errors.ts';
import { decodeReply } from './reply.ts';

/** Google's generateContent: the Gemini API, and Gemini on Vertex AI, which differ in address and credential. */
export const gemini = {
  name: 'gemini',
  outbound: {
    signsThoughts: true,
    encodeRequest,
    decodeReply,
    decodeStream: () => new GeminiStreamDecoder(),
    decodeError,
  },
} as const satisfies Dialect;
