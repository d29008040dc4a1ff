import { describe, expect, test } from 'bun:test';
import { createVerify, generateKeyPairSync, randomBytes } from 'node:crypto';
import { decodeProtectedHeader, exportPKCS8, exportSPKI, generateKeyPair, importSPKI, jwtVerify } from 'jose';
import { GatewayError } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import type { ProviderOptions } from './provider.ts';
import { findProvider, providers } from './registry.ts';
import { createTokenSource } from './tokens.ts';

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

interface Asked {
  readonly credential?: string | null;
  readonly options?: ProviderOptions;
  readonly url?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  /** What the token endpoint answers. */
  readonly answer?: (url: string, form: URLSearchParams, init: RequestInit) => Response | Promise<Response>;
}

/** Authorises one call and answers its headers; token requests go to `answer`. */
async function authorise(name: string, asked: Asked = {}): Promise<Headers> {
  const headers = new Headers(asked.headers);
  const tokens = createTokenSource({
    send: async (url, init) => {
      if (!asked.answer) throw new Error(`nobody expected a call to ${url}`);
      return asked.answer(url, new URLSearchParams(String(init.body)), init);
    },
    now: () => NOW,
  });
  await findProvider(name)!.authorize({
    provider: name,
    credential: asked.credential ? new Secret(asked.credential) : null,
    options: asked.options ?? {},
    method: 'POST',
    url: asked.url ?? 'https://host.example.com/path',
    headers,
    body: asked.body === undefined ? null : new TextEncoder().encode(asked.body),
    tokens,
    now: NOW,
  });
  return headers;
}

async function refusal(name: string, asked: Asked): Promise<{ code: string; message: string }> {
  try {
    await authorise(name, asked);
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, message: error.message };
    throw error;
  }
  return { code: 'none', message: 'nothing was refused' };
}

describe('keys in headers', () => {
  const places: [string, string, string][] = [
    ['openai', 'authorization', 'Bearer k-1'],
    ['anthropic', 'x-api-key', 'k-1'],
    ['google', 'x-goog-api-key', 'k-1'],
    ['azure-openai', 'api-key', 'k-1'],
    ['segmind', 'x-api-key', 'k-1'],
    ['qdrant', 'api-key', 'k-1'],
    ['reka-ai', 'authorization', 'Bearer k-1'],
  ];
  for (const [name, header, value] of places) {
    test(`${name} gets its key as ${header}`, async () => {
      expect((await authorise(name, { credential: ' k-1\n' })).get(header)).toBe(value);
    });
  }

  const needless = ['simulator', 'ollama', 'modal', 'triton', 'qdrant', 'milvus'];
  const settled: Record<string, ProviderOptions> = {
    bedrock: { aws_region: 'us-east-1' },
    oracle: {
      oracle_tenancy: 'ocid1.tenancy.oc1..a',
      oracle_user: 'ocid1.user.oc1..b',
      oracle_fingerprint: Array(16).fill('0a').join(':'),
    },
  };
  test('a provider without its credential says so, except servers that people run themselves', async () => {
    for (const { name } of providers) {
      const { code } = await refusal(name, { options: settled[name] });
      expect(`${name}: ${code}`).toBe(`${name}: ${needless.includes(name) ? 'none' : 'missing_credential'}`);
    }
  });

  test('a credential that cannot be a header is refused without being shown', async () => {
    const { code, message } = await refusal('openai', { credential: 'sk-secret\nx-evil: 1' });
    expect(code).toBe('invalid_header');
    expect(message).not.toContain('sk-secret');
  });

  test('options travel as headers', async () => {
    const options = { openai_organization: 'org-1', openai_project: 'proj-1' };
    const headers = await authorise('openai', { credential: 'k', options });
    expect(headers.get('openai-organization')).toBe('org-1');
    expect(headers.get('openai-project')).toBe('proj-1');
    expect(await refusal('openai', { credential: 'k', options: { openai_project: 'a\r\nb: c' } })).toMatchObject({
      code: 'invalid_provider_option',
    });
    expect(findProvider('anthropic')!.headers).toEqual({ 'anthropic-version': '2023-06-01' });
  });

  test('Azure AI keys go where the host reads them', async () => {
    const serverless = { credential: 'k', url: 'https://m.eastus2.models.ai.azure.com/chat/completions' };
    expect((await authorise('azure-ai', serverless)).get('authorization')).toBe('Bearer k');
    const foundry = { credential: 'k', url: 'https://m.services.ai.azure.com/models/chat/completions' };
    expect((await authorise('azure-ai', foundry)).get('api-key')).toBe('k');
    const look = { credential: 'k', url: 'https://services.ai.azure.com.evil.example/x' };
    expect((await authorise('azure-ai', look)).has('api-key')).toBe(false);
  });
});

test('an identity of the host is never lent', async () => {
  const attempts: [string, ProviderOptions][] = [
    ['azure-openai', { azure_auth_mode: 'managed' }],
    ['azure-openai', { azure_auth_mode: 'workload' }],
    ['azure-ai', { azure_auth_mode: 'entraFederated' }],
    ['bedrock', { aws_auth_type: 'serviceRole', aws_region: 'us-east-1' }],
    ['vertex-ai', { vertex_auth_type: 'workload' }],
  ];
  for (const [name, options] of attempts) {
    const { code, message } = await refusal(name, { credential: 'k', options });
    expect(code).toBe('invalid_provider_option');
    expect(message).toContain("gateway host's own identity");
  }
});

describe('AWS', () => {
  const url = 'https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse';
  const region = { aws_region: 'eu-west-1' };
  const keys = { aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE', aws_secret_access_key: 's3cret/key' };
  const pair = 'AKIAIOSFODNN7EXAMPLE:s3cret/key';

  test('an access key signs, wherever it is given', async () => {
    const ways: Asked[] = [
      { options: { ...region, ...keys } },
      { options: region, credential: pair },
      { options: region, credential: JSON.stringify(keys) },
      { options: { ...region, aws_access_key_id: keys.aws_access_key_id }, credential: 's3cret/key' },
    ];
    const signed = await Promise.all(ways.map((way) => authorise('bedrock', { url, body: '{}', ...way })));
    const values = new Set(signed.map((headers) => headers.get('authorization')));
    expect(values.size).toBe(1);
    expect([...values][0]).toStartWith(
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20260102/eu-west-1/bedrock/aws4_request, ',
    );
  });

  test('a session token is sent and signed', async () => {
    const headers = await authorise('sagemaker', { url, options: region, credential: `${pair}:to:ken` });
    expect(headers.get('x-amz-security-token')).toBe('to:ken');
    expect(headers.get('authorization')).toContain('x-amz-security-token');
  });

  test('an API key is a bearer token for Bedrock only', async () => {
    const apiKey = { ...region, aws_auth_type: 'apiKey' };
    expect((await authorise('bedrock', { options: apiKey, credential: 'ABSKabc' })).get('authorization')).toBe(
      'Bearer ABSKabc',
    );
    expect((await authorise('bedrock', { options: region, credential: 'ABSKabc' })).get('authorization')).toBe(
      'Bearer ABSKabc',
    );
    expect(await refusal('sagemaker', { options: apiKey, credential: 'ABSKabc' })).toMatchObject({
      code: 'invalid_provider_option',
      message: 'aws_auth_type: sagemaker takes no API keys.',
    });
  });

  test('half an access key is refused without being shown', async () => {
    const { code, message } = await refusal('sagemaker', { options: region, credential: 'onlysecret' });
    expect(code).toBe('invalid_provider_option');
    expect(message).not.toContain('onlysecret');
  });

  test('a role is assumed with the own key, and its credentials sign the call', async () => {
    const asked: { url: string; form: URLSearchParams; authorization: string | null }[] = [];
    const headers = await authorise('bedrock', {
      url,
      credential: pair,
      options: {
        ...region,
        aws_auth_type: 'assumedRole',
        aws_role_arn: 'arn:aws:iam::123456789012:role/models',
        aws_external_id: 'ext',
      },
      answer: (url, form, init) => {
        asked.push({ url, form, authorization: new Headers(init.headers).get('authorization') });
        const Credentials = {
          AccessKeyId: 'ASIAROLEROLEROLEROLE',
          SecretAccessKey: 'role-secret',
          SessionToken: 'role-token',
          Expiration: NOW / 1000 + 3600,
        };
        return Response.json({ AssumeRoleResponse: { AssumeRoleResult: { Credentials } } });
      },
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]!.url).toBe('https://sts.eu-west-1.amazonaws.com/');
    expect(asked[0]!.form.get('RoleArn')).toBe('arn:aws:iam::123456789012:role/models');
    expect(asked[0]!.form.get('ExternalId')).toBe('ext');
    expect(asked[0]!.authorization).toContain('AKIAIOSFODNN7EXAMPLE/20260102/eu-west-1/sts/aws4_request');
    expect(headers.get('authorization')).toContain('Credential=ASIAROLEROLEROLEROLE/20260102/eu-west-1/bedrock/');
    expect(headers.get('x-amz-security-token')).toBe('role-token');
  });
});

describe('Google', () => {
  const account = async (changes: Record<string, unknown> = {}) => {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const json = {
      type: 'service_account',
      client_email: 'caller@team-7.iam.gserviceaccount.com',
      private_key: await exportPKCS8(privateKey),
      private_key_id: 'kid-1',
      token_uri: 'https://oauth2.googleapis.com/token',
      ...changes,
    };
    return { json, publicKey: await exportSPKI(publicKey) };
  };

  test('a service account signs an assertion and gets an access token', async () => {
    const { json, publicKey } = await account();
    const headers = await authorise('vertex-ai', {
      credential: JSON.stringify(json),
      answer: async (url, form) => {
        expect(url).toBe('https://oauth2.googleapis.com/token');
        expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
        const assertion = form.get('assertion')!;
        expect(decodeProtectedHeader(assertion)).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'kid-1' });
        const { payload } = await jwtVerify(assertion, await importSPKI(publicKey, 'RS256'), {
          currentDate: new Date(NOW),
        });
        expect(payload).toEqual({
          iss: json.client_email,
          sub: json.client_email,
          aud: 'https://oauth2.googleapis.com/token',
          scope: 'https://www.googleapis.com/auth/cloud-platform',
          iat: Math.floor(NOW / 1000),
          exp: Math.floor(NOW / 1000) + 3600,
        });
        return Response.json({ access_token: 'ya29.short-lived', expires_in: 3599, token_type: 'Bearer' });
      },
    });
    expect(headers.get('authorization')).toBe('Bearer ya29.short-lived');
  });

  test('a stored service account counts as well, as an object', async () => {
    const { json } = await account();
    const headers = await authorise('vertex-ai', {
      options: { vertex_service_account_json: json, vertex_auth_type: 'serviceAccount' },
      answer: () => Response.json({ access_token: 'ya29.b', expires_in: 3599 }),
    });
    expect(headers.get('authorization')).toBe('Bearer ya29.b');
  });

  test('an access token is used as it is', async () => {
    expect((await authorise('vertex-ai', { credential: 'ya29.mine' })).get('authorization')).toBe('Bearer ya29.mine');
  });

  for (const token_uri of [
    'https://evil.example/token',
    'http://oauth2.googleapis.com/token',
    'https://oauth2.googleapis.com.evil.example/token',
    'https://evilgoogleapis.com/token',
    'https://x:y@oauth2.googleapis.com/token',
    'https://oauth2.googleapis.com:8443/token',
    7,
  ]) {
    test(`an assertion is not sent to ${token_uri}`, async () => {
      const { json } = await account({ token_uri });
      const { code, message } = await refusal('vertex-ai', { credential: JSON.stringify(json) });
      expect(code).toBe('invalid_provider_option');
      expect(message).toContain('token_uri');
    });
  }

  test('a broken key is refused without being shown', async () => {
    const { json } = await account({ private_key: 'not-a-key' });
    const { code, message } = await refusal('vertex-ai', { credential: JSON.stringify(json) });
    expect(code).toBe('invalid_provider_option');
    expect(message).not.toContain('not-a-key');
  });
});

describe('Microsoft Entra', () => {
  const options = {
    azure_auth_mode: 'entra',
    azure_entra_tenant_id: '11111111-2222-3333-4444-555555555555',
    azure_entra_client_id: 'client-1',
  };

  test('client credentials are exchanged for a token', async () => {
    const headers = await authorise('azure-openai', {
      options,
      credential: 'client-secret',
      answer: (url, form) => {
        expect(url).toBe(`https://login.microsoftonline.com/${options.azure_entra_tenant_id}/oauth2/v2.0/token`);
        expect(Object.fromEntries(form)).toEqual({
          grant_type: 'client_credentials',
          client_id: 'client-1',
          client_secret: 'client-secret',
          scope: 'https://cognitiveservices.azure.com/.default',
        });
        return Response.json({ access_token: 'eyJ.entra', expires_in: 3599 });
      },
    });
    expect(headers.get('authorization')).toBe('Bearer eyJ.entra');
    expect(headers.has('api-key')).toBe(false);
  });

  test('a tenant that would change the path is refused', async () => {
    const asked = { options: { ...options, azure_entra_tenant_id: '../common' }, credential: 's' };
    expect((await refusal('azure-openai', asked)).code).toBe('invalid_provider_option');
  });

  test('a refusal carries the reason and not the secret', async () => {
    const { code, message } = await refusal('azure-openai', {
      options,
      credential: 'client-secret',
      answer: () =>
        Response.json(
          { error: 'invalid_client', error_description: 'AADSTS7000215: Invalid client secret client-secret' },
          { status: 401 },
        ),
    });
    expect(code).toBe('credential_rejected');
    expect(message).toContain('AADSTS7000215');
    expect(message).not.toContain('client-secret');
  });
});

test('cache keys are hashes, never the credential', async () => {
  const seen: string[] = [];
  const secret = randomBytes(16).toString('hex');
  const options = { azure_auth_mode: 'entra', azure_entra_tenant_id: 'tenant', azure_entra_client_id: 'client' };
  await findProvider('azure-openai')!.authorize({
    provider: 'azure-openai',
    credential: new Secret(secret),
    options,
    method: 'GET',
    url: 'https://team.openai.azure.com/openai/v1/models',
    headers: new Headers(),
    body: null,
    tokens: {
      get: async (cacheKey) => {
        seen.push(cacheKey);
        return 'token';
      },
      postForm: () => Promise.reject(new Error('not reached')),
    },
    now: NOW,
  });
  expect(seen[0]).toMatch(/^entra:[0-9a-f]{64}$/);
  expect(seen[0]).not.toContain(secret);
});

test('Oracle Cloud calls are signed with the API signing key', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const fingerprint = Array(16).fill('0a').join(':');
  const options = {
    oracle_region: 'us-chicago-1',
    oracle_tenancy: 'ocid1.tenancy.oc1..aaa',
    oracle_user: 'ocid1.user.oc1..bbb',
    oracle_fingerprint: fingerprint,
  };
  const headers = await authorise('oracle', {
    options,
    credential: pem.replaceAll('\n', '\\n'),
    url: 'https://inference.generativeai.us-chicago-1.oci.oraclecloud.com/20231130/actions/chat?x=1',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const authorization = headers.get('authorization')!;
  expect(authorization).toStartWith(
    `Signature version="1",keyId="ocid1.tenancy.oc1..aaa/ocid1.user.oc1..bbb/${fingerprint}",algorithm="rsa-sha256",` +
      'headers="x-date (request-target) host content-length content-type x-content-sha256",signature="',
  );
  const text = [
    'x-date: Fri, 02 Jan 2026 03:04:05 GMT',
    '(request-target): post /20231130/actions/chat?x=1',
    'host: inference.generativeai.us-chicago-1.oci.oraclecloud.com',
    'content-length: 2',
    'content-type: application/json',
    'x-content-sha256: RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=',
  ].join('\n');
  const signature = /signature="([^"]+)"$/.exec(authorization)![1]!;
  expect(createVerify('RSA-SHA256').update(text).verify(publicKey, signature, 'base64')).toBe(true);

  const broken = await refusal('oracle', { options, credential: 'not-a-key' });
  expect(broken.code).toBe('invalid_provider_option');
  expect(broken.message).not.toContain('not-a-key');
});
