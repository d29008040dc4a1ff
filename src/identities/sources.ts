import { readFileSync } from 'node:fs';
import type { IdentityKind, MachineKey } from '../core/machine-identity.ts';
import type { IdentitySettings } from './settings.ts';

/** What a source gives: a key of AWS or a token, and when it ends. */
export interface Given {
  readonly value: MachineKey | string;
  readonly expiresAt: number;
}

export interface SourceParts {
  readonly send: (url: string, init: RequestInit) => Promise<Response>;
  readonly now: () => number;
}

/** Where an identity comes from. Throws an error with a reason in the gateway's own words. */
export type Source = () => Promise<Given>;

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const AZURE_RESOURCE = 'https://cognitiveservices.azure.com';
const HOUR_SECONDS = 3_600;

export const kindOf = ({ source }: IdentitySettings): IdentityKind =>
  source.slice(0, source.indexOf('-')) as IdentityKind;

export function sourceOf(identity: IdentitySettings, parts: SourceParts, resource = AZURE_RESOURCE): Source {
  const { send, now } = parts;
  const base = (identity.url ?? '').replace(/\/+$/, '');
  switch (identity.source) {
    case 'aws-instance':
      return () => fromInstance(base, parts);
    case 'aws-container':
      return async () => {
        const authorization = identity.token_file && tokenIn(identity.token_file);
        const headers: Record<string, string> = authorization ? { authorization } : {};
        return keyIn(await jsonOf(await send(identity.url, { headers })));
      };
    case 'aws-web-identity':
      return async () => {
        const { region } = identity;
        const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
        const answer = await postForm(send, `${base || `https://sts.${region}.${domain}`}/`, {
          ...{ Action: 'AssumeRoleWithWebIdentity', Version: '2011-06-15', RoleSessionName: 'gateway' },
          ...{ RoleArn: identity.role_arn, WebIdentityToken: tokenIn(identity.token_file) },
        });
        const result = member(member(answer, 'AssumeRoleWithWebIdentityResponse'), 'AssumeRoleWithWebIdentityResult');
        return keyIn(member(result, 'Credentials'));
      };
    case 'google-instance':
      return async () => {
        const path = `/computeMetadata/v1/instance/service-accounts/${identity.service_account}/token`;
        const address = `${base}${path}?scopes=${encodeURIComponent(SCOPE)}`;
        return tokenFrom(await jsonOf(await send(address, { headers: { 'metadata-flavor': 'Google' } })), now());
      };
    case 'google-federated':
      return async () => {
        const answer = await postForm(send, `${base}/v1/token`, {
          ...{
            grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
            audience: identity.audience,
            scope: SCOPE,
          },
          requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
          subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
          subject_token: tokenIn(identity.token_file),
        });
        const own = tokenFrom(answer, now());
        return identity.service_account === undefined ? own : actAs(identity.service_account);
        async function actAs(account: string): Promise<Given> {
          const url = `${identity.source === 'google-federated' ? identity.credentials_url.replace(/\/+$/, '') : ''}/v1/projects/-/serviceAccounts/${account}:generateAccessToken`;
          const response = await send(url, {
            method: 'POST',
            headers: { authorization: `Bearer ${own.value}`, 'content-type': 'application/json' },
            body: JSON.stringify({ scope: [SCOPE] }),
          });
          const { accessToken, expireTime } = await jsonOf(response);
          if (typeof accessToken !== 'string') throw new Error('it answered without a token');
          return { value: accessToken, expiresAt: Date.parse(String(expireTime)) || now() + HOUR_SECONDS * 1_000 };
        }
      };
    case 'azure-instance':
      return async () => {
        const query = new URLSearchParams({ 'api-version': '2018-02-01', resource });
        if (identity.client_id !== undefined) query.set('client_id', identity.client_id);
        const address = `${base}/metadata/identity/oauth2/token?${query}`;
        return tokenFrom(await jsonOf(await send(address, { headers: { metadata: 'true' } })), now());
      };
    case 'azure-federated':
      return async () => {
        const answer = await postForm(send, `${base}/${identity.tenant_id}/oauth2/v2.0/token`, {
          ...{ grant_type: 'client_credentials', client_id: identity.client_id, scope: `${resource}/.default` },
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          client_assertion: tokenIn(identity.token_file),
        });
        return tokenFrom(answer, now());
      };
  }
}

const ROLE_NAME = /^[\w+=,.@-]{1,128}$/;

/** A machine of EC2, by version 2 of its metadata service: version 1 answers every request that the machine can be made to send. */
async function fromInstance(base: string, { send }: SourceParts): Promise<Given> {
  const session = await send(`${base}/latest/api/token`, {
    method: 'PUT',
    headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '300' },
  });
  if (!session.ok) throw new Error(`the metadata service answered ${session.status} to version 2 of its protocol`);
  const headers = { 'x-aws-ec2-metadata-token': (await session.text()).trim() };
  const roles = await send(`${base}/latest/meta-data/iam/security-credentials/`, { headers });
  const role = roles.ok ? (await roles.text()).trim().split('\n')[0]! : '';
  if (!ROLE_NAME.test(role)) throw new Error('the machine has no role');
  return keyIn(await jsonOf(await send(`${base}/latest/meta-data/iam/security-credentials/${role}`, { headers })));
}

/** Platforms write these files anew before what is in them ends. */
function tokenIn(path: string): string {
  let token: string;
  try {
    token = readFileSync(path, 'utf8').trim();
  } catch {
    throw new Error('the file with its token cannot be read');
  }
  if (!/^[\x21-\x7e]{1,16384}$/.test(token)) throw new Error('the file with its token holds none');
  return token;
}

async function postForm(
  send: SourceParts['send'],
  url: string,
  form: Record<string, string>,
): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  return jsonOf(await send(url, { method: 'POST', headers, body: new URLSearchParams(form).toString() }));
}

/** What the other side says in words is not passed on: it may name accounts of the operator. */
async function jsonOf(response: Response): Promise<Record<string, unknown>> {
  const value: unknown = await response.json().catch(() => null);
  if (response.ok && value !== null && typeof value === 'object') return value as Record<string, unknown>;
  throw new Error(
    response.ok ? 'its source answered something else than JSON' : `its source answered ${response.status}`,
  );
}

const member = (value: unknown, name: string): Record<string, unknown> => {
  const inner = value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[name] : null;
  return inner !== null && typeof inner === 'object' ? (inner as Record<string, unknown>) : {};
};

/** As STS, containers and machines write it; seconds or a date. */
function keyIn(given: Record<string, unknown>): Given {
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey } = given;
  const sessionToken = given.SessionToken ?? given.Token;
  const { Expiration: end } = given;
  const expiresAt = typeof end === 'number' ? end * 1_000 : Date.parse(String(end));
  const isText = (value: unknown): value is string => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value);
  if (!isText(accessKeyId) || !isText(secretAccessKey) || !isText(sessionToken) || !Number.isFinite(expiresAt))
    throw new Error('its source answered without a key');
  return { value: { accessKeyId, secretAccessKey, sessionToken }, expiresAt };
}

function tokenFrom(answer: Record<string, unknown>, now: number): Given {
  const { access_token: token } = answer;
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw new Error('its source answered without a token');
  return { value: token, expiresAt: now + (Number(answer.expires_in) || HOUR_SECONDS) * 1_000 };
}
