import type { Dialect } from '../dialect.ts';
// One vendor, one error body.
import { decodeError, encodeError } from '../openai-chat/errors.ts';
import { decodeRequest } from './decode.ts';
import { ResponsesStreamDecoder } from './decode-stream.ts';
import { encodeRequest } from './encode.ts';
import { ResponsesStreamEncoder } from './encode-stream.ts';
import { decodeReply, encodeReply } from './reply.ts';

/** OpenAI's Responses API. Who keeps responses for clients is told by `kept.ts` what to keep. */
export const responses = {
  name: 'responses',
  inbound: { decodeRequest, encodeReply, encodeStream: (context) => new ResponsesStreamEncoder(context), encodeError },
  outbound: {
    signsThoughts: true,
    encodeRequest,
    decodeReply,
    decodeStream: () => new ResponsesStreamDecoder(),
    decodeError,
  },
} as const satisfies Dialect;
