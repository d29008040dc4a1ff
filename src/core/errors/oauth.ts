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
    (got: string) =>
      `grant_type: ${got} is not possible here; give authorization_code, refresh_token or urn:ietf:params:oauth:grant-type:device_code`,
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
  device_code_pending: oauth(
    400,
    'authorization_pending',
    () => 'Nobody has let this program in yet. Ask again after the interval.',
  ),
  device_code_slow_down: oauth(
    400,
    'slow_down',
    () => 'This program asks too often. Wait five seconds longer between two questions from now on.',
  ),
  device_code_denied: oauth(400, 'access_denied', () => 'The user did not let this program in.'),
  device_code_expired: oauth(
    400,
    'expired_token',
    () => 'The device code is unknown, was used or has expired. Begin again.',
  ),
  login_ended: oauth(401, 'invalid_grant', (why: string) => `No token is issued: ${why}. Sign in again.`),
  device_code_unknown: error(
    404,
    () => 'No program waits with this code: it is mistyped, was used, or is older than ten minutes.',
  ),
  no_managed_settings: error(404, () => 'Nothing is set here for this program; it keeps to its own settings.'),
  login_refused: error(403, (why: string) => `The program was not let in: ${why}.`),
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
