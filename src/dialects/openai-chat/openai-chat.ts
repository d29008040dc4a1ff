import type { Dialect } from '../dialect.ts';
import { decodeRequest } from './decode.ts';
import { ChatStreamDecoder } from './decode-stream.ts';
import { encodeRequest } from './encode.ts';
import { ChatStreamEncoder } from './encode-stream.ts';
import { decodeError, encodeError } from './errors.ts';
import { decodeReply, encodeReply } from './reply.ts';

/** OpenAI's chat completions, and those of all providers that copy them. */
export const openaiChat = {
  name: 'openai-chat',
  inbound: {
    losesThoughts: true,
    decodeRequest,
    encodeReply,
    encodeStream: (context) => new ChatStreamEncoder(context),
    encodeError,
  },
  outbound: { encodeRequest, decodeReply, decodeStream: () => new ChatStreamDecoder(), decodeError },
} as const satisfies Dialect;
