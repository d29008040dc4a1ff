import type { Dialect } from '../dialect.ts';
import { CohereStreamDecoder } from './decode-stream.ts';
import { encodeRequest } from './encode.ts';
import { decodeError } from './errors.ts';
import { decodeReply } from './reply.ts';

/** Cohere's chat, version 2. */
export const cohere = {
  name: 'cohere',
  outbound: { encodeRequest, decodeReply, decodeStream: () => new CohereStreamDecoder(), decodeError },
} as const satisfies Dialect;
