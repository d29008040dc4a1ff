import { fail } from '../../core/errors.ts';
import {
  type AuthType,
  type Configurations,
  DEFAULT_CLAIMS,
  type IdentityForwarding,
  SIGNERS_CLAIMS,
} from './configuration.ts';
import { normalised } from './header-names.ts';
import { identityOf } from './server.ts';

export interface IdentityDraft {
  readonly authType: AuthType;
  readonly configurations: Configurations;
}

const FORWARDING = 'configurations.user_identity_forwarding';

/** All that the gateway itself can say of a caller. Other claims are in tokens of identity providers alone. */
const OWN_CLAIMS: ReadonlySet<string> = new Set([
  ...DEFAULT_CLAIMS,
  'name',
  'given_name',
  'family_name',
  'role',
  'workspace_role',
  'workspace',
]);

/** Where the gateway gets tokens for a server, they travel in `Authorization`. */
export const getsTokens = (authType: AuthType): boolean =>
  authType === 'oauth_auto' || authType === 'oauth_client_credentials';

/** Refuses a `user_identity_forwarding` of which a part would be passed over when the server is called. */
export function checkIdentity({ authType, configurations }: IdentityDraft, canSign: boolean) {
  const given = configurations.user_identity_forwarding;
  const identity = identityOf(configurations);
  if (!given || !identity) return;
  if (identity.method === 'jwt_header' && !canSign)
    fail('invalid_request', `${FORWARDING}.method`, 'jwt_header needs a key to sign with; set JWT_PRIVATE_KEY');
  checkSigning(given);
  checkClaims(given, configurations.jwt_validation !== undefined);
  if (identity.method !== 'bearer') return;
  // Where a caller has no token, the server would take the gateway's own credential for the caller's.
  const header = normalised(identity.header);
  for (const member of ['headers', 'passthrough_headers'] as const) {
    if (headerNames(configurations[member]).has(header))
      fail('invalid_request', `configurations.${member}`, `sets ${identity.header}, which carries the user's token`);
  }
  if (header === 'authorization' && getsTokens(authType))
    fail('invalid_request', `${FORWARDING}.header_name`, `is missing; ${authType} uses Authorization itself`);
}

/** Only a token that the gateway signs has a lifetime and an audience of the operator's choice. */
function checkSigning(given: IdentityForwarding) {
  if (given.method === 'jwt_header') return;
  for (const member of ['jwt_expiry_seconds', 'jwt_audience'] as const) {
    if (given[member] !== undefined)
      fail(
        'invalid_request',
        `${FORWARDING}.${member}`,
        `has no effect on ${given.method}; leave it out, or give the method jwt_header`,
      );
  }
}

function checkClaims({ method, include_claims: claims }: IdentityForwarding, hasUserTokens: boolean) {
  if (!claims) return;
  const refuse = (at: string, why: string) => fail('invalid_request', `${FORWARDING}.include_claims${at}`, why);
  if (method === 'bearer') refuse('', "has no effect on bearer: the user's token is passed on unchanged; leave it out");
  for (const [index, claim] of claims.entries()) {
    if (method === 'jwt_header' && SIGNERS_CLAIMS.has(claim))
      refuse(`[${index}]`, `names ${claim}, which the gateway sets itself in a token that it signs; leave it out`);
    if (!hasUserTokens && !OWN_CLAIMS.has(claim))
      refuse(
        `[${index}]`,
        `names a claim that no caller has: without jwt_validation there are ${[...OWN_CLAIMS].join(', ')}`,
      );
  }
}

export const headerNames = (headers: Readonly<Record<string, string>> | undefined): Set<string> =>
  new Set(Object.keys(headers ?? {}).map(normalised));
