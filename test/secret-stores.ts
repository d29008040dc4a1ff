import { generateKeyPairSync } from 'node:crypto';
import { importSPKI, jwtVerify } from 'jose';
import { signAws } from '../src/crypto/sigv4.ts';
import { serve } from './gateway.ts';

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ACCOUNT_KEY = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const PUBLIC_KEY = publicKey.export({ type: 'spki', format: 'pem' }) as string;

export const VAULT_TOKEN = 'hvs.token-of-the-gateway';
export const ROLE = { role_id: 'role-of-the-gateway', secret_id: 'secret-id-of-the-gateway' };
export const AWS_KEY = { access_key_id: 'AKIDOFTHEGATEWAY0001', secret_access_key: 'secret-access-key-of-the-gateway' };
export const AZURE_CLIENT = {
  tenant_id: 'tenant-1',
  client_id: 'client-1',
  client_secret: 'client-secret-of-the-gateway',
};

/** Vault, AWS Secrets Manager, Google Secret Manager and Azure Key Vault at one address, each in its own wire form. */
export function startSecretStores() {
  /** By store and path: `vault team-a/openai`. A text, or the members of one. */
  const secrets = new Map<string, string | Record<string, string>>();
  const asked: string[] = [];
  /** Tokens that Vault has given out for a sign-in. */
  const tokens = new Set<string>([VAULT_TOKEN]);
  const state = { signIns: 0, isAway: false, hangs: false };

  const answer = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    asked.push(`${request.method} ${url.pathname}`);
    if (state.hangs) await new Promise((resolve) => request.signal.addEventListener('abort', resolve));
    if (state.isAway) return new Response('the store is sealed', { status: 503 });
    if (url.pathname.startsWith('/vault/v1/')) return vault(request, url.pathname.slice('/vault/v1/'.length));
    if (url.pathname === '/aws/') return aws(request);
    if (url.pathname.startsWith('/google/')) return google(request, url);
    return azure(request, url);
  };

  const vault = async (request: Request, path: string): Promise<Response> => {
    const denied = () => Response.json({ errors: ['permission denied'] }, { status: 403 });
    const signedIn = () => {
      state.signIns++;
      const client_token = `hvs.given-${state.signIns}`;
      tokens.add(client_token);
      return Response.json({ auth: { client_token, lease_duration: 3_600, renewable: true } });
    };
    if (path === 'auth/approle/login') {
      const { role_id, secret_id } = (await request.json()) as Record<string, string>;
      return role_id === ROLE.role_id && secret_id === ROLE.secret_id
        ? signedIn()
        : Response.json({ errors: ['invalid role or secret ID'] }, { status: 400 });
    }
    if (path === 'auth/kubernetes/login') {
      const { role, jwt } = (await request.json()) as Record<string, string>;
      return role === 'gateway' && jwt === 'jwt-of-the-pod' ? signedIn() : denied();
    }
    if (!tokens.has(request.headers.get('x-vault-token') ?? '')) return denied();
    const [, mount, name] = /^([\w/-]+?)\/data\/(.+)$/.exec(path) ?? [];
    const namespace = request.headers.get('x-vault-namespace');
    const data = secrets.get(
      `vault ${namespace ? `${namespace}:` : ''}${mount === 'secret' ? '' : `${mount}:`}${name}`,
    );
    if (data === undefined) return Response.json({ errors: [] }, { status: 404 });
    return Response.json({ request_id: 'x', data: { data, metadata: { version: 3 } } });
  };

  const aws = async (request: Request): Promise<Response> => {
    const body = await request.bytes();
    if (!isSigned(request, body))
      return Response.json(
        { __type: 'com.amazon#InvalidSignatureException', message: AWS_KEY.access_key_id },
        { status: 400 },
      );
    if (request.headers.get('x-amz-target') !== 'secretsmanager.GetSecretValue')
      return Response.json({ __type: 'UnknownOperationException' }, { status: 400 });
    const { SecretId } = JSON.parse(new TextDecoder().decode(body)) as { SecretId: string };
    const found = secrets.get(`aws ${SecretId}`);
    if (found === undefined)
      return Response.json(
        { __type: 'ResourceNotFoundException', Message: "Secrets Manager can't find the specified secret." },
        { status: 400 },
      );
    return Response.json({ Name: SecretId, SecretString: textOf(found), VersionStages: ['AWSCURRENT'] });
  };

  const google = async (request: Request, { pathname }: URL): Promise<Response> => {
    if (pathname === '/google/token') {
      const form = new URLSearchParams(await request.text());
      const verified = await jwtVerify(form.get('assertion') ?? '', await importSPKI(PUBLIC_KEY, 'RS256')).catch(
        () => null,
      );
      return verified?.payload.iss === 'gateway@project-1.iam.gserviceaccount.com'
        ? Response.json({ access_token: 'ya29.of-the-gateway', expires_in: 3_600, token_type: 'Bearer' })
        : Response.json({ error: 'invalid_grant' }, { status: 400 });
    }
    if (!/^Bearer (?:ya29\.of-the-gateway|google-machine-token-\d+)$/.test(request.headers.get('authorization') ?? ''))
      return Response.json({ error: { code: 401, status: 'UNAUTHENTICATED' } }, { status: 401 });
    const [, name, version] =
      /^\/google\/v1\/projects\/project-1\/secrets\/([^/]+)\/versions\/(\w+):access$/.exec(pathname) ?? [];
    const found = secrets.get(version === 'latest' ? `google ${name}` : `google ${name}/versions/${version}`);
    if (found === undefined) return Response.json({ error: { code: 404, status: 'NOT_FOUND' } }, { status: 404 });
    return Response.json({ name: pathname, payload: { data: Buffer.from(textOf(found)).toString('base64') } });
  };

  const azure = async (request: Request, { pathname, searchParams }: URL): Promise<Response> => {
    if (pathname === `/login/${AZURE_CLIENT.tenant_id}/oauth2/v2.0/token`) {
      const form = new URLSearchParams(await request.text());
      const isKnown =
        form.get('client_id') === AZURE_CLIENT.client_id &&
        form.get('client_secret') === AZURE_CLIENT.client_secret &&
        form.get('scope') === 'https://vault.azure.net/.default';
      return isKnown
        ? Response.json({ access_token: 'entra-of-the-gateway', expires_in: 3_599 })
        : Response.json({ error: 'invalid_client', error_description: 'AADSTS7000215' }, { status: 401 });
    }
    if (
      !/^Bearer (?:entra-of-the-gateway|azure-vault-machine-token-\d+)$/.test(
        request.headers.get('authorization') ?? '',
      )
    )
      return Response.json({ error: { code: 'Unauthorized' } }, { status: 401 });
    if (!searchParams.get('api-version')) return Response.json({ error: { code: 'BadParameter' } }, { status: 400 });
    const found = secrets.get(`azure ${pathname.slice('/azure/secrets/'.length)}`);
    if (found === undefined) return Response.json({ error: { code: 'SecretNotFound' } }, { status: 404 });
    return Response.json({ value: textOf(found), id: pathname });
  };

  const { origin, stop } = serve(answer);
  return {
    origin,
    stop,
    secrets,
    asked,
    tokens,
    state,
    /** How often anything below a path was asked for. */
    count: (part: string) => asked.filter((each) => each.includes(part)).length,
    /** Google's own form of a service account. */
    account: JSON.stringify({
      ...{ type: 'service_account', project_id: 'project-1', private_key: ACCOUNT_KEY },
      client_email: 'gateway@project-1.iam.gserviceaccount.com',
    }),
  };
}

export type SecretStoresServer = ReturnType<typeof startSecretStores>;

const textOf = (secret: string | Record<string, string>): string =>
  typeof secret === 'string' ? secret : JSON.stringify(secret);

/** Signs what came once more, with the time that it says, and compares. */
function isSigned(request: Request, body: Uint8Array): boolean {
  const given = request.headers.get('authorization') ?? '';
  const [, id, date, region] = /Credential=(\w+)\/(\d{8})\/([\w-]+)\/secretsmanager\/aws4_request/.exec(given) ?? [];
  const time = request.headers.get('x-amz-date') ?? '';
  if (!id || !date || !region || !time.startsWith(date)) return false;
  const iso = time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  if (Math.abs(Date.now() - Date.parse(iso)) > 300_000) return false;
  const headers = new Headers();
  for (const name of ['content-type', 'x-amz-target']) headers.set(name, request.headers.get(name) ?? '');
  signAws({
    ...{ method: 'POST', url: request.url, headers, body, region, service: 'secretsmanager', now: Date.parse(iso) },
    credentials: id.startsWith('ASIAMACHINE')
      ? { accessKeyId: id, secretAccessKey: 'secret-of-the-machine', sessionToken: 'session-of-the-machine' }
      : { accessKeyId: AWS_KEY.access_key_id, secretAccessKey: AWS_KEY.secret_access_key },
  });
  return headers.get('authorization') === given;
}
