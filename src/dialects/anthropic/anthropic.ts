import type { Dialect } from '../dialect.ts';
import { decodeRequest } from './decode.ts';
import { AnthropicStreamDecoder } from './decode-stream.ts';
import { encodeRequest } from './encode.ts';
import { AnthropicStreamEncoder } from './encode-stream.ts';
import { decodeError, encodeError } from './errors.ts';
import { decodeReply, encodeReply } from './reply.ts';

/** Anthropic's Messages API; also Claude on Vertex AI and on Foundry, which differ in address and credential. */
export const anthropic = {
  name: 'anthropic',
  inbound: { decodeRequest, encodeReply, encodeStream: (context) => new AnthropicStreamEncoder(context), encodeError },
  outbound: {
    signsThoughts: true,
    encodeRequest,
    decodeReply,
    decodeStream: () => new AnthropicStreamDecoder(),
    decodeError,
  },
} as const satisfies Dialect;
