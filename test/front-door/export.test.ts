import { afterAll, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { startGateway } from '../gateway.ts';
import { givenUser } from '../people.ts';
import { forTests, runGateway } from '../process.ts';
import { startSecretStores, VAULT_TOKEN } from '../secret-stores.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-export-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const SECRETS = [
  'sk-of-a-provider-1',
  'aws-secret-of-tests',
  'sk-inside-a-config',
  'token-of-a-hook',
  'gsk-in-a-store',
];

for (const engine of ['sqlite', 'postgres'] as const)
  test(`what is in ${engine} is written as a file that finds nothing to change, and makes the same elsewhere`, async () => {
    const dataDir = join(folder, engine);
    mkdirSync(dataDir);
    const stores = startSecretStores();
    stores.secrets.set('vault llm/groq', { api_key: SECRETS[4]! });
    const GATEWAY_SECRET_STORES = JSON.stringify([
      {
        ...{ name: 'vault', type: 'vault', url: `${stores.origin}/vault`, workspaces: { default: ['llm/*'] } },
        auth: { method: 'token', token: VAULT_TOKEN },
      },
    ]);
    const gateway = await startGateway({ engine, dataDir, environment: { GATEWAY_SECRET_STORES } });
    const { api, given } = gateway;
    const ok = async (path: string, body: unknown, method: 'post' | 'put' = 'post') => {
      const reply = await api[method](path, body);
      expect([path, reply.status, reply.text]).toEqual([path, 200, expect.any(String)]);
      return reply.json;
    };
    await ok('/v1/admin/organisation', { forbidden: ['custom_host'] }, 'put');
    const rate_limits = [{ type: 'requests', unit: 'rpm', value: 600 }];
    const place = await given.workspace({ name: 'Research', slug: 'research', rate_limits, member_keys: { most: 2 } });
    await given.virtualKey({ slug: 'ours', workspace_id: place.id, key: SECRETS[0], note: 'noted' });
    await ok('/v1/virtual-keys', {
      ...{ name: 'bedrock', slug: 'bedrock', provider: 'bedrock' },
      configurations: { aws_region: 'eu-central-1', aws_access_key_id: 'id', aws_secret_access_key: SECRETS[1] },
    });
    const reference = { secret: 'vault:llm/groq#api_key' };
    await ok('/v1/virtual-keys', { name: 'kept', slug: 'kept', provider: 'groq', key: reference });
    const hook = {
      id: 'hook',
      'default.webhook': { webhookURL: 'http://127.0.0.1:9/', headers: { 'x-auth': SECRETS[3] } },
    };
    const config = {
      strategy: { mode: 'fallback' },
      targets: [
        { virtual_key: 'ours' },
        { provider: 'openai', api_key: SECRETS[2], override_params: { max_tokens: 5 } },
      ],
      input_guardrails: [hook],
    };
    await ok('/v1/configs', { name: 'careful', slug: 'careful', workspace_id: place.id, config });
    const usage_limits = { type: 'cost', credit_limit: 50, periodic_reset: 'monthly' };
    const { key } = await given.apiKey({
      ...{ name: 'notebook', workspace_id: place.id, models: ['gpt-*'], usage_limits },
      defaults: { virtual_key: 'ours', metadata: { team: 'search' } },
    });
    const user = await givenUser(gateway);
    await given.apiKey({ name: 'of a user', user_id: user.id });
    const conditions = [{ key: 'metadata.user', value: '*' }];
    const policy = {
      name: 'per user',
      conditions,
      group_by: [{ key: 'metadata.user' }],
      type: 'cost',
      credit_limit: 5,
    };
    await ok('/v1/policies/usage-limits', { ...policy, workspace_id: place.id });
    await gateway.stop();
    stores.stop();

    const environment = {
      ...forTests,
      GATEWAY_SECRET_STORES,
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
      TRUSTED_CUSTOM_HOSTS: '127.0.0.1',
      ...(gateway.databaseUrl && { DATABASE_URL: gateway.databaseUrl }),
    };
    const path = join(folder, `${engine}.yaml`);
    const run = await runGateway({ arguments: ['export', '--out', path], environment });
    expect([run.exitCode, run.errors]).toEqual([0, expect.stringContaining('1 API keys of users')]);
    const text = readFileSync(path, 'utf8');
    for (const secret of [...SECRETS, key]) expect(text).not.toContain(secret);
    expect(statSync(path).mode & 0o077).toBe(0);
    const again = await runGateway({ arguments: ['export', '--out', path], environment });
    expect([again.exitCode, again.errors]).toEqual([1, expect.stringContaining('is there already')]);
    const file = parse(text);
    expect(file.virtual_keys).toContainEqual(expect.objectContaining({ slug: 'kept', key: reference }));
    expect(file.workspaces.map(({ slug }: { slug: string }) => slug)).toEqual(['default', 'research']);

    const variables = {
      RESEARCH_OURS_KEY: SECRETS[0]!,
      BEDROCK_AWS_ACCESS_KEY_ID: 'id',
      BEDROCK_AWS_SECRET_ACCESS_KEY: SECRETS[1]!,
      RESEARCH_CAREFUL_API_KEY: SECRETS[2]!,
      RESEARCH_CAREFUL_X_AUTH: SECRETS[3]!,
      SIM_KEY: 'sk-test-credential',
    };
    for (const name of Object.keys(variables)) expect(run.errors).toContain(name);
    const same = await runGateway({
      arguments: ['apply', path, '--dry-run'],
      environment: { ...environment, ...variables },
    });
    expect(same.output + same.errors).toContain('0 to create, 0 to change, 0 to delete');

    const elsewhere = {
      ...environment,
      ...variables,
      GATEWAY_DATA_DIR: join(folder, `${engine}-other`),
      DATABASE_URL: '',
    };
    const applied = await runGateway({ arguments: ['apply', path, '--yes'], environment: elsewhere });
    expect([applied.exitCode, applied.errors]).toEqual([0, expect.any(String)]);
    const back = await runGateway({ arguments: ['export'], environment: elsewhere });
    expect(parse(back.output)).toEqual(file);
    const unlisted = await runGateway({
      arguments: ['apply', path, '--dry-run'],
      environment: { ...environment, ...variables, GATEWAY_SECRET_STORES: '' },
    });
    expect(unlisted.output + unlisted.errors).toContain('there is no secret store');
  });

test('without a database there is nothing to write, and none is made', async () => {
  const GATEWAY_DATA_DIR = join(folder, 'none');
  const run = await runGateway({ arguments: ['export'], environment: { ...forTests, GATEWAY_DATA_DIR } });
  expect([run.exitCode, run.errors]).toEqual([1, expect.stringContaining('There is no database')]);
  expect(existsSync(GATEWAY_DATA_DIR)).toBe(false);
});

test('a policy that was made by hand is the one that a file of its name means', async () => {
  const dataDir = join(folder, 'by-hand');
  mkdirSync(dataDir);
  const gateway = await startGateway({ dataDir });
  const policy = {
    name: 'only',
    conditions: [{ key: 'model', value: '*' }],
    group_by: [{ key: 'api_key' }],
    type: 'requests',
    unit: 'rpm',
  };
  await gateway.api.post('/v1/policies/rate-limits', { ...policy, value: 10 });
  await gateway.stop();
  const path = join(folder, 'by-hand.yaml');
  writeFileSync(path, JSON.stringify({ version: 1, policies: { rate_limits: [{ ...policy, value: 20 }] } }));
  const environment = {
    ...forTests,
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  };
  const run = await runGateway({ arguments: ['apply', path, '--dry-run'], environment });
  expect(run.output + run.errors).toContain('0 to create, 1 to change');
});
