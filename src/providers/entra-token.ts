import { createHash } from 'node:crypto';
import { fail } from '../core/errors.ts';
import { header, reveal, setSecret } from './authorize.ts';
import { oneOf, optional, printable, refuseAmbient, required, segment } from './options.ts';
import type { Authorization, Authorize } from './provider.ts';

const DEFAULT_SCOPE = 'https://cognitiveservices.azure.com/.default';

export const entraOptions = [
  'azure_auth_mode',
  'azure_ad_token',
  'azure_entra_tenant_id',
  'azure_entra_client_id',
  'azure_entra_client_secret',
  'azure_entra_scope',
] as const;

/** An Azure resource's key in the header given, or a Microsoft Entra access token as bearer. */
export const azureKeyOrEntra =
  (authorizeByKey: Authorize = header('api-key')): Authorize =>
  async (call) => {
    refuseAmbient(call.options, 'azure_auth_mode');
    if (call.machine) return setSecret(call, 'authorization', `Bearer ${await call.machine.token(call)}`);
    const mode = oneOf(call.options, 'azure_auth_mode', ['default', 'entra']);
    const given = optional(call.options, 'azure_ad_token', printable);
    if (mode === 'entra') return setSecret(call, 'authorization', `Bearer ${await entraToken(call)}`);
    if (given) return setSecret(call, 'authorization', `Bearer ${given}`);
    return authorizeByKey(call);
  };

/** OAuth client credentials at the tenant's own token endpoint. */
function entraToken(call: Authorization): Promise<string> {
  const { provider, options } = call;
  return entraClientToken(call, {
    tenant: required(provider, options, 'azure_entra_tenant_id', segment),
    client: required(provider, options, 'azure_entra_client_id', segment),
    secret: optional(options, 'azure_entra_client_secret', printable) ?? reveal(call),
    scope: optional(options, 'azure_entra_scope', printable) ?? DEFAULT_SCOPE,
  });
}

interface EntraClient {
  readonly tenant: string;
  readonly client: string;
  readonly secret: string;
  readonly scope: string;
  /** The operator's word on where tokens are asked for, as in a cloud of its own. */
  readonly loginUrl?: string;
}

/** An access token for a registered application and its secret. */
export function entraClientToken(
  { provider, tokens, now }: Pick<Authorization, 'provider' | 'tokens' | 'now'>,
  { tenant, client, secret, scope, loginUrl = 'https://login.microsoftonline.com' }: EntraClient,
): Promise<string> {
  const identity = JSON.stringify([loginUrl, tenant, client, secret, scope]);
  const cacheKey = `entra:${createHash('sha256').update(identity).digest('hex')}`;
  return tokens.get(cacheKey, async () => {
    const answer = await tokens.postForm(provider, `${loginUrl}/${tenant}/oauth2/v2.0/token`, {
      grant_type: 'client_credentials',
      client_id: client,
      client_secret: secret,
      scope,
    });
    if (typeof answer.access_token !== 'string') {
      fail('credential_rejected', provider, 'the token endpoint answered without an access token');
    }
    return { value: answer.access_token, expiresAt: now + (Number(answer.expires_in) || 3600) * 1000 };
  });
}
