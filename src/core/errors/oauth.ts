import { error, oauth } from './entry.ts';

/** What clients of the gateway's own authorization server are told, and the people on its pages. */
export const oauthErrors = {
  invalid_access_token: error(
    401,
    () =>
      'The access token is unknown, expired or revoked, or it was issued for another server. Get a new one; www-authenticate says where.',
  ),
  oauth_invalid_request: oauth(400, 'invalid_request', (param: string, why: string) => `${param}: ${why}`),
  oauth_invalid_client: oauth(401, 'invalid_client', (why: string) => `This client is not accepted: ${why}.`),
  oauth_invalid_grant: oauth(400, 'invalid_grant', (why: string) => `No token is issued: ${why}.`),
  oauth_unsupported_grant_type: oauth(
    400,
    'unsupported_grant_type',
    (got: string) => `grant_type: ${got} is not possible here; give authorization_code or refresh_token`,
  ),
  oauth_invalid_target: oauth(400, 'invalid_target', (why: string) => `resource: ${why}`),
  oauth_invalid_redirect_uri: oauth(400, 'invalid_redirect_uri', (why: string) => `redirect_uris: ${why}`),
  oauth_invalid_client_metadata: oauth(
    400,
    'invalid_client_metadata',
    (param: string, why: string) => `${param}: ${why}`,
  ),
  oauth_registration_closed: oauth(
    403,
    'access_denied',
    () =>
      'Clients cannot register themselves here. Use the address of a client metadata document as client_id; the operator may set GATEWAY_OAUTH_REGISTRATION.',
  ),
  oauth_too_many_requests: oauth(
    429,
    'temporarily_unavailable',
    (seconds: number) => `Too many requests from this address. Try again in ${seconds} seconds.`,
  ),
  authorization_refused: error(
    400,
    (why: string) => `The application's request cannot be answered: ${why}. Nothing was sent to it.`,
  ),
  page_expired: error(
    403,
    () =>
      'This page is too old, or it was opened in another browser or for another user. Go back to the application and begin again.',
  ),
};
