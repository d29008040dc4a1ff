import type { ClientDialect } from '../core/endpoints.ts';
import { errorType, type GatewayError } from '../core/errors.ts';
import type { SentHeaders } from './headers.ts';
import type { Route } from './route.ts';

const GOOGLE_VERB =
  /:(?:streamGenerateContent|generateContent|countTokens|embedContent|batchEmbedContents|predict\w*)$/i;

/** By what was asked for: the route's own word, the path of a vendor's API, or the header that every client of one sends. */
export function clientDialectOf(route: Route | undefined, path: string, headers: SentHeaders): ClientDialect {
  if (route?.dialect) return route.dialect;
  if (path === '/v1/messages' || path.startsWith('/v1/messages/')) return 'anthropic';
  if (GOOGLE_VERB.test(path)) return 'gemini';
  if (path.startsWith('/scim/')) return 'scim';
  return headers['anthropic-version'] !== undefined && path.startsWith('/v1/') ? 'anthropic' : 'openai-chat';
}

/** The body of an error in the envelope that clients of this format read. Each holds our code, message and parameter. */
export function errorBody(error: GatewayError, dialect: ClientDialect, requestId: string | null): unknown {
  const { error: own, ...more } = error.body();
  const { code, param, message } = { ...own, code: error.code } as Readonly<Record<string, unknown>>;
  if (dialect === 'anthropic')
    return {
      type: 'error',
      error: { type: anthropicType(error.status), message, code, param },
      request_id: requestId,
      ...more,
    };
  if (dialect === 'gemini')
    return {
      error: {
        code: error.status,
        message,
        status: googleStatus(error.status),
        details: [{ '@type': ERROR_INFO, reason: code, domain: 'gateway', ...(param ? { metadata: { param } } : {}) }],
      },
      ...more,
    };
  // Ollama's clients read a text.
  if (dialect === 'ollama') return { error: message, ...more };
  if (dialect === 'scim') return scimBody(error, String(message));
  return { error: own, ...more };
}

/** RFC 7644 section 3.12. Directories decide by the type, where there is one for a fault. */
function scimBody({ code, status }: GatewayError, detail: string): unknown {
  const scimType = SCIM_TYPES[code] ?? (status === 400 ? 'invalidValue' : undefined);
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    ...(scimType && { scimType }),
    detail,
    code,
  };
}

const SCIM_TYPES: Readonly<Record<string, string>> = {
  scim_uniqueness: 'uniqueness',
  scim_filter: 'invalidFilter',
  scim_path: 'invalidPath',
  invalid_json: 'invalidSyntax',
  last_owner: 'mutability',
};

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';

function anthropicType(status: number): string {
  if (status === 402 || status === 412) return 'billing_error';
  if (status === 413) return 'request_too_large';
  if (status === 446) return 'permission_error';
  if (status === 503) return 'overloaded_error';
  return errorType(status);
}

const GOOGLE_STATUSES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  412: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  446: 'FAILED_PRECONDITION',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  504: 'DEADLINE_EXCEEDED',
};

const googleStatus = (status: number): string =>
  GOOGLE_STATUSES[status] ?? (status >= 500 ? 'UNAVAILABLE' : 'INVALID_ARGUMENT');
