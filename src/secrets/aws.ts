import type { MachineKey } from '../core/machine-identity.ts';
import { type AwsCredentials, signAws } from '../crypto/sigv4.ts';
import { type AwsSettings, givenSecret } from './settings.ts';
import { baseOf, jsonOf, memberOf, SecretGone, type SecretStore, type StoreParts } from './store.ts';

const NAME = /^[\w/+=.@-]{1,512}$/;

/** AWS Secrets Manager. */
export function openAws({ url, region, auth }: AwsSettings, { send, machine, now }: StoreParts): SecretStore {
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const address = `${baseOf(url ?? `https://secretsmanager.${region}.${domain}`)}/`;
  const signer = async (): Promise<AwsCredentials> =>
    auth.method === 'machine'
      ? ((await machine(auth.identity)) as MachineKey)
      : {
          accessKeyId: auth.access_key_id,
          secretAccessKey: givenSecret(auth.secret_access_key, auth.secret_access_key_file).reveal(),
          ...(auth.session_token !== undefined && { sessionToken: auth.session_token }),
        };
  return {
    faultOf: (path) => (NAME.test(path) ? null : 'is no name of a secret of AWS'),
    async read(path) {
      const body = new TextEncoder().encode(JSON.stringify({ SecretId: path }));
      const headers = new Headers({
        'content-type': 'application/x-amz-json-1.1',
        'x-amz-target': 'secretsmanager.GetSecretValue',
      });
      const credentials = await signer();
      signAws({
        method: 'POST',
        url: address,
        headers,
        body,
        region,
        service: 'secretsmanager',
        credentials,
        now: now(),
      });
      const response = await send(address, { method: 'POST', headers, body });
      if (!response.ok) await refuse(response);
      const answer = await jsonOf(response);
      const value = memberOf(answer, 'SecretString');
      if (typeof value === 'string') return value;
      const binary = memberOf(answer, 'SecretBinary');
      if (typeof binary === 'string') return Buffer.from(binary, 'base64').toString('utf8');
      throw new Error('it answered without a secret');
    },
  };
}

/** Faults come as 400 with a name: `ResourceNotFoundException`, `AccessDeniedException`. */
async function refuse(response: Response): Promise<never> {
  const type = memberOf(await response.json().catch(() => null), '__type');
  const name = typeof type === 'string' ? (/([A-Za-z]{1,60})$/.exec(type)?.[1] ?? '') : '';
  if (name === 'ResourceNotFoundException') throw new SecretGone('it has no such secret');
  // Marked for deletion.
  if (name === 'InvalidRequestException') throw new SecretGone('the secret is marked for deletion');
  throw new Error(`it answered ${response.status}${name && ` (${name})`}`);
}
