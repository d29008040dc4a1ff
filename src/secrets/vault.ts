import { givenSecret, type VaultSettings } from './settings.ts';
import { baseOf, jsonOf, memberOf, SecretGone, type SecretStore, type StoreParts } from './store.ts';

/** A token this close to its end is not used. */
const MARGIN_MS = 60_000;

/** HashiCorp Vault and OpenBao, the key/value engine of version 2. */
export function openVault(
  { url, mount, namespace, auth, name }: VaultSettings,
  { send, tokens, now }: StoreParts,
): SecretStore {
  const base = `${baseOf(url)}/v1`;
  const common: Record<string, string> = { 'x-vault-request': 'true' };
  if (namespace !== undefined) common['x-vault-namespace'] = namespace;
  /** Raised when a token is refused, so that the next one is asked for. */
  let signIns = 0;

  const signIn = async (body: Record<string, string>, at: string) => {
    const response = await send(`${base}/auth/${at}/login`, {
      method: 'POST',
      headers: { ...common, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = memberOf(await signedIn(response), 'auth');
    const token = memberOf(answer, 'client_token');
    if (typeof token !== 'string' || token === '') throw new Error('it gave no token to sign in with');
    const seconds = Number(memberOf(answer, 'lease_duration')) || 0;
    // Without an end it lives on; it is asked for again all the same, in case its rights have changed.
    return { value: token, expiresAt: now() + (seconds > 0 ? seconds * 1_000 : 3_600_000) + MARGIN_MS / 2 };
  };

  const token = (): Promise<string> => {
    if (auth.method === 'token') return Promise.resolve(givenSecret(auth.token, auth.token_file).reveal());
    return tokens.get(`vault ${name} ${signIns}`, () =>
      auth.method === 'approle'
        ? signIn(
            { role_id: auth.role_id, secret_id: givenSecret(auth.secret_id, auth.secret_id_file).reveal() },
            auth.mount,
          )
        : signIn({ role: auth.role, jwt: givenSecret(undefined, auth.token_file).reveal() }, auth.mount),
    );
  };

  const ask = async (path: string): Promise<Response> => {
    const headers = { ...common, 'x-vault-token': await token() };
    return send(`${base}/${mount}/data/${path.split('/').map(encodeURIComponent).join('/')}`, { headers });
  };

  return {
    faultOf: () => null,
    async read(path) {
      let response = await ask(path);
      if (response.status === 403 && auth.method !== 'token') {
        // The token may have been revoked; a new one says whether the path is forbidden.
        signIns++;
        response = await ask(path);
      }
      if (response.status === 404) throw new SecretGone('it has no such secret');
      if (response.status === 403) throw new Error('it does not let the gateway read this secret (403)');
      const data = memberOf(memberOf(await jsonOf(response), 'data'), 'data');
      if (data === null || typeof data !== 'object') throw new SecretGone('the secret was deleted');
      return data as Record<string, unknown>;
    },
  };
}

async function signedIn(response: Response): Promise<Record<string, unknown>> {
  if (response.status >= 400 && response.status < 500)
    throw new Error(`it refused the gateway's sign-in (${response.status})`);
  return jsonOf(response);
}
