import { createHash } from 'node:crypto';
import { fail } from '../core/errors.ts';
import { type AwsCredentials, signAws } from '../crypto/sigv4.ts';
import { reveal, setSecret } from './authorize.ts';
import { label, oneOf, optional, printable, refuseAmbient, required } from './options.ts';
import type { Authorization, Authorize, ProviderOptions } from './provider.ts';

export const awsOptions = [
  'aws_region',
  'aws_auth_type',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'aws_role_arn',
  'aws_external_id',
] as const;

/** The address of a regional AWS service. China has a domain of its own. */
export function awsOrigin(provider: string, service: string, options: ProviderOptions): string {
  const region = required(provider, options, 'aws_region', label).toLowerCase();
  return `https://${service}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}

/**
 * Signs with the access key of the options or the credential, or of a role that this key assumes, or sends an API key
 * as bearer token.
 */
export const awsSignature =
  (service: string, { takesApiKey = false } = {}): Authorize =>
  async (call) => {
    refuseAmbient(call.options, 'aws_auth_type');
    const way = oneOf(call.options, 'aws_auth_type', ['accessKey', 'assumedRole', 'apiKey']);
    if (takesApiKey && !call.machine && (way === 'apiKey' || isApiKey(call))) {
      return setSecret(call, 'authorization', `Bearer ${reveal(call)}`);
    }
    if (way === 'apiKey') fail('invalid_provider_option', 'aws_auth_type', `${call.provider} takes no API keys.`);
    const own = call.machine ? await call.machine.key(call) : accessKey(call);
    const { method, url, headers, body, now } = call;
    const region = required(call.provider, call.options, 'aws_region', label).toLowerCase();
    const credentials = way === 'assumedRole' ? await assumeRole(call, own, region) : own;
    signAws({ method, url, headers, body, region, service, credentials, now });
  };

/** Bedrock's API keys have no colon, access keys written as one text always do. */
function isApiKey({ credential, options }: Authorization): boolean {
  const text = credential?.reveal().trim();
  return !!text && !options.aws_auth_type && !options.aws_access_key_id && !/[{:]/.test(text);
}

function accessKey(call: Authorization): AwsCredentials {
  const { options } = call;
  const accessKeyId = optional(options, 'aws_access_key_id', printable);
  if (accessKeyId) {
    const secretAccessKey = optional(options, 'aws_secret_access_key', printable) ?? reveal(call);
    return checked({ accessKeyId, secretAccessKey, sessionToken: optional(options, 'aws_session_token', printable) });
  }
  const text = reveal(call);
  if (text.startsWith('{')) {
    const stored = parseObject(text);
    const read = (...names: string[]) => names.map((name) => stored[name]).find((value) => typeof value === 'string');
    return checked({
      accessKeyId: read('aws_access_key_id', 'accessKeyId', 'AccessKeyId'),
      secretAccessKey: read('aws_secret_access_key', 'secretAccessKey', 'SecretAccessKey'),
      sessionToken: read('aws_session_token', 'sessionToken', 'SessionToken'),
    });
  }
  const [id, secret, ...token] = text.split(':');
  return checked({ accessKeyId: id, secretAccessKey: secret, sessionToken: token.join(':') || undefined });
}

function checked(parts: { [Part in keyof AwsCredentials]-?: unknown }): AwsCredentials {
  const { accessKeyId, secretAccessKey, sessionToken } = parts;
  const isKeyId = typeof accessKeyId === 'string' && /^\w{16,128}$/.test(accessKeyId);
  const isSecret = typeof secretAccessKey === 'string' && printable.pattern.test(secretAccessKey);
  const isToken =
    sessionToken === undefined || (typeof sessionToken === 'string' && /^[\x21-\x7e]+$/.test(sessionToken));
  if (!isKeyId || !isSecret || !isToken) {
    fail(
      'invalid_provider_option',
      'aws_access_key_id',
      'no usable access key. Set aws_access_key_id and aws_secret_access_key, ' +
        'or give the credential as ACCESS_KEY:SECRET[:SESSION_TOKEN] or as JSON.',
    );
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

const roleArn = {
  pattern: /^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/,
  says: 'takes a role such as arn:aws:iam::123456789012:role/name',
};

/** A role is assumed by the own access key of the caller or the virtual key, or by an identity that the operator lends it. */
async function assumeRole(call: Authorization, own: AwsCredentials, region: string): Promise<AwsCredentials> {
  const { provider, options, tokens, now } = call;
  const role = required(provider, options, 'aws_role_arn', roleArn);
  const externalId = optional(options, 'aws_external_id', printable);
  const identity = JSON.stringify([own, role, externalId, region]);
  const cacheKey = `aws:${createHash('sha256').update(identity).digest('hex')}`;

  const assumed = await tokens.get(cacheKey, async () => {
    const url = `${awsOrigin(provider, 'sts', options)}/`;
    const form: Record<string, string> = {
      Action: 'AssumeRole',
      Version: '2011-06-15',
      RoleArn: role,
      RoleSessionName: 'gateway',
      ...(externalId && { ExternalId: externalId }),
    };
    const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' });
    const body = new TextEncoder().encode(new URLSearchParams(form).toString());
    signAws({ method: 'POST', url, headers, body, region, service: 'sts', credentials: own, now });
    const answer = await tokens.postForm(provider, url, form, Object.fromEntries(headers));
    const result = member(member(answer, 'AssumeRoleResponse'), 'AssumeRoleResult');
    const given = member(result, 'Credentials');
    if (typeof given.AccessKeyId !== 'string' || typeof given.SecretAccessKey !== 'string') {
      fail('credential_rejected', provider, 'AssumeRole answered without credentials');
    }
    return { value: JSON.stringify(given), expiresAt: expiry(given.Expiration) ?? now + 3_600_000 };
  });
  const given = parseObject(assumed);
  return checked({
    accessKeyId: given.AccessKeyId,
    secretAccessKey: given.SecretAccessKey,
    sessionToken: given.SessionToken,
  });
}

/** Seconds in JSON answers, a date in others. */
function expiry(value: unknown): number | undefined {
  const ms = typeof value === 'number' ? value * 1000 : typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isFinite(ms) ? ms : undefined;
}

function member(value: Record<string, unknown>, name: string): Record<string, unknown> {
  const inner = value[name];
  return typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>) : {};
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
