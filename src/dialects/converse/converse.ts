import type { Dialect } from '../dialect.ts';
import { ConverseStreamDecoder } from './decode-stream.ts';
import { encodeRequest } from './encode.ts';
import { decodeError } from './errors.ts';
import { decodeReply } from './reply.ts';

/**
 * Amazon Bedrock's Converse and ConverseStream. Its streams come in AWS frames, which reach the decoder as events that
 * have the frame's type as their name, `exception/<type>` when something went wrong.
 */
export const converse = {
  name: 'converse',
  outbound: {
    signsThoughts: true,
    encodeRequest,
    decodeReply,
    decodeStream: () => new ConverseStreamDecoder(),
    decodeError,
  },
} as const satisfies Dialect;
