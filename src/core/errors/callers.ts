import { error } from './entry.ts';

const MOST_NAMES = 20;

const shownNames = (names: readonly string[]): string =>
  names.slice(0, MOST_NAMES).join(', ') + (names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '');

/** Who is calling: keys, users, sessions and machines. */
export const callerErrors = {
  missing_api_key: error(
    401,
    () =>
      'No gateway key was sent. Send it as x-gateway-api-key, or, as SDKs do, as Authorization: Bearer <key>, x-api-key or x-goog-api-key.',
  ),
  invalid_api_key: error(
    401,
    () =>
      'The gateway does not know the key that was sent: it is mistyped, was deleted, or belongs elsewhere. Where x-gateway-api-key is absent, the key in Authorization: Bearer, x-api-key or x-goog-api-key is taken for it.',
  ),
  client_secret_used: error(
    401,
    () => 'This client secret was good for one conversation, and has been used. Ask for another one.',
  ),
  expired_api_key: error(401, (when: string) => `This gateway key expired at ${when}. Ask for a new one or rotate it.`),
  caller_gone: error(
    401,
    () =>
      'The API key, user or machine that began this was removed, has expired, or no longer belongs to the workspace.',
  ),
  too_many_connections: error(
    429,
    (most: number) => `More than ${most} requests of this address are under way. Try again when some have ended.`,
  ),
  too_many_sockets: error(
    429,
    (most: number) => `This key has ${most} WebSockets open, and may have no more. Close one, or ask by plain HTTP.`,
  ),
  sockets_exhausted: error(
    503,
    (most: number) =>
      `This gateway has ${most} WebSockets open, and takes no more for now. Try again shortly, or ask by plain HTTP.`,
  ),
  insufficient_scope: error(
    403,
    (needed: string) => `This key lacks the scope ${needed}. Create a key with that scope, or use another key.`,
  ),
  invalid_user_token: error(
    401,
    (why: string) => `The user's token was refused: ${why}. Get a new one from the identity provider of this server.`,
  ),
  identity_provider_unavailable: error(
    503,
    (host: string, why: string) =>
      `The user's token cannot be checked at the moment: ${host} gave no usable answer (${why}). Try again shortly.`,
  ),
  untrusted_origin: error(
    403,
    (header: string, allowed: string) =>
      `${header} is not one that this gateway answers MCP calls for: ${allowed}. See GATEWAY_PUBLIC_URL and GATEWAY_ALLOWED_ORIGINS.`,
    (header) => header,
  ),
  forbidden_by_rule: error(
    403,
    (where: string, rule: string, by: string) =>
      `${where}: ${by} forbids ${rule}. Leave it out, or ask an administrator to change the rules of ${by}. Nothing was stored or sent.`,
    (where) => where,
  ),
  rule_not_liftable: error(
    403,
    (rule: string) => `This key forbids ${rule}, so it makes, changes and rotates only keys that forbid it, too.`,
    () => 'forbidden',
  ),
  model_not_allowed: error(
    403,
    (model: string | null, models: readonly string[]) =>
      `${model === null ? 'It cannot be seen which model this call asks for, and this API key' : `This API key may not call the model "${model.slice(0, 200)}". It`} may call only: ${shownNames(models)}.`,
    () => 'model',
  ),
  models_not_widenable: error(
    403,
    (models: readonly string[]) =>
      `This key may call only ${shownNames(models)}, so it makes, changes and rotates only keys that may call no others, and gives no key another default config.`,
    () => 'models',
  ),
  scope_not_grantable: error(
    403,
    (scope: string) => `This key cannot grant the scope ${scope}, because it does not hold it itself.`,
    () => 'scopes',
  ),
  key_of_another_user: error(
    403,
    () =>
      'A key acts for its user. Only that user, or a caller with owners.manage, may make it, rotate it or give it more.',
    () => 'user_id',
  ),
  own_keys_not_allowed: error(
    403,
    (workspace: string) =>
      `Members of the workspace ${workspace} may not have keys of their own. An administrator allows it with member_keys of the workspace.`,
  ),
  too_many_own_keys: error(
    409,
    (most: number) => `You have ${most} keys of your own, which is as many as this workspace allows. Delete one first.`,
  ),
  sign_in_failed: error(
    401,
    () => 'Email and password do not belong together, or this user has no password. Ask an administrator for help.',
  ),
  too_many_sign_ins: error(429, (until: string) => `Signing in has failed too often. Try again at ${until}.`),
  sign_in_busy: error(503, () => 'Too many people are signing in at this moment. Try again in a few seconds.'),
  two_sessions: error(
    401,
    () =>
      'This browser sent two sessions at once, and one of them was put there by another page. Delete the cookies of this site, and sign in again.',
  ),
  csrf_token_missing: error(
    403,
    () =>
      'A change, or a call to a provider, by a signed-in user needs the header x-gateway-csrf; GET /v1/sessions/current shows its value.',
    () => 'x-gateway-csrf',
  ),
  session_required: error(
    403,
    () => 'This is about a signed-in user, and the request was made with a key. Sign in with POST /v1/sessions.',
  ),
  not_a_member: error(
    403,
    (workspace: string | null) =>
      workspace === null
        ? 'This user is a member of no workspace. Ask an administrator to add them to one.'
        : `This user is not a member of workspace ${workspace}. Name another one in x-gateway-workspace.`,
    () => 'x-gateway-workspace',
  ),
  own_role: error(
    403,
    () => 'A user cannot raise their own role. Ask another user who may change roles.',
    () => 'role',
  ),
  invalid_machine_token: error(
    401,
    (why: string) => `The token in place of a gateway key was refused: ${why}. See docs/users.md for what it must say.`,
  ),
  oidc_refused: error(403, (why: string) => `Signing in through the identity provider did not work: ${why}.`),
  foreign_organisation: error(
    403,
    (asked: string, own: string) => `organisation_id: ${asked} is not the organisation of this key, which is ${own}.`,
    () => 'organisation_id',
  ),
};
