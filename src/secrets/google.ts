import { serviceAccountToken } from '../providers/google-token.ts';
import { type GoogleSettings, givenSecret } from './settings.ts';
import { baseOf, jsonOf, memberOf, SecretGone, type SecretStore, type StoreParts } from './store.ts';

const PATH = /^([\w-]{1,255})(?:\/versions\/(\d{1,10}|latest))?$/;

/** Secret Manager of Google Cloud. */
export function openGoogle({ url, project, auth, name }: GoogleSettings, parts: StoreParts): SecretStore {
  const base = `${baseOf(url ?? 'https://secretmanager.googleapis.com')}/v1/projects/${project}/secrets`;
  const token = async (): Promise<string> => {
    if (auth.method === 'machine') return (await parts.machine(auth.identity)) as string;
    return serviceAccountToken(
      { provider: `secret store ${name}`, tokens: parts.tokens, now: parts.now() },
      givenSecret(auth.service_account_json, auth.service_account_json_file).reveal(),
      auth.token_url,
    );
  };
  return {
    faultOf: (path) => (PATH.test(path) ? null : 'is no secret of Google; give name, or name/versions/3'),
    async read(path) {
      const [, secret, version = 'latest'] = PATH.exec(path)!;
      const headers = { authorization: `Bearer ${await token()}` };
      const response = await parts.send(`${base}/${secret}/versions/${version}:access`, { headers });
      if (response.status === 404) throw new SecretGone('it has no such secret');
      if (response.status === 403) throw new Error('it does not let the gateway read this secret (403)');
      const data = memberOf(memberOf(await jsonOf(response), 'payload'), 'data');
      if (typeof data !== 'string') throw new Error('it answered without a secret');
      return Buffer.from(data, 'base64').toString('utf8');
    },
  };
}
