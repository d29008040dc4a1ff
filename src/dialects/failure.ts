import type { GatewayError } from '../core/errors.ts';
import type { Failure, FailureKind } from './ir.ts';

const STATUSES: Readonly<Record<FailureKind, number>> = {
  'invalid-request': 400,
  authentication: 401,
  billing: 402,
  permission: 403,
  'not-found': 404,
  'too-large': 413,
  'rate-limit': 429,
  timeout: 504,
  overloaded: 503,
  server: 500,
};

/** The status a failure inside a stream would have had. */
export const statusOf = (kind: FailureKind): number => STATUSES[kind];

export function kindOfStatus(status: number): FailureKind {
  if (status === 401) return 'authentication';
  if (status === 402) return 'billing';
  if (status === 403) return 'permission';
  if (status === 404) return 'not-found';
  if (status === 413) return 'too-large';
  if (status === 429) return 'rate-limit';
  if (status === 408 || status === 504) return 'timeout';
  if (status === 503 || status === 529) return 'overloaded';
  return status >= 500 ? 'server' : 'invalid-request';
}

/** An error of the gateway itself, for `encodeError`: clients of every dialect get it in theirs. */
export const ownFailure = ({ status, message, code, param }: GatewayError): Failure => ({
  kind: kindOfStatus(status),
  status,
  message,
  code,
  ...(param !== null && { param }),
});

/** A stream that stopped before its end: the client must not take it for a whole answer. */
export const cutOff = (): Failure => ({
  kind: 'server',
  status: 502,
  message: 'The provider ended the stream before the answer was complete.',
  code: 'stream_broken',
});

/** Something in a stream that its dialect does not allow. */
export const garbled = (why: string, raw?: unknown): Failure => ({
  kind: 'server',
  status: 502,
  message: `The provider sent what cannot be understood: ${why}.`,
  code: 'stream_garbled',
  ...(raw !== undefined && { raw }),
});
