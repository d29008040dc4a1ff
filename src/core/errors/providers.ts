import { error, named } from './entry.ts';

const MOST_SHOWN = 20;

/** What could have been chosen. Left out: the caller is not to know. */
function thereAre(keys: readonly string[] | undefined): string {
  if (!keys) return '';
  if (keys.length === 0) return ' There is no virtual key in this workspace; POST /v1/virtual-keys makes one.';
  const more = keys.length > MOST_SHOWN ? ` and ${keys.length - MOST_SHOWN} more` : '';
  return ` The virtual keys of this workspace are ${keys.slice(0, MOST_SHOWN).join(', ')}${more}.`;
}

/** `slug (provider)` → how a model is asked of that virtual key. */
const example = (keys: readonly string[] | undefined, model: string): string =>
  `"@${keys?.[0]?.split(' ')[0] ?? 'slug'}/${model}"`;

/** Which provider, what is judged, what is left, and what the provider did. */
export const providerErrors = {
  // Which provider
  missing_virtual_key: error(
    400,
    () => 'This route needs a virtual key: send x-gateway-virtual-key, or use a key that has a default virtual key.',
    () => 'x-gateway-virtual-key',
  ),
  missing_provider: error(
    400,
    (keys?: readonly string[]) =>
      `No provider was chosen. Send x-gateway-virtual-key, or x-gateway-config, or x-gateway-provider with Authorization, or model "@slug/name" in a JSON body, or use a key that has a default virtual key or config.${thereAre(keys)}`,
  ),
  unknown_model: error(
    400,
    (model: string, keys: readonly string[] | undefined, silent: readonly string[]) =>
      `No virtual key is known to have the model "${model}".${thereAre(keys)}${silent.length > 0 ? ` The models of ${silent.slice(0, MOST_SHOWN).join(', ')} could not be listed.` : ''} Send x-gateway-virtual-key, or a model such as ${example(keys, model)}, to choose one.`,
    () => 'model',
  ),
  ambiguous_model: error(
    400,
    (model: string, slugs: readonly string[]) =>
      `"${model}" may mean any of the virtual keys ${slugs.slice(0, MOST_SHOWN).join(', ')}. Send x-gateway-virtual-key, or a model such as ${example(slugs, model)}, to say which.`,
    () => 'model',
  ),
  conflicting_provider: error(
    400,
    (header: string) =>
      `${header} cannot be combined with x-gateway-virtual-key: a stored credential goes only to its own host.`,
    named,
  ),
  unknown_provider: error(
    400,
    (name: string) => `There is no provider "${name}". GET /v1/providers lists the known ones.`,
    () => 'x-gateway-provider',
  ),
  unknown_virtual_key: error(
    400,
    (slug: string, keys?: readonly string[]) => `There is no virtual key "${slug}" in this workspace.${thereAre(keys)}`,
    () => 'x-gateway-virtual-key',
  ),
  expired_virtual_key: error(
    400,
    (slug: string, when: string) => `The virtual key "${slug}" expired at ${when}.`,
    () => 'x-gateway-virtual-key',
  ),
  expired_client_certificate: error(
    400,
    (slug: string, when: string) =>
      `The client certificate of virtual key ${slug} expired at ${when}. Nothing was sent; store one that is valid as configurations.tls_certificate.`,
    () => 'x-gateway-virtual-key',
  ),
  missing_credential: error(
    400,
    (provider: string) =>
      `Provider ${provider} needs a credential: send Authorization: Bearer <provider key> beside x-gateway-api-key, or use a virtual key.`,
    () => 'authorization',
  ),
  callers_authorization_missing: error(
    400,
    (slug: string) =>
      `Calls of virtual key ${slug} are paid by the subscription of who calls: send the gateway key as x-gateway-api-key, and the provider's own Authorization beside it.`,
    () => 'authorization',
  ),
  missing_provider_option: error(
    400,
    (provider: string, option: string) =>
      `Provider ${provider} needs ${option}: set configurations.${option} on the virtual key, or send x-gateway-${option.replaceAll('_', '-')}.`,
    (_provider, option) => option,
  ),
  invalid_provider_option: error(400, (option: string, why: string) => `${option}: ${why}`, named),
  unknown_config: error(
    400,
    (slug: string) => `There is no config "${slug}" in this workspace.`,
    () => 'x-gateway-config',
  ),
  unsupported_by_provider: error(
    400,
    (provider: string, what: string) =>
      `Provider ${provider} has no ${what}. Choose another provider for it, or put /v1/proxy before the path: then whatever the provider has there is asked, as it is.`,
  ),
  model_not_found: error(
    404,
    (id: string, provider: string) =>
      `Provider ${provider} lists no model "${id.slice(0, 200)}". GET /v1/models lists them.`,
  ),
  media_unreachable: error(
    400,
    (path: string, why: string) => `${path}: the file cannot be fetched for the provider: ${why}.`,
    named,
  ),
  not_expressible: error(
    400,
    (path: string, provider: string, why: string) => `${path}: cannot be sent to ${provider}: ${why}.`,
    named,
  ),
  invalid_config: error(400, (path: string, why: string) => `${path}: ${why}`, named),
  unknown_guardrail: error(
    400,
    (reference: string) => `There is no guardrail "${reference}" in this workspace or its organisation.`,
    () => 'guardrails',
  ),
  guardrail_misplaced: error(
    400,
    (id: string, side: 'input' | 'output') =>
      `Guardrail "${id}" has no check that looks at ${side === 'input' ? 'requests' : 'answers'}, so it cannot be one of the ${side}_guardrails.`,
    (_id, side) => `${side}_guardrails`,
  ),
  egress_refused: error(
    400,
    (host: string, rule: string, _field?: string) => `The gateway does not call ${host}: ${rule}`,
    (_host: string, _rule: string, field?: string) => field ?? null,
  ),

  // What is judged
  not_changeable: error(
    400,
    () =>
      'A guardrail changes what is said here, and a conversation in real time cannot be changed when it is under way, so it was stopped. Let the guardrail deny instead.',
  ),
  guardrail_denied: {
    ...error(
      446,
      (what: 'request' | 'answer', guardrails: string, checks: string) =>
        `The ${what} was denied by ${guardrails}: ${checks}. hook_results says more.`,
    ),
    answered: { type: 'hooks_failed' },
  },

  // What is left
  rate_limited: error(
    429,
    (whose: string, limit: string, why: string, resets: string) =>
      `The rate limit of ${whose} is ${limit}: ${why}. It starts again at ${resets}.`,
  ),
  budget_exhausted: error(
    412,
    (whose: string, limit: string, why: string, resets: string | null) =>
      `The budget of ${whose} is ${limit}: ${why}. ${resets ? `It starts again at ${resets}.` : 'It does not start again by itself; its owner can raise it or reset its usage.'}`,
  ),

  prices_refused: error(
    400,
    (why: string) => `The list of prices cannot be used: ${why}. Nothing was changed; see docs/policies.md#sync.`,
  ),
  price_unknown: error(
    412,
    (provider: string, model: string | null, whose: string, limit: string) =>
      `${model === null ? `This call of ${provider} names no model` : `The price of "${model.slice(0, 80)}" at ${provider} is not known`}, and the budget of ${whose}, ${limit}, counts dollars. Give the model a price (docs/policies.md#prices), or set unpriced of the budget to "allow". Nothing was sent.`,
  ),

  // What the provider did
  upstream_unreachable: error(
    502,
    (host: string, why: string) => `No connection to ${host}: ${why}. Nothing was sent.`,
  ),
  answer_not_json: error(
    502,
    (provider: string, why: string) =>
      `${provider} has no setting for this JSON beside the rest of the call, was asked for it in words, and did not give it: ${why}.`,
  ),
  upstream_failed: error(
    502,
    (host: string, why: string) =>
      `${host} broke off before it answered: ${why}. The request may have been carried out.`,
  ),
  call_not_watched: error(
    502,
    (host: string, why: string) =>
      `${host} has taken the call, but the gateway cannot watch it: ${why}. The call is ended; place another one.`,
  ),
  call_not_joined: error(
    502,
    (host: string, status: number) => `${host} answered ${status} when the call was to be joined. Try again.`,
  ),
  call_not_ended: error(
    502,
    (host: string, status: number) => `${host} answered ${status} when the call was to end. The gateway tries again.`,
  ),
  upstream_timeout: error(
    504,
    (host: string, phase: string, ms: number) => `${host} did not answer in time: ${phase} took more than ${ms} ms.`,
  ),
  request_timeout: error(
    408,
    (ms: number) => `The request took longer than the ${ms} ms that x-gateway-request-timeout allows.`,
  ),
  secret_unavailable: error(
    503,
    (store: string, why: string, _isAway?: boolean) =>
      `The credential of this virtual key is kept in the secret store "${store}", and the gateway cannot use it: ${why}. Nothing was sent.`,
  ),
  identity_unavailable: error(
    503,
    (name: string, why: string) =>
      `This virtual key uses the machine identity "${name}", and the gateway gets no credential for it: ${why}. Nothing was sent.`,
  ),
  credential_rejected: error(
    502,
    (provider: string, why: string) => `Provider ${provider} issued no access token for the stored credential: ${why}.`,
  ),
};
