import { GatewayError } from '../../core/errors.ts';
import { SCOPE } from '../server/resources.ts';
import type { McpServer } from '../server/server.ts';
import { endpointOf } from '../server/shown.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** Without a slug: that of all servers together. */
export const metadataUrl = (publicUrl: string, slug: string | null): string =>
  `${publicUrl}${WELL_KNOWN}${slug === null ? '' : `/${encodeURIComponent(slug)}`}/mcp`;

/** The same 401 with what RFC 9728 and RFC 6750 let a client find its way by; every other error as it is. */
export function withChallenge(
  error: unknown,
  { slug, publicUrl, hasCredential }: { slug: string | null; publicUrl: string; hasCredential: boolean },
): unknown {
  if (!(error instanceof GatewayError) || error.status !== 401) return error;
  const parts = [`resource_metadata="${metadataUrl(publicUrl, slug)}"`, `scope="${SCOPE}"`];
  if (hasCredential) parts.unshift('error="invalid_token"', `error_description="${quotable(error.message)}"`);
  return error.with({ 'www-authenticate': `Bearer ${parts.join(', ')}` });
}

const quotable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, "'");

/** RFC 9728. Without a server, or for one that is not there, it says what holds for all of them. */
export function resourceMetadata(publicUrl: string, slug: string | null, server: McpServer | null) {
  // A server that demands a token of another issuer does not let users in with ours alone.
  const own = server?.jwtValidation?.required ? [] : [publicUrl];
  const issuers = [...(server ? issuersOf(server) : []), ...own];
  return {
    resource: slug === null ? publicUrl : endpointOf(publicUrl, slug),
    ...(issuers.length > 0 && { authorization_servers: issuers }),
    bearer_methods_supported: ['header'],
    scopes_supported: [SCOPE],
  };
}

/** Whose tokens the server takes. */
export function issuersOf({ jwtValidation }: McpServer): string[] {
  if (!jwtValidation) return [];
  const { issuer, claimValues } = jwtValidation;
  const rule = claimValues?.iss;
  const fromClaims = rule && (rule.matchType ?? 'exact') === 'exact' ? [rule.values].flat().map(String) : [];
  return issuer === undefined ? fromClaims : [issuer].flat();
}
