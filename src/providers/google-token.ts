import { createHash } from 'node:crypto';
import { fail } from '../core/errors.ts';
import { reveal, setSecret } from './authorize.ts';
import { oneOf, refuseAmbient } from './options.ts';
import type { AccessToken, Authorization, Authorize, ProviderOptions } from './provider.ts';

const OPTION = 'vertex_service_account_json';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const LIFETIME_SECONDS = 3600;

interface ServiceAccount {
  readonly client_email: string;
  readonly private_key: string;
  readonly private_key_id?: string;
  readonly project_id?: string;
  readonly token_uri: string;
}

/** A service account's JSON, exchanged for an access token; any other credential is the access token itself. */
export const googleToken: Authorize = async (call) => {
  refuseAmbient(call.options, 'vertex_auth_type');
  if (call.machine) return setSecret(call, 'authorization', `Bearer ${await call.machine.token(call)}`);
  const way = oneOf(call.options, 'vertex_auth_type', ['auto', 'basic', 'serviceAccount']);
  const text = (way !== 'basic' && storedAccount(call.options)) || reveal(call);
  if (way === 'basic' || !text.startsWith('{')) {
    if (way === 'serviceAccount') fail('invalid_provider_option', OPTION, 'takes the JSON of a service account key.');
    return setSecret(call, 'authorization', `Bearer ${text}`);
  }
  setSecret(call, 'authorization', `Bearer ${await serviceAccountToken(call, text)}`);
};

type Asker = Pick<Authorization, 'provider' | 'tokens' | 'now'>;

/** An access token for a service account's JSON. `tokenUrl`: the operator's word on where that is asked for. */
export function serviceAccountToken(asker: Asker, text: string, tokenUrl?: string): Promise<string> {
  const stored = parseAccount(text);
  const account = tokenUrl === undefined ? stored : { ...stored, token_uri: tokenUrl };
  const cacheKey = `google:${createHash('sha256')
    .update(`${tokenUrl ?? ''} ${text}`)
    .digest('hex')}`;
  return asker.tokens.get(cacheKey, () => exchange(asker, account));
}

/** The project a stored service account belongs to. */
export function accountProject(options: ProviderOptions): string | undefined {
  const text = storedAccount(options);
  return text === undefined ? undefined : parseAccount(text).project_id;
}

function storedAccount(options: ProviderOptions): string | undefined {
  const value = options[OPTION];
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? value.trim() : JSON.stringify(value);
}

async function exchange({ provider, tokens, now }: Asker, account: ServiceAccount): Promise<AccessToken> {
  const { importPKCS8, SignJWT } = await import('jose');
  const key = await importPKCS8(account.private_key, 'RS256').catch(() =>
    fail('invalid_provider_option', OPTION, 'its private_key is not an RSA key in PKCS #8 PEM form.'),
  );
  const issuedAt = Math.floor(now / 1000);
  const assertion = await new SignJWT({ scope: SCOPE })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(account.private_key_id && { kid: account.private_key_id }) })
    .setIssuer(account.client_email)
    .setSubject(account.client_email)
    .setAudience(account.token_uri)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + LIFETIME_SECONDS)
    .sign(key);
  const answer = await tokens.postForm(provider, account.token_uri, {
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion,
  });
  if (typeof answer.access_token !== 'string') {
    fail('credential_rejected', provider, 'the token endpoint answered without an access token');
  }
  const seconds = Number(answer.expires_in) || LIFETIME_SECONDS;
  return { value: answer.access_token, expiresAt: now + seconds * 1000 };
}

function parseAccount(text: string): ServiceAccount {
  let value: Record<string, unknown> = {};
  try {
    value = JSON.parse(text) as Record<string, unknown>;
  } catch {
    fail('invalid_provider_option', OPTION, 'is not valid JSON.');
  }
  const { client_email, private_key, private_key_id, project_id, token_uri } = value;
  if (typeof client_email !== 'string' || typeof private_key !== 'string') {
    fail('invalid_provider_option', OPTION, 'needs client_email and private_key, as in a service account key file.');
  }
  return {
    client_email,
    private_key,
    token_uri: tokenAddress(token_uri),
    ...(typeof private_key_id === 'string' && { private_key_id }),
    ...(typeof project_id === 'string' && { project_id }),
  };
}

/** The assertion is as good as the key for an hour, so it goes to Google and nowhere else. */
function tokenAddress(value: unknown): string {
  if (value === undefined) return 'https://oauth2.googleapis.com/token';
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  const isGoogle = url?.hostname === 'googleapis.com' || url?.hostname.endsWith('.googleapis.com');
  if (!url || !isGoogle || url.protocol !== 'https:' || url.port || url.username || url.password) {
    fail('invalid_provider_option', OPTION, 'its token_uri must be an https address on googleapis.com.');
  }
  return url.href;
}
