import { fail } from '../../core/errors.ts';
import type { Configurations } from './configuration.ts';
import type { OauthMetadata } from './oauth-metadata.ts';

const WHERE = 'configurations.oauth_metadata';

/** The members that a client without users has a use for. */
const WITHOUT_USERS: readonly (keyof OauthMetadata)[] = [
  'token_endpoint',
  'client_id',
  'client_secret',
  'scope',
  'resource',
  'audience',
  'token_endpoint_auth_method',
];

/** Refuses what one token for all callers cannot be got with, and what would be of no effect. */
export function checkClientCredentials({ oauth_metadata: oauth }: Configurations) {
  if (!oauth) return fail('invalid_request', WHERE, 'is missing; oauth_client_credentials needs it');
  for (const member of ['token_endpoint', 'client_id', 'client_secret'] as const) {
    if (oauth[member] === undefined)
      fail('invalid_request', `${WHERE}.${member}`, 'is missing; oauth_client_credentials needs it');
  }
  for (const member of Object.keys(oauth) as (keyof OauthMetadata)[]) {
    if (!WITHOUT_USERS.includes(member)) fail('invalid_request', `${WHERE}.${member}`, 'needs auth_type oauth_auto');
  }
  if (oauth.token_endpoint_auth_method === 'none')
    fail(
      'invalid_request',
      `${WHERE}.token_endpoint_auth_method`,
      'give "client_secret_basic" or "client_secret_post"',
    );
}

/** Refuses what no user could be sent to their authorization server with. */
export function checkUserOauth({ oauth_metadata: oauth = {} }: Configurations) {
  const refuse = (member: keyof OauthMetadata, why: string) => fail('invalid_request', `${WHERE}.${member}`, why);
  const isFound = oauth.authorization_endpoint === undefined;
  if (isFound !== (oauth.token_endpoint === undefined))
    refuse(isFound ? 'authorization_endpoint' : 'token_endpoint', 'is missing; give both endpoints or neither');
  if (!isFound && oauth.client_id === undefined && oauth.registration_endpoint === undefined)
    refuse('client_id', 'is missing; nothing is looked up where the endpoints are given');
  if (oauth.client_secret !== undefined && oauth.client_id === undefined)
    refuse('client_id', 'is missing; a secret belongs to a client');
  const method = oauth.token_endpoint_auth_method ?? 'none';
  if (oauth.client_id !== undefined && method !== 'none' && oauth.client_secret === undefined)
    refuse('client_secret', `is missing; ${method} needs it`);
  if (oauth.client_secret !== undefined && oauth.token_endpoint_auth_method === 'none')
    refuse('token_endpoint_auth_method', 'cannot be "none" beside a client_secret');
  if (oauth.omit_resource && oauth.resource !== undefined) refuse('resource', 'cannot stand beside omit_resource');
}
