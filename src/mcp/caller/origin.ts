import { fail } from '../../core/errors.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';

/** A page cannot call itself by these names unless it comes from this very machine. */
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

export interface Origins {
  /** Throws 403 for a Host or an Origin that is not ours: a page elsewhere may have had its name point here. */
  check(headers: SentHeaders): void;
  /** What an answer carries so that a page of an allowed origin may read it. */
  corsOf(headers: SentHeaders): SentHeaders;
  preflight(headers: SentHeaders): Response;
}

export interface OriginDeps {
  readonly publicUrl: () => string;
  /** Origins of browser clients, beside our own and this machine's. */
  readonly allowed: readonly string[];
}

const EXPOSED = 'mcp-session-id, mcp-protocol-version, www-authenticate, retry-after, x-gateway-request-id';
const METHODS = 'GET, POST, DELETE, OPTIONS';
const PREFLIGHT_SECONDS = '7200';
const HEADER_LIST = /^[!#$%&'*+.^_`|~0-9A-Za-z, -]{1,2000}$/;

export function createOrigins({ publicUrl, allowed }: OriginDeps): Origins {
  const others = new Set(allowed);
  const own = () => new URL(publicUrl());
  const isOurHost = (host: string) => LOOPBACK.test(host) || host === own().host;
  const isAllowed = (origin: string) =>
    others.has(origin) || origin === own().origin || LOOPBACK.test(origin.replace(/^https?:\/\//, ''));

  const check = (headers: SentHeaders) => {
    const host = headerOf(headers, 'host')?.toLowerCase();
    if (!host || !isOurHost(host)) fail('untrusted_origin', 'host', `use ${own().host}`);
    const origin = headerOf(headers, 'origin');
    if (origin !== null && !isAllowed(origin)) fail('untrusted_origin', 'origin', `use ${own().origin}`);
  };

  /** No credentials: a browser must not add cookies of its own. */
  const corsOf = (headers: SentHeaders): SentHeaders => {
    const origin = headerOf(headers, 'origin');
    if (origin === null || !isAllowed(origin)) return {};
    return { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED, vary: 'Origin' };
  };

  return {
    check,
    corsOf,
    preflight: (headers) => {
      check(headers);
      const asked = headerOf(headers, 'access-control-request-headers') ?? '';
      return new Response(null, {
        status: 204,
        headers: {
          allow: METHODS,
          'access-control-allow-methods': METHODS,
          'access-control-max-age': PREFLIGHT_SECONDS,
          // Which headers mirror a tool's arguments only the client knows.
          ...(HEADER_LIST.test(asked) && { 'access-control-allow-headers': asked }),
        },
      });
    },
  };
}
