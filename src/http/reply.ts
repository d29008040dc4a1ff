import type { ClientDialect } from '../core/endpoints.ts';
import { GatewayError } from '../core/errors.ts';
import { errorBody } from './error-body.ts';
import { UpstreamFailure } from './upstream.ts';

/** Names and texts that callers gave stand in our own answers, too: no browser takes one for a page. */
const JSON_HEADERS = { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' };

export const json = (value: unknown, status = 200): Response => jsonText(JSON.stringify(value), status);

/** A value that is JSON text already. */
export const jsonText = (text: string, status = 200): Response => new Response(text, { status, headers: JSON_HEADERS });

/** What a failure means to a client. An unexpected failure shows its request id and nothing else. */
export function asGatewayError(error: unknown, requestId: string): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof UpstreamFailure) return error.toGatewayError();
  return new GatewayError('internal_error', [requestId]);
}

/** To clients of which format, and about which request. */
export interface ErrorReply {
  readonly dialect?: ClientDialect;
  readonly requestId?: string;
}

/** The one place that answers an error. */
export function replyWithError(error: GatewayError, { dialect = 'openai-chat', requestId }: ErrorReply = {}): Response {
  return new Response(JSON.stringify(error.oauthBody() ?? errorBody(error, dialect, requestId ?? null)), {
    status: error.status,
    headers: { ...JSON_HEADERS, 'x-gateway-error-origin': 'gateway', ...sendable(error.headers) },
  });
}

/** Names that people gave may stand in a header of an error; a character it cannot have must not cost the whole answer. */
function sendable(headers: Readonly<Record<string, string>>): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const name in headers) sent[name] = headers[name]!.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?');
  return sent;
}
