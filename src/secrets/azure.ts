import { entraClientToken } from '../providers/entra-token.ts';
import { type AzureSettings, givenSecret } from './settings.ts';
import { baseOf, jsonOf, memberOf, SecretGone, type SecretStore, type StoreParts } from './store.ts';

const PATH = /^[0-9A-Za-z-]{1,127}(?:\/[0-9a-f]{32})?$/;
const API_VERSION = '7.4';
const RESOURCE = 'https://vault.azure.net';

/** Azure Key Vault. */
export function openAzure({ url, auth, name }: AzureSettings, { send, tokens, machine, now }: StoreParts): SecretStore {
  const token = async (): Promise<string> => {
    if (auth.method === 'machine') return (await machine(auth.identity, RESOURCE)) as string;
    return entraClientToken(
      { provider: `secret store ${name}`, tokens, now: now() },
      {
        tenant: auth.tenant_id,
        client: auth.client_id,
        secret: givenSecret(auth.client_secret, auth.client_secret_file).reveal(),
        scope: `${RESOURCE}/.default`,
        loginUrl: auth.login_url && baseOf(auth.login_url),
      },
    );
  };
  return {
    faultOf: (path) => (PATH.test(path) ? null : 'is no secret of Key Vault; give name, or name/version'),
    async read(path) {
      const headers = { authorization: `Bearer ${await token()}` };
      const response = await send(`${baseOf(url)}/secrets/${path}?api-version=${API_VERSION}`, { headers });
      if (response.status === 404) throw new SecretGone('it has no such secret');
      if (response.status === 403) throw new Error('it does not let the gateway read this secret (403)');
      const value = memberOf(await jsonOf(response), 'value');
      if (typeof value !== 'string') throw new Error('it answered without a secret');
      return value;
    },
  };
}
