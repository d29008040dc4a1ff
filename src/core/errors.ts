import { callerErrors } from './errors/callers.ts';
import type { Entry } from './errors/entry.ts';
import { gatewayErrors } from './errors/gateway.ts';
import { mcpErrors } from './errors/mcp.ts';
import { oauthErrors } from './errors/oauth.ts';
import { objectErrors } from './errors/objects.ts';
import { openaiErrors } from './errors/openai.ts';
import { providerErrors } from './errors/providers.ts';
import { requestErrors } from './errors/requests.ts';
import { resourceErrors } from './errors/resources.ts';

/**
 * The whole vocabulary of failure. Every error the gateway answers itself is one entry in `errors/`, by area: its
 * status, and a message that says what was wrong, with the value, and what would be right. `docs/errors.md` is held equal
 * to this list by a test. Throw with `fail(code, …facts)` anywhere; only `http/reply.ts` answers.
 */
export const catalogue = {
  ...callerErrors,
  ...oauthErrors,
  ...requestErrors,
  ...openaiErrors,
  ...providerErrors,
  ...resourceErrors,
  ...mcpErrors,
  ...objectErrors,
  ...gatewayErrors,
};

type Catalogue = typeof catalogue;
export type ErrorCode = keyof Catalogue;
type Facts<Code extends ErrorCode> = Parameters<Catalogue[Code]['message']>;

/** An answer that is not the one hoped for: thrown anywhere, answered once. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly param: string | null;
  /** Extra response headers, such as Allow or Retry-After. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #facts: unknown[];

  constructor(code: ErrorCode, facts: unknown[], headers: Record<string, string> = {}) {
    const entry = catalogue[code] as Entry<unknown[]>;
    super(entry.message(...facts));
    this.name = 'GatewayError';
    this.code = code;
    this.status = entry.status;
    this.param = entry.param?.(...facts) ?? null;
    this.headers = headers;
    this.#facts = facts;
  }

  /** The same with further response headers. */
  with(headers: Record<string, string>): GatewayError {
    return new GatewayError(this.code, this.#facts, { ...this.headers, ...headers });
  }

  /** What its message was made of. */
  get facts(): readonly unknown[] {
    return this.#facts;
  }

  body(): { readonly error: Readonly<Record<string, unknown>> } {
    const { answered } = catalogue[this.code] as Entry<unknown[]>;
    const type = answered?.type ?? errorType(this.status);
    const code = answered?.code === null ? null : this.code;
    return { error: { message: this.message, type, param: this.param, code } };
  }

  /** The body for clients of an authorization server; null where the error is none of theirs. */
  oauthBody() {
    const { oauth } = catalogue[this.code] as Entry<unknown[]>;
    // RFC 6749 allows no other characters in a description.
    return oauth ? { error: oauth, error_description: this.message.replace(/[^\x20-\x7e]|["\\]/g, "'") } : null;
  }
}

/** Throws the catalogue's error; the facts are type-checked. */
export function fail<Code extends ErrorCode>(code: Code, ...facts: Facts<Code>): never {
  throw new GatewayError(code, facts);
}

/** The `type` of an error body, as OpenAI's SDKs know it. */
export function errorType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 404) return 'not_found_error';
  if (status === 429) return 'rate_limit_error';
  if (status === 408 || status === 504) return 'timeout_error';
  if (status >= 500) return 'api_error';
  return 'invalid_request_error';
}
