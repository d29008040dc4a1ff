import type { SentHeaders } from '../../http/headers.ts';

/** They are about the one message that the client sent. */
const NOT_REPEATED = new Set([
  'content-length',
  'content-type',
  'content-encoding',
  'transfer-encoding',
  'expect',
  'host',
  'accept',
  'accept-encoding',
  'connection',
  'idempotency-key',
  'traceparent',
  'tracestate',
]);

/** The headers of a client that each round has, too. */
export function repeated(headers: SentHeaders): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const name in headers) if (!NOT_REPEATED.has(name) && headers[name] !== undefined) sent[name] = headers[name];
  return sent;
}
