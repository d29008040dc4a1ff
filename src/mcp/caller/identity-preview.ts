import type { Identity, McpServer } from '../server/server.ts';
import type { Caller } from './caller.ts';
import { selected } from './identity.ts';
import { ISSUER } from './identity-tokens.ts';

/** What a server would be told of a caller. No token is made, and none is shown. */
export interface IdentityPreview {
  readonly object: 'mcp-identity';
  readonly method: Identity['method'] | null;
  readonly header: string | null;
  readonly claims: Record<string, unknown> | null;
  readonly signed: {
    readonly algorithm: 'RS256';
    readonly issuer: string;
    readonly audience: string | null;
    readonly seconds: number;
  } | null;
  readonly problem: string | null;
}

export function previewIdentity(
  { identity }: Pick<McpServer, 'identity'>,
  caller: Pick<Caller, 'claims' | 'accessToken'>,
  { maySign }: { readonly maySign: boolean },
): IdentityPreview {
  const told = {
    object: 'mcp-identity',
    method: null,
    header: null,
    claims: null,
    signed: null,
    problem: null,
  } as const;
  if (!identity) return told;
  const { method, header, audience, expirySeconds: seconds } = identity;
  const named = { ...told, method, header };
  if (method === 'bearer')
    return {
      ...named,
      problem:
        caller.accessToken === null ? 'You have no access token of your own here, so nothing would be sent.' : null,
    };
  const claims = { ...selected(identity, caller) };
  if (method === 'claims_header') return { ...named, claims };
  return {
    ...named,
    claims,
    signed: { algorithm: 'RS256', issuer: ISSUER, audience, seconds },
    problem: maySign ? null : 'The gateway has no key to sign with: set JWT_PRIVATE_KEY. Until then calls are refused.',
  };
}
