import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startMetadata } from '../clouds.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';
import { startRecorder } from '../recorder.ts';
import { AWS_KEY, AZURE_CLIENT, ROLE, startSecretStores, VAULT_TOKEN } from '../secret-stores.ts';
import { startTlsFront } from '../tls-front.ts';

const FIRST = 'sk-first-secret-0123456789';
const SECOND = 'sk-second-secret-9876543210';
const HOSTS = ['127.0.0.1'];

const stores = startSecretStores();
const folder = mkdtempSync(join(tmpdir(), 'gateway-secret-stores-'));
let gateway: TestGateway;

/** By a name that callers may not use: only 127.0.0.1 is in TRUSTED_CUSTOM_HOSTS. */
const store = () => stores.origin.replace('127.0.0.1', 'localhost');

/** Every kind of store, and Vault with every way to sign in. */
function settings(): string {
  writeFileSync(join(folder, 'jwt'), 'jwt-of-the-pod\n');
  const common = {
    workspaces: { '*': ['shared/*'], default: ['*'] },
    hosts: HOSTS,
    refresh_seconds: 1,
    stale_seconds: 3_600,
  };
  const vault = { ...common, type: 'vault', url: `${store()}/vault` };
  const { role_id, secret_id } = ROLE;
  return JSON.stringify([
    { ...vault, name: 'vault', auth: { method: 'token', token: VAULT_TOKEN } },
    { ...vault, name: 'approle', auth: { method: 'approle', role_id, secret_id } },
    {
      ...vault,
      name: 'pods',
      mount: 'kv/teams',
      auth: { method: 'kubernetes', role: 'gateway', token_file: join(folder, 'jwt') },
    },
    { ...vault, name: 'short', stale_seconds: 0, auth: { method: 'token', token: VAULT_TOKEN } },
    { ...vault, name: 'calm', refresh_seconds: 3_600, auth: { method: 'token', token: VAULT_TOKEN } },
    { ...vault, name: 'hasty', refresh_seconds: 600, auth: { method: 'token', token: VAULT_TOKEN } },
    { ...vault, name: 'strict', hosts: [], auth: { method: 'token', token: VAULT_TOKEN } },
    {
      ...common,
      type: 'aws',
      name: 'aws',
      url: `${store()}/aws`,
      region: 'eu-west-1',
      auth: { method: 'access_key', ...AWS_KEY },
    },
    {
      ...{ ...common, type: 'google', name: 'google', url: `${store()}/google`, project: 'project-1' },
      auth: { method: 'service_account', service_account_json: stores.account, token_url: `${store()}/google/token` },
    },
    {
      ...{ ...common, type: 'azure', name: 'azure', url: `${store()}/azure` },
      auth: { method: 'client_secret', ...AZURE_CLIENT, login_url: `${store()}/login` },
    },
  ]);
}

beforeAll(async () => {
  gateway = await startGateway({ environment: { GATEWAY_SECRET_STORES: settings() } });
});
afterAll(async () => {
  await gateway.stop();
  stores.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  Object.assign(stores.state, { isAway: false, hangs: false });
});

const make = (secret: string, body: Record<string, unknown> = {}) =>
  gateway.api.post('/v1/virtual-keys', {
    ...{ name: 'kept elsewhere', provider: 'openai', key: { secret }, custom_host: gateway.provider.url, ...body },
  });
const made = async (secret: string, body: Record<string, unknown> = {}): Promise<string> => {
  const { status, text, json } = await make(secret, body);
  if (status !== 200) throw new Error(text);
  return json.slug;
};
const ask = (slug: string) => gateway.api.get('/v1/echo', { headers: { 'x-gateway-virtual-key': slug } });
const sent = async (slug: string): Promise<string> => {
  const { json } = await ask(slug);
  return json.headers?.authorization ?? `${json.error?.code}: ${json.error?.message}`;
};

describe('a credential that a store keeps', () => {
  const kinds: [string, string, string][] = [
    ['Vault, with a token', 'vault team/one', 'vault:team/one#api_key'],
    ['Vault, with an AppRole', 'vault team/two', 'approle:team/two#api_key'],
    ['Vault, as a pod of Kubernetes', 'vault kv/teams:team/three', 'pods:team/three#api_key'],
    ['AWS Secrets Manager', 'aws team/four', 'aws:team/four#api_key'],
    ['Google Secret Manager', 'google team-five', 'google:team-five#api_key'],
    ['a version of a secret of Google', 'google team-six/versions/3', 'google:team-six/versions/3#api_key'],
    ['Azure Key Vault', 'azure team-seven', 'azure:team-seven#api_key'],
  ];
  for (const [title, place, reference] of kinds) {
    test(`comes from ${title}, and from there again when it has changed`, async () => {
      stores.secrets.set(place, { api_key: FIRST, other: 'x' });
      const slug = await made(reference);
      expect(await sent(slug)).toBe(`Bearer ${FIRST}`);
      stores.secrets.set(place, { api_key: SECOND });
      await eventually('the new secret is used', async () => (await sent(slug)) === `Bearer ${SECOND}`);
    });
  }

  test('may be the whole text of a secret, where it has no members', async () => {
    for (const store of ['aws', 'google', 'azure']) {
      stores.secrets.set(`${store} plain-text`, `${FIRST}\n`);
      expect(await sent(await made(`${store}:plain-text`))).toBe(`Bearer ${FIRST}`);
    }
  });

  test('may stand in configurations and in headers, both of one moment', async () => {
    stores.secrets.set('vault team/aws', {
      id: 'AKIDOFTHECUSTOMER001',
      secret: 'secret-of-the-customer',
      header: 'team-token',
    });
    const slug = await made('vault:team/aws#secret', {
      provider: 'bedrock',
      key: undefined,
      configurations: {
        aws_region: 'eu-west-1',
        aws_access_key_id: { secret: 'vault:team/aws#id' },
        aws_secret_access_key: { secret: 'vault:team/aws#secret' },
        custom_headers: { 'x-team': { secret: 'vault:team/aws#header' }, 'x-plain': 'plain' },
      },
    });
    const { headers } = (await ask(slug)).json;
    expect(headers['x-team']).toBe('team-token');
    expect(headers.authorization).toStartWith('AWS4-HMAC-SHA256 Credential=AKIDOFTHECUSTOMER001/');
    const shown = (await gateway.api.get(`/v1/virtual-keys/${slug}`)).json;
    expect(shown.configurations).toMatchObject({
      aws_access_key_id: { secret: 'vault:team/aws#id' },
      custom_headers: { 'x-team': { secret: 'vault:team/aws#header' } },
    });
  });

  test('is asked for beside the calls, and not by them', async () => {
    stores.secrets.set('vault team/calm', { api_key: FIRST });
    const slug = await made('calm:team/calm#api_key');
    for (let call = 0; call < 20; call++) expect(await sent(slug)).toBe(`Bearer ${FIRST}`);
    expect(stores.count('secret/data/team/calm')).toBe(1);
  });

  test('that the provider refuses is asked for once more, and the call with it', async () => {
    const provider = startRecorder();
    try {
      provider.answers(({ headers }) =>
        headers.get('authorization') === `Bearer ${SECOND}`
          ? Response.json({ id: 'x', object: 'chat.completion', choices: [] })
          : Response.json({ error: { message: 'Incorrect API key provided' } }, { status: 401 }),
      );
      stores.secrets.set('vault team/rotated', { api_key: FIRST });
      const slug = await made('hasty:team/rotated#api_key', { custom_host: provider.origin });
      const chat = () =>
        gateway.api.post(
          '/v1/chat/completions',
          { model: 'sim', messages: [{ role: 'user', content: 'Hello' }] },
          { headers: { 'x-gateway-virtual-key': slug } },
        );
      const refused = await chat();
      // The store still says the same, so the refusal stands, and the provider is not asked twice with one credential.
      expect([refused.status, provider.requests.length]).toEqual([401, 1]);
      stores.secrets.set('vault team/rotated', { api_key: SECOND });
      await eventually('a refusal has the new secret fetched', async () => (await chat()).status === 200);
      const paid = provider.requests.map(({ headers }) => headers.get('authorization'));
      expect(paid.indexOf(`Bearer ${SECOND}`)).toBe(paid.lastIndexOf(`Bearer ${FIRST}`) + 1);
    } finally {
      provider.stop();
    }
  });

  test('is a pair of a token that Vault has revoked: the gateway signs in again', async () => {
    stores.secrets.set('vault team/revoked', { api_key: FIRST });
    const slug = await made('approle:team/revoked#api_key');
    const before = stores.state.signIns;
    stores.tokens.clear();
    stores.tokens.add(VAULT_TOKEN);
    stores.secrets.set('vault team/revoked', { api_key: SECOND });
    await eventually('the new secret is used', async () => (await sent(slug)) === `Bearer ${SECOND}`);
    expect(stores.state.signIns).toBeGreaterThan(before);
  });
});

describe('while the store is away', () => {
  test('the last value goes on being used, /health says so, and all is well afterwards', async () => {
    stores.secrets.set('vault team/away', { api_key: FIRST });
    const slug = await made('vault:team/away#api_key');
    expect(await sent(slug)).toBe(`Bearer ${FIRST}`);
    stores.state.isAway = true;
    const degraded = async () => JSON.stringify((await gateway.api.get('/health')).json).includes('"secrets"');
    await eventually('the outage shows', async () => (await sent(slug)) === `Bearer ${FIRST}` && degraded());
    stores.state.isAway = false;
    stores.secrets.set('vault team/away', { api_key: SECOND });
    await eventually('the new secret is used', async () => (await sent(slug)) === `Bearer ${SECOND}`);
    await eventually('all is well', async () => !(await degraded()));
  });

  test('up to the age that the operator has set, and then the error says why', async () => {
    stores.secrets.set('vault team/short', { api_key: FIRST });
    const slug = await made('short:team/short#api_key');
    stores.state.isAway = true;
    await eventually('it is too old', async () => (await sent(slug)).startsWith('secret_unavailable'));
    const reply = await ask(slug);
    expect(reply.status).toBe(503);
    expect(reply.json.error.message).toContain(
      'the secret store "short", and the gateway cannot use it: it answered 503',
    );
    expect(reply.text).not.toContain(FIRST);
    stores.state.isAway = false;
    await eventually('it comes back', async () => (await sent(slug)) === `Bearer ${FIRST}`);
  });

  test('a config goes on with its next target', async () => {
    stores.secrets.set('vault team/fallback', { api_key: FIRST });
    const slug = await made('short:team/fallback#api_key');
    stores.state.isAway = true;
    await eventually('it is too old', async () => (await sent(slug)).startsWith('secret_unavailable'));
    const config = { strategy: { mode: 'fallback' }, targets: [{ virtual_key: slug }, { virtual_key: 'sim' }] };
    const reply = await gateway.api.get('/v1/echo', { headers: { 'x-gateway-config': JSON.stringify(config) } });
    expect([reply.status, reply.json.headers?.authorization]).toEqual([200, 'Bearer sk-test-credential']);
  });

  test('a secret that was deleted there is used no more', async () => {
    stores.secrets.set('vault team/deleted', { api_key: FIRST });
    const slug = await made('vault:team/deleted#api_key');
    stores.secrets.delete('vault team/deleted');
    await eventually('it is gone', async () => (await sent(slug)).includes('it has no such secret'));
  });
});

describe('who may refer to what', () => {
  const refused = async (reply: ReturnType<typeof make>) => {
    const { status, json } = await reply;
    return `${status} ${json.error?.param}: ${json.error?.message}`;
  };

  test('a workspace reads what the operator lists for it, and for all', async () => {
    const { id, slug: team } = await gateway.given.workspace({ name: 'Team B', slug: 'team-b' });
    const { key } = await gateway.given.apiKey({
      ...{
        name: 'admin of b',
        workspace_id: id,
        scopes: ['virtual_keys.create', 'virtual_keys.update', 'completions.write'],
      },
    });
    const asTeam = (secret: string) =>
      gateway.api.post(
        '/v1/virtual-keys',
        { name: 'b', provider: 'openai', key: { secret }, custom_host: gateway.provider.url },
        { key },
      );
    stores.secrets.set('vault team-a/openai', { api_key: FIRST });
    stores.secrets.set('vault shared/openai', { api_key: FIRST });
    const own = await refused(asTeam('vault:team-a/openai#api_key'));
    expect(own).toContain(`400 key.secret: `);
    expect(own).toContain(`does not let workspace ${team} read "team-a/openai"`);
    // Not what lies elsewhere under a name that only begins so.
    for (const path of [
      'sharedx/openai',
      'shared',
      'shared/../team-a/openai',
      'shared//openai',
      'shared/%2e%2e/team-a',
      'shared/./x',
    ])
      expect((await asTeam(`vault:${path}#api_key`)).status).toBe(400);
    expect((await asTeam('vault:shared/openai#api_key')).status).toBe(200);
    expect(stores.count('team-a/openai')).toBe(0);
  });

  test('a workspace that is lent a credential gets the secret only where the operator lists it for that workspace', async () => {
    stores.secrets.set('vault lent/own', { api_key: FIRST });
    stores.secrets.set('vault shared/lent', { api_key: SECOND });
    const { id } = await gateway.given.workspace({ name: 'Borrowing' });
    const { key } = await gateway.given.apiKey({ workspace_id: id });
    const lent = async (secret: string) => {
      const slug = await made(secret);
      const opened = await gateway.api.put(`/v1/integrations/${slug}/workspaces`, {
        workspaces: [{ id, enabled: true }],
      });
      expect(opened.status).toBe(200);
      const { json } = await gateway.api.get('/v1/echo', { key, headers: { 'x-gateway-virtual-key': slug } });
      return json.headers?.authorization ?? json.error?.code;
    };
    expect(await lent('vault:shared/lent#api_key')).toBe(`Bearer ${SECOND}`);
    expect(await lent('vault:lent/own#api_key')).toBe('secret_unavailable');
  });

  test('a secret goes to hosts that the operator lists, and to no other', async () => {
    stores.secrets.set('vault team/host', { api_key: FIRST });
    expect(await refused(make('strict:team/host#api_key'))).toContain("go to the provider's own hosts");
    expect(await refused(make('strict:team/host#api_key', { custom_host: undefined }))).toBe(
      '200 undefined: undefined',
    );
    const foundry = {
      provider: 'azure-ai',
      custom_host: undefined,
      configurations: { azure_foundry_url: gateway.provider.url },
    };
    expect(await refused(make('strict:team/host#api_key', foundry))).toContain("go to the provider's own hosts");
    // A bucket is reached with the same credential.
    const bucket = {
      provider: 'vertex-ai',
      custom_host: undefined,
      configurations: {
        ...{ vertex_region: 'europe-west4', vertex_project_id: 'acme' },
        batch_storage: { uri: 'gs://bucket/folder', endpoint: gateway.provider.origin },
      },
    };
    expect(await refused(make('strict:team/host#api_key', bucket))).toContain("go to the provider's own hosts");
    const slug = await made('strict:team/host#api_key', { custom_host: undefined, slug: 'stays' });
    const moved = await gateway.api.put(`/v1/virtual-keys/${slug}`, {
      ...{ key: { secret: 'strict:team/host#api_key' }, custom_host: gateway.provider.url },
    });
    expect([moved.status, moved.json.error.param]).toEqual([400, 'key.secret']);
  });

  test('what cannot be read is refused when it is saved, with the field and the right form', async () => {
    stores.secrets.set('vault team/form', { api_key: FIRST, empty: '', odd: 'sk-ü' });
    for (const [secret, says] of [
      ['nonsense', 'give store:path or store:path#field'],
      ['VAULT:team/form#api_key', 'give store:path'],
      ['vault:team/form#', 'give store:path'],
      [`vault:${'x'.repeat(500)}#api_key`, 'give store:path'],
      ['elsewhere:team/form#api_key', 'there is no secret store "elsewhere"; known are vault, approle'],
      ['azure:team/form', 'is no secret of Key Vault'],
      ['google:team/form', 'is no secret of Google'],
    ] as const)
      expect(await refused(make(secret))).toMatch(new RegExp(`^400 key\\.secret: .*${says.replace(/[".]/g, '.')}`));
    for (const [secret, says] of [
      ['vault:team/missing#api_key', 'it has no such secret'],
      ['vault:team/form', 'write #field'],
      ['vault:team/form#nothing', 'no member "nothing"'],
      ['vault:team/form#empty', 'the secret is empty'],
      ['vault:team/form#odd', 'one that no credential has'],
    ] as const) {
      const { status, json } = await make(secret);
      expect([status, json.error.code, json.error.param]).toEqual([400, 'invalid_request', 'key.secret']);
      expect(json.error.message).toContain(says);
    }
    const misplaced = await make('vault:team/form#api_key', {
      configurations: { openai_project: { secret: 'vault:team/form#api_key' } },
    });
    expect([misplaced.status, misplaced.json.error.param]).toEqual([400, 'configurations.openai_project']);
    expect((await make('x', { key: { secret: 1 } })).status).toBe(400);
    expect((await make('x', { key: { secret: 'vault:team/form#api_key', more: 1 } })).status).toBe(400);
    expect((await make('x', { key: { env: 'HOME' } })).status).toBe(400);
  });

  test('no header and no inline config holds a reference, and no caller reaches the store', async () => {
    stores.secrets.set('vault team/inline', { api_key: FIRST });
    const config = {
      provider: 'openai',
      api_key: { secret: 'vault:team/inline#api_key' },
      custom_host: gateway.provider.url,
    };
    const inline = await gateway.api.get('/v1/echo', { headers: { 'x-gateway-config': JSON.stringify(config) } });
    expect(inline.status).toBe(400);
    const header = await gateway.api.get('/v1/echo', {
      headers: {
        ...{ 'x-gateway-provider': 'openai', 'x-gateway-custom-host': gateway.provider.url },
        authorization: 'Bearer vault:team/inline#api_key',
      },
    });
    expect(header.json.headers.authorization).toBe('Bearer vault:team/inline#api_key');
    expect(stores.count('team/inline')).toBe(0);
  });
});

test('a secret is in no answer, log, audit record or export, and a reference is', async () => {
  stores.secrets.set('vault team/quiet', { api_key: FIRST });
  const slug = await made('vault:team/quiet#api_key', { slug: 'quiet' });
  const shown = await gateway.api.get(`/v1/virtual-keys/${slug}`);
  expect(shown.json.masked_key).toBe('vault:team/quiet#api_key');
  const reply = await gateway.api.post(
    '/v1/chat/completions',
    { model: 'sim', messages: [{ role: 'user', content: 'Hello' }] },
    { headers: { 'x-gateway-virtual-key': slug } },
  );
  const entry = JSON.stringify(await gateway.logOf(reply));
  const audit = (await gateway.api.get('/v1/audit-logs?page_size=200')).text;
  for (const text of [shown.text, entry, audit]) expect(text).not.toContain(FIRST);
});

test('a private store is reached by the operator alone: no virtual key and no header leads there', async () => {
  const address = `${store()}/vault`;
  const key = await gateway.api.post('/v1/virtual-keys', {
    name: 'x',
    provider: 'openai',
    key: 'sk',
    custom_host: address,
  });
  expect([key.status, key.json.error.code]).toEqual([400, 'egress_refused']);
  const header = await gateway.api.get('/v1/echo', {
    headers: { 'x-gateway-provider': 'openai', 'x-gateway-custom-host': address, authorization: 'Bearer sk-x' },
  });
  expect([header.status, header.json.error.code]).toEqual([400, 'egress_refused']);
});

test('while a store is away nothing is saved that refers to it, and a retry may help', async () => {
  stores.state.isAway = true;
  const reply = await make('vault:team/never-asked#api_key');
  expect([reply.status, reply.json.error.code]).toEqual([503, 'secret_unavailable']);
});

test('the gateway signs in as the machine it runs on, and believes a store for which the authorities of its ca_file vouch', async () => {
  const metadata = startMetadata();
  const tls = startTlsFront(stores.origin);
  writeFileSync(join(folder, 'ca.pem'), tls.authority);
  const workspaces = { '*': ['*'] };
  const secure = { type: 'vault', url: `${tls.url.replace('127.0.0.1', 'localhost')}/vault`, workspaces, hosts: HOSTS };
  const token = { method: 'token', token: VAULT_TOKEN };
  const by = (identity: string) => ({ workspaces, hosts: HOSTS, auth: { method: 'machine', identity } });
  const signed = await startGateway({
    environment: {
      GATEWAY_MACHINE_IDENTITIES: JSON.stringify([
        { name: 'role', source: 'aws-instance', url: `${metadata.origin}/aws`, workspaces: [] },
        { name: 'account', source: 'google-instance', url: `${metadata.origin}/google`, workspaces: [] },
        { name: 'managed', source: 'azure-instance', url: `${metadata.origin}/azure`, workspaces: [] },
      ]),
      GATEWAY_SECRET_STORES: JSON.stringify([
        { ...by('role'), name: 'aws', type: 'aws', url: `${store()}/aws`, region: 'eu-west-1' },
        { ...by('account'), name: 'google', type: 'google', url: `${store()}/google`, project: 'project-1' },
        { ...by('managed'), name: 'azure', type: 'azure', url: `${store()}/azure` },
        { ...secure, name: 'believed', ca_file: join(folder, 'ca.pem'), auth: token },
        { ...secure, name: 'doubted', auth: token },
      ]),
    },
  });
  try {
    for (const name of ['aws machine', 'google machine', 'azure machine', 'vault machine'])
      stores.secrets.set(name, name.startsWith('vault') ? { key: FIRST } : FIRST);
    for (const secret of ['aws:machine', 'google:machine', 'azure:machine', 'believed:machine#key']) {
      const { slug } = await signed.given.virtualKey({ key: { secret } });
      const reply = await signed.api.get('/v1/echo', { headers: { 'x-gateway-virtual-key': slug } });
      expect([secret, reply.json.headers?.authorization ?? reply.text]).toEqual([secret, `Bearer ${FIRST}`]);
    }
    const doubted = await signed.api.post('/v1/virtual-keys', {
      ...{ name: 'x', provider: 'openai', key: { secret: 'doubted:machine#key' }, custom_host: signed.provider.url },
    });
    expect([doubted.status, doubted.json.error.message]).toEqual([
      503,
      expect.stringContaining('it cannot be reached'),
    ]);
    // An identity that stores are signed in to by is lent to no virtual key.
    const lent = await signed.api.post('/v1/virtual-keys', {
      ...{ name: 'x', provider: 'bedrock', configurations: { aws_region: 'eu-west-1', machine_identity: 'role' } },
    });
    expect([lent.status, lent.json.error.param]).toEqual([400, 'configurations.machine_identity']);
  } finally {
    await signed.stop();
    tls.stop();
    metadata.stop();
  }
});
