import { fail } from '../../core/errors.ts';
import type { IdentityHeader } from '../server/outgoing-headers.ts';
import type { Identity, McpServer } from '../server/server.ts';
import type { Caller } from './caller.ts';
import type { IdentityTokens } from './identity-tokens.ts';

/** Servers and proxies take lines of 8 KiB; nothing is cut off to fit. */
export const MOST_IDENTITY_BYTES = 7_168;

/** Null when nothing is to be said, or when the caller has no token to pass on. */
export async function identityHeader(
  server: McpServer,
  caller: Caller,
  tokens: IdentityTokens | null,
): Promise<IdentityHeader | null> {
  const { identity } = server;
  if (!identity) return null;
  const value = await identityValue(identity, server, caller, tokens);
  if (value === null) return null;
  const size = value.length;
  if (size > MOST_IDENTITY_BYTES) fail('mcp_identity_too_large', identity.header, size, MOST_IDENTITY_BYTES);
  return { name: identity.header, value };
}

async function identityValue(
  identity: Identity,
  { slug }: McpServer,
  caller: Caller,
  tokens: IdentityTokens | null,
): Promise<string | null> {
  switch (identity.method) {
    case 'claims_header':
      return asciiJson(selected(identity, caller));
    case 'bearer':
      return caller.accessToken === null ? null : `Bearer ${caller.accessToken}`;
    case 'jwt_header': {
      if (!tokens) return fail('mcp_signing_key_missing', slug);
      return tokens.get({
        callerId: caller.id,
        claims: selected(identity, caller),
        expirySeconds: identity.expirySeconds,
        audience: identity.audience,
      });
    }
    default:
      return identity.method satisfies never;
  }
}

/** Those that were asked for and are there, in the order they were asked for. */
export function selected({ claims: names }: Pick<Identity, 'claims'>, { claims }: Pick<Caller, 'claims'>) {
  const chosen: Record<string, unknown> = Object.create(null);
  for (const name of names) {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (value !== undefined && value !== null) chosen[name] = value;
  }
  return chosen;
}

/** JSON that any parser reads the same and that no header can be broken out of: claims are what users wrote. */
export const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
