import { SCOPE } from '../server/resources.ts';
import { GRANT_TYPES } from './client.ts';
import { DEVICE_GRANT } from './paths.ts';

/** Those of clients that administrators have registered with a secret come after the one of all others. */
const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'];

/** What this authorization server can do (RFC 8414). */
export const serverMetadata = (issuer: string, { mayRegister }: { readonly mayRegister: boolean }) => ({
  issuer,
  authorization_endpoint: `${issuer}/oauth/authorize`,
  token_endpoint: `${issuer}/oauth/token`,
  device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
  revocation_endpoint: `${issuer}/oauth/revoke`,
  ...(mayRegister && { registration_endpoint: `${issuer}/oauth/register` }),
  scopes_supported: [SCOPE],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: [...GRANT_TYPES, DEVICE_GRANT],
  token_endpoint_auth_methods_supported: AUTH_METHODS,
  revocation_endpoint_auth_methods_supported: AUTH_METHODS,
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
  /** Of the Claude apps gateway: they sign people in by device codes and then call fixed paths. */
  gateway_protocol_version: 1,
});

/** The same where clients of OpenID Connect look. They want these members, although the gateway gives no ID tokens. */
export const openidMetadata = (issuer: string, options: { readonly mayRegister: boolean }) => ({
  ...serverMetadata(issuer, options),
  jwks_uri: `${issuer}/.well-known/jwks.json`,
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
});
