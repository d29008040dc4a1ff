import { createHash } from 'node:crypto';
import type { PublicJwk } from '../../crypto/rsa.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';

/** Answers `/.well-known/jwks.json`: what a server checks a signed identity with. */
export function createKeySet(keys: readonly PublicJwk[]): (headers: SentHeaders) => Response {
  const body = JSON.stringify({ keys });
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  const caching = keys.length > 0 ? 'public, max-age=300, stale-while-revalidate=60' : 'public, max-age=60';
  const headers = { etag, 'cache-control': caching };
  return (sent) =>
    isKnown(headerOf(sent, 'if-none-match'), etag)
      ? new Response(null, { status: 304, headers })
      : new Response(body, { headers: { ...headers, 'content-type': 'application/json' } });
}

function isKnown(given: string | null, etag: string): boolean {
  if (given === null) return false;
  // RFC 9110 section 13.1.2 compares weakly.
  return given === '*' || given.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
}
