import type { AllowedProgram } from '../../core/allowed-programs.ts';
import { fail } from '../../core/errors.ts';
import type { EgressPolicy } from '../../http/egress.ts';
import { checkStoredAddress } from '../../http/stored-address.ts';
import { checkIdentity, getsTokens, headerNames } from './check-identity.ts';
import { checkClientCredentials, checkUserOauth } from './check-oauth.ts';
import type { AuthType, Configurations } from './configuration.ts';
import { normalised } from './header-names.ts';
import { identityOf } from './server.ts';
import { checkStdio, isStdioAddress } from './stdio.ts';

export interface ServerDraft {
  readonly url: string;
  readonly authType: AuthType;
  readonly configurations: Configurations;
}

export interface CheckDeps {
  readonly egress: EgressPolicy;
  /** Whether identity tokens can be signed. */
  readonly canSign: boolean;
  /** Programs that may be run as servers. */
  readonly allowedPrograms: readonly AllowedProgram[];
}

/** Refuses, with the path of the fault, what would fail or be unsafe when the server is first called. */
export async function checkServer(draft: ServerDraft, deps: CheckDeps): Promise<void> {
  const { egress, canSign } = deps;
  checkStdio(draft, deps.allowedPrograms);
  checkAuthType(draft);
  checkIdentity(draft, canSign);
  checkForwarding(draft.configurations);
  const { jwt_validation: rules, oauth_metadata: oauth } = draft.configurations;
  if (!isStdioAddress(draft.url) && new URL(draft.url).hash)
    fail('invalid_request', 'url', 'cannot carry a fragment (#…)');
  if (draft.configurations.transport === 'openapi' && new URL(draft.url).search)
    fail('invalid_request', 'url', 'cannot carry a query (?…) where paths are added to it; give keys as headers');
  const check = async (url: string | undefined, field: string) => {
    if (url !== undefined) await checkStoredAddress(egress, url, field);
  };
  if (!isStdioAddress(draft.url)) await check(draft.url, 'url');
  for (const name of ['jwksUri', 'introspectEndpoint'] as const)
    await check(rules?.[name], `configurations.jwt_validation.${name}`);
  for (const name of ['issuer', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint'] as const)
    await check(oauth?.[name], `configurations.oauth_metadata.${name}`);
}

function checkAuthType({ authType, configurations }: ServerDraft) {
  const hasHeaders = Object.keys(configurations.headers ?? {}).length > 0;
  const hasClient = configurations.oauth_metadata !== undefined;
  switch (authType) {
    case 'oauth_auto':
      checkUserOauth(configurations);
      checkOwnAuthorization(authType, configurations);
      break;
    case 'headers':
      if (!hasHeaders) fail('invalid_request', 'configurations.headers', 'is missing; auth_type headers needs them');
      break;
    case 'none':
      if (hasHeaders) fail('invalid_request', 'configurations.headers', 'needs auth_type headers');
      break;
    case 'oauth_client_credentials':
      checkClientCredentials(configurations);
      checkOwnAuthorization(authType, configurations);
      break;
    default:
      authType satisfies never;
  }
  if (hasClient && !getsTokens(authType))
    fail('invalid_request', 'configurations.oauth_metadata', 'needs auth_type oauth_auto or oauth_client_credentials');
}

/** Where the gateway gets tokens, nothing else says who it is. */
function checkOwnAuthorization(authType: AuthType, configurations: Configurations) {
  for (const member of ['headers', 'passthrough_headers'] as const) {
    if (headerNames(configurations[member]).has('authorization'))
      fail('invalid_request', `configurations.${member}.Authorization`, `cannot stand beside auth_type ${authType}`);
  }
}

/** The identity's own header, and the one that a user's token comes in, are as protected as the default ones. */
function checkForwarding(configurations: Configurations) {
  const { forward_headers: given, jwt_validation: rules } = configurations;
  if (given === undefined) return;
  const identity = identityOf(configurations);
  const kept = [identity?.header, rules?.headerKey].flatMap((name) => (name ? [normalised(name)] : []));
  const isList = Array.isArray(given);
  const mode = isList ? 'allowlist' : given.mode;
  const headers = isList ? given : given.headers;
  const where = `configurations.forward_headers${isList ? '' : '.headers'}`;
  for (const [index, each] of headers.entries()) {
    const named = typeof each === 'string' ? (mode === 'allowlist' ? [each] : []) : [each.from, each.to];
    if (named.some((name) => kept.includes(normalised(name))))
      fail('invalid_request', `${where}[${index}]`, 'names a header that carries an identity on this server');
  }
}
