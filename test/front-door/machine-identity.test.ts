import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCloudHosts, startMetadata } from '../clouds.ts';
import { client, startGateway } from '../gateway.ts';
import { eventually, forTests, type GatewayProcess, startProcess } from '../process.ts';
import { startProxy, type TestProxy } from '../proxy.ts';

const BEDROCK = 'bedrock-runtime.eu-west-1.amazonaws.com';
const CONTROL = 'bedrock.eu-west-1.amazonaws.com';
const VERTEX = 'europe-west1-aiplatform.googleapis.com';
const AZURE = 'team.openai.azure.com';

const metadata = startMetadata();
const clouds = startCloudHosts([BEDROCK, CONTROL, VERTEX, AZURE]);
const folder = mkdtempSync(join(tmpdir(), 'gateway-identities-'));
let proxy: TestProxy;
let gateway: GatewayProcess;
let api: ReturnType<typeof client>;

const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const identities = () => {
  const at = (path: string) => `${metadata.origin}${path}`;
  const workspaces = ['default'];
  const token_file = file('token', 'token-of-the-pod\n');
  return JSON.stringify([
    { name: 'machine', source: 'aws-instance', url: at('/aws'), workspaces },
    { name: 'pod', source: 'aws-container', url: at('/container/v1/credentials'), token_file, workspaces },
    {
      ...{ name: 'role', source: 'aws-web-identity', url: at('/sts'), region: 'eu-west-1', workspaces, token_file },
      role_arn: 'arn:aws:iam::123456789012:role/gateway',
    },
    { name: 'vm', source: 'google-instance', url: at('/google'), workspaces },
    {
      ...{
        name: 'pool',
        source: 'google-federated',
        url: at('/google-sts'),
        credentials_url: at('/google-iam'),
        token_file,
      },
      ...{ audience: '//iam.googleapis.com/pool', service_account: 'llm@project.iam.gserviceaccount.com', workspaces },
    },
    { name: 'managed', source: 'azure-instance', url: at('/azure'), workspaces },
    {
      name: 'workload',
      source: 'azure-federated',
      url: at('/login'),
      tenant_id: 'tenant-1',
      client_id: 'c',
      token_file,
      workspaces,
    },
    { name: 'brief', source: 'aws-instance', url: at('/aws'), workspaces },
    { name: 'others', source: 'aws-instance', url: at('/aws'), workspaces: ['elsewhere'] },
  ]);
};

beforeAll(async () => {
  proxy = await startProxy({ lead: clouds.lead });
  gateway = await startProcess({
    environment: {
      ...forTests,
      GATEWAY_MACHINE_IDENTITIES: identities(),
      GATEWAY_EGRESS_PROXY: `http://127.0.0.1:${proxy.port}`,
      GATEWAY_EGRESS_PROXY_TARGET: 'name',
      NODE_EXTRA_CA_CERTS: file('authorities.pem', clouds.authorities),
    },
  });
  api = client(gateway.url);
});
afterAll(async () => {
  await gateway.stop();
  proxy.stop();
  clouds.stop();
  metadata.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  metadata.asked.length = 0;
  clouds.calls.length = 0;
  Object.assign(metadata.state, { lifeMs: 3_600_000, isAway: false });
});

const aws = (identity: string) => ({
  provider: 'bedrock',
  configurations: { aws_region: 'eu-west-1', machine_identity: identity },
});
const google = (identity: string) => ({
  provider: 'vertex-ai',
  configurations: { vertex_region: 'europe-west1', vertex_project_id: 'project', machine_identity: identity },
});
const azure = (identity: string) => ({
  provider: 'azure-openai',
  configurations: {
    ...{ azure_resource_name: 'team', azure_deployment_id: 'd', azure_api_version: '2024-10-21' },
    machine_identity: identity,
  },
});
const make = (body: Record<string, unknown>) => api.post('/v1/virtual-keys', { name: 'machine', ...body });
const made = async (body: Record<string, unknown>): Promise<string> => {
  const { status, text, json } = await make(body);
  if (status !== 200) throw new Error(text);
  return json.slug;
};
const ask = (slug: string, path = '/v1/proxy/echo') =>
  api.post(path, { model: 'm' }, { headers: { 'x-gateway-virtual-key': slug } });

describe('a virtual key that asks for an identity that it is lent', () => {
  const kinds: [string, Record<string, unknown>, string, RegExp, string | null][] = [
    ['a role of the machine', aws('machine'), BEDROCK, /Credential=ASIAMACHINE\d{6}\//, 'session-of-the-machine'],
    ['a role of the pod', aws('pod'), BEDROCK, /Credential=ASIAMACHINE\d{6}\//, 'session-of-the-pod'],
    ['a role by a token in a file', aws('role'), BEDROCK, /Credential=ASIAMACHINE\d{6}\//, 'session-of-the-role'],
    ["Google's service account of the machine", google('vm'), VERTEX, /^Bearer google-machine-token-\d+$/, null],
    ['a service account by a token in a file', google('pool'), VERTEX, /^Bearer google-account-token$/, null],
    ["Azure's managed identity", azure('managed'), AZURE, /^Bearer azure-machine-token-\d+$/, null],
    ['an application by a token in a file', azure('workload'), AZURE, /^Bearer entra-machine-token-\d+$/, null],
  ];
  for (const [title, body, host, authorization, session] of kinds)
    test(`calls with ${title}, which is fetched once`, async () => {
      const slug = await made(body);
      expect(metadata.asked).toEqual([]);
      const first = await ask(slug);
      expect([first.status, first.json.arrived ?? first.text]).toEqual([200, host]);
      const fetched = metadata.asked.length;
      await Promise.all(Array.from({ length: 10 }, () => ask(slug)));
      expect(metadata.asked.length).toBe(fetched);
      expect(clouds.calls).toHaveLength(11);
      for (const { headers } of clouds.calls) {
        expect(headers.get('authorization')).toMatch(authorization);
        expect(headers.get('x-amz-security-token')).toBe(session);
      }
    });

  test('has a new one before the old one ends, and goes on with the old one while its source is away', async () => {
    metadata.state.lifeMs = 120_000;
    const slug = await made(aws('brief'));
    const used = async () => {
      expect((await ask(slug)).status).toBe(200);
      return /Credential=(\w+)/.exec(clouds.calls.at(-1)!.headers.get('authorization')!)![1]!;
    };
    const before = await used();
    await eventually('a new key is used', async () => (await used()) !== before);
    metadata.state.isAway = true;
    for (let call = 0; call < 5; call++) await used();
  });

  test('reads lists, and does nothing else than call models', async () => {
    const slug = await made(aws('machine'));
    const read = await api.get('/v1/proxy/foundation-models', { headers: { 'x-gateway-virtual-key': slug } });
    expect(read.json.arrived).toBe(CONTROL);
    const job = await ask(slug, '/v1/proxy/model-customization-jobs');
    expect([job.status, job.json.error.code]).toEqual([400, 'invalid_provider_option']);
    expect(job.json.error.message).toContain(`is not lent to ${CONTROL}`);
  });

  test('keeps what it is lent out of answers, logs and audit records', async () => {
    const slug = await made(aws('pod'));
    const reply = await ask(slug);
    const shown = (await api.get(`/v1/virtual-keys/${slug}`)).text;
    const id = reply.headers.get('x-gateway-request-id');
    await eventually('it is logged', async () => (await api.get(`/v1/logs/${id}`)).status === 200);
    for (const text of [
      reply.text,
      shown,
      (await api.get(`/v1/logs/${id}`)).text,
      (await api.get('/v1/audit-logs')).text,
    ])
      expect(text).not.toMatch(/secret-of-the-machine|session-of-the-pod/);
  });
});

describe('without the word of both', () => {
  const says = (reply: { status: number; json: { error?: { code: string; param: string } } }) =>
    `${reply.status} ${reply.json.error?.code} ${reply.json.error?.param}`;

  test('a virtual key asks for what its workspace is lent, at the cloud of the identity, and for one thing that pays', async () => {
    const field = '400 invalid_request configurations.machine_identity';
    expect(says(await make(aws('others')))).toBe(field);
    expect(says(await make(aws('unheard-of')))).toBe(field);
    expect(says(await make(google('machine')))).toBe(field);
    expect(says(await make({ provider: 'openai', configurations: { machine_identity: 'machine' } }))).toBe(field);
    expect(says(await make({ ...aws('machine'), custom_host: gateway.url }))).toBe(field);
    expect(says(await make({ ...aws('machine'), custom_host: 'https://x.execute-api.eu-west-1.amazonaws.com' }))).toBe(
      field,
    );
    expect(
      says(await make({ provider: 'bedrock', configurations: { aws_region: 'eu-west-1', machine_identity: 7 } })),
    ).toBe(field);
    const foundry = { azure_foundry_url: 'https://evil.eastus.inference.ml.azure.com', machine_identity: 'managed' };
    expect(says(await make({ provider: 'azure-ai', configurations: foundry }))).toBe(field);
    expect(says(await make({ ...aws('machine'), key: 'AKIDOFTHECUSTOMER001:secret' }))).toBe('400 invalid_request key');
    const twice = { aws_region: 'eu-west-1', machine_identity: 'machine', aws_access_key_id: 'AKIDOFTHECUSTOMER001' };
    expect(says(await make({ provider: 'bedrock', configurations: twice }))).toBe(
      '400 invalid_request configurations.aws_access_key_id',
    );
    expect(metadata.asked).toEqual([]);
  });

  test('no metadata service is called: not for a key that does not ask, a header, an inline config, a host', async () => {
    const bare = await make({ provider: 'bedrock', configurations: { aws_region: 'eu-west-1' } });
    expect(says(await ask(bare.json.slug))).toStartWith('400 missing_credential');
    const provider = { 'x-gateway-provider': 'bedrock', 'x-gateway-aws-region': 'eu-west-1' };
    const through = (headers: Record<string, string>) => api.post('/v1/proxy/echo', {}, { headers });
    await through({ ...provider, 'x-gateway-machine-identity': 'machine' });
    await through({ ...provider, 'x-gateway-aws-auth-type': 'serviceRole' });
    const inline = { provider: 'bedrock', aws_region: 'eu-west-1', machine_identity: 'machine' };
    await through({ 'x-gateway-config': JSON.stringify(inline) });
    await through({ 'x-gateway-config': JSON.stringify({ strategy: { mode: 'single' }, targets: [inline] }) });
    for (const host of [
      metadata.origin,
      'http://169.254.169.254',
      'http://169.254.170.2',
      'http://metadata.google.internal',
    ]) {
      const reply = await through({
        'x-gateway-provider': 'openai',
        'x-gateway-custom-host': host,
        authorization: 'Bearer x',
      });
      expect(says(reply)).toStartWith('400 egress_refused');
      expect(says(await make({ provider: 'openai', key: 'sk', custom_host: host }))).toStartWith('400 egress_refused');
    }
    expect(metadata.asked).toEqual([]);
    expect(clouds.calls).toEqual([]);
  });

  test('no header leads what is lent elsewhere', async () => {
    const slug = await made(aws('machine'));
    const config = { virtual_key: slug, custom_host: metadata.origin };
    for (const headers of [
      { 'x-gateway-virtual-key': slug, 'x-gateway-custom-host': gateway.url },
      { 'x-gateway-config': JSON.stringify(config) },
      { 'x-gateway-config': JSON.stringify({ strategy: { mode: 'single' }, targets: [config] }) },
    ] as Record<string, string>[])
      await api.post('/v1/proxy/echo', {}, { headers });
    for (const { host } of clouds.calls) expect(host).toBe(BEDROCK);
  });
});

test('a source that gives nothing is named, without its words, and never asked through a proxy', async () => {
  const straight = await startGateway({
    environment: {
      GATEWAY_MACHINE_IDENTITIES: JSON.stringify([
        { name: 'vm', source: 'google-instance', workspaces: ['*'] },
        { name: 'broken', source: 'google-instance', url: `${metadata.origin}/nothing`, workspaces: ['*'] },
      ]),
      GATEWAY_EGRESS_PROXY: `http://127.0.0.1:${proxy.port}`,
    },
  });
  try {
    proxy.asked.length = 0;
    for (const [name, why] of [
      ['vm', 'its source cannot be reached'],
      ['broken', 'its source answered 404'],
    ] as const) {
      await straight.given.virtualKey({ ...google(name), slug: name, key: undefined, custom_host: undefined });
      const reply = await straight.api.post('/v1/proxy/echo', {}, { headers: { 'x-gateway-virtual-key': name } });
      expect([reply.status, reply.json.error.code]).toEqual([503, 'identity_unavailable']);
      expect(reply.json.error.message).toContain(why);
    }
    expect(proxy.asked.filter((target) => target.includes('metadata'))).toEqual([]);
  } finally {
    await straight.stop();
  }
});
