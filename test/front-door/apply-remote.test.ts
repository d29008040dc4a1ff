import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCOPES } from '../../src/core/scopes.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { givenBrowser } from '../people.ts';
import { eventually, newDataDir, removeDataDir, runGateway, startProcess } from '../process.ts';

/** `gateway apply --url`, as an operator types it, and the routes behind it. */

const folder = mkdtempSync(join(tmpdir(), 'gateway-apply-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROVIDER_SECRET = 'provider-credential-of-tests';
const APP_KEY = 'gw-remote-app-key-for-tests';
const fileFor = (host: string, more = '') => `version: 1
name: remote
workspaces:
  - { slug: research, name: Research, rate_limits: [{ type: requests, unit: rpm, value: 600 }] }
virtual_keys:
  - { slug: simulated, workspace: research, provider: openai, custom_host: ${host}, key: { env: PROVIDER_SECRET } }
configs:
  - slug: careful
    workspace: research
    config: { virtual_key: simulated }
api_keys:
  - { name: app, workspace: research, key: { env: APP_KEY }, defaults: { virtual_key: simulated } }
${more}`;
const POLICY = `policies:
  usage_limits:
    - { name: per user, workspace: research, conditions: [{ key: metadata.user, value: "*" }], group_by: [{ key: metadata.user }], type: cost, credit_limit: 5 }
`;

let count = 0;
function written(text: string): string {
  const path = join(folder, `${count++}.yaml`);
  writeFileSync(path, text);
  return path;
}
const run = (
  url: string,
  file: string,
  more: string[] = [],
  key: Record<string, string> = { GATEWAY_ADMIN_KEY: ADMIN_KEY },
) =>
  runGateway({
    arguments: ['apply', file, '--url', url, ...more],
    environment: { ...key, PROVIDER_SECRET, APP_KEY },
  });
const called = (url: string, key: string) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'any', messages: [{ role: 'user', content: 'Hello' }] }),
  });

type Row = Readonly<Record<'uri' | 'user_id' | 'user_type' | 'resource_type', string>>;

async function recordsOf({ api }: TestGateway) {
  const organisation = (await api.get('/v1/admin/organisation')).json.id;
  const search = new URLSearchParams({
    organisation_id: organisation,
    start_time: new Date(Date.now() - 3_600_000).toISOString(),
    end_time: new Date(Date.now() + 3_600_000).toISOString(),
    page_size: '100',
  });
  return api.get(`/v1/audit-logs?${search}`);
}

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    test('shows the difference, carries it out while the gateway serves, and finds drift and what to delete', async () => {
      const { url, api, provider } = gateway;
      const whole = written(fileFor(provider.url, POLICY));
      const looked = await run(url, whole, ['--dry-run']);
      expect([looked.exitCode, looked.errors]).toEqual([0, '']);
      expect(looked.output.split('\n')).toEqual([
        '  + create workspace research',
        '  + create virtual key research/simulated',
        '  + create config research/careful',
        '  + create API key research/app',
        '  + create usage policy per user',
        '5 to create, 0 to change, 0 to delete, 0 as they should be.',
        '',
      ]);
      expect((await called(url, APP_KEY)).status).toBe(401);
      const unasked = await run(url, whole);
      expect([unasked.exitCode, unasked.errors]).toEqual([1, expect.stringContaining('say --yes')]);

      const applied = await run(url, whole, ['--yes']);
      expect([applied.exitCode, applied.errors]).toEqual([0, '']);
      expect(applied.output).toEndWith('Done.\n');
      expect((await called(url, APP_KEY)).status).toBe(200);
      expect((await run(url, whole, ['--yes'])).output).toBe(
        '0 to create, 0 to change, 0 to delete, 5 as they should be.\n',
      );

      const changed = { name: 'by hand', key: 'another-credential' };
      const drifted = await api.put('/v1/virtual-keys/simulated?workspace_id=research', changed);
      expect(drifted.status).toBe(200);
      const drift = await run(url, whole, ['--dry-run']);
      expect(drift.output).toContain('~ change virtual key research/simulated\n      name: "by hand" → "simulated"\n');
      expect(drift.output).toContain('      key: changed\n');
      expect(drift.output).not.toContain('credential');

      const less = written(fileFor(provider.url));
      const kept = await run(url, less, ['--dry-run']);
      expect(kept.output).toContain('usage policy per user is no longer in the file and stays; --prune deletes it');
      const pruned = await run(url, less, ['--prune', '--yes']);
      expect(pruned.output).toContain('- delete usage policy per user');
      expect((await api.get('/v1/policies/usage-limits')).json.data).toEqual([]);
      expect((await api.get('/v1/virtual-keys/simulated?workspace_id=research')).json.name).toBe('simulated');
      // What others made stays, whatever the file says.
      expect((await api.get('/v1/virtual-keys/sim')).status).toBe(200);
    });

    test('each step has its record under the caller, with the call itself, and none holds a secret', async () => {
      const { api } = gateway;
      let records: { own: Row[]; text: string } = { own: [], text: '' };
      await eventually('the records', async () => {
        const { json, text } = await recordsOf(gateway);
        const own = json.records.filter(({ uri }: Row) => uri === '/v1/admin/apply');
        records = { own, text };
        return own.length >= 8;
      });
      const kinds = new Set(records.own.map(({ resource_type }) => resource_type));
      expect([...kinds].sort()).toEqual([
        ...['api_keys', 'configs', 'desired_state', 'policies', 'virtual_keys', 'workspaces'],
      ]);
      const admin = (await api.get('/v1/api-keys')).json.data[0].id;
      expect(new Set(records.own.map(({ user_id }) => user_id))).toEqual(new Set([admin]));
      for (const secret of [PROVIDER_SECRET, APP_KEY]) expect(records.text).not.toContain(secret);
    });

    test('two at once make everything once, and an agreement holds for what was shown', async () => {
      const { api } = gateway;
      const file = {
        version: 1,
        name: 'twice',
        api_keys: Array.from({ length: 20 }, (_, index) => ({
          name: `twice ${index}`,
          key: { secret_value: `gw-key-of-twice-${engine}-${index}` },
        })),
      };
      const { agreement, steps } = (await api.post('/v1/admin/apply/plan', { file })).json;
      expect(steps).toHaveLength(20);
      const both = await Promise.all([1, 2].map(() => api.post('/v1/admin/apply', { file, agreement })));
      expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
      expect(both.find(({ status }) => status === 400)!.json.error.code).toBe('apply_outdated');
      const again = await Promise.all([1, 2].map(() => api.post('/v1/admin/apply', { file })));
      expect(again.map(({ json }) => [json.steps.length, json.unchanged])).toEqual([
        [0, 20],
        [0, 20],
      ]);
      const keys = (await api.get('/v1/api-keys?page_size=100')).json.data;
      expect(keys.filter(({ name }: { name: string }) => name.startsWith('twice'))).toHaveLength(20);
    });

    test('what is there is written over HTTP as a file that finds nothing to change', async () => {
      const { url } = gateway;
      const out = join(folder, `${engine}-export.yaml`);
      const environment = { GATEWAY_ADMIN_KEY: ADMIN_KEY };
      const wrote = await runGateway({ arguments: ['export', '--url', url, '--out', out], environment });
      expect([wrote.exitCode, wrote.errors]).toEqual([0, expect.stringContaining('RESEARCH_SIMULATED_KEY')]);
      const text = await Bun.file(out).text();
      for (const secret of [PROVIDER_SECRET, APP_KEY, 'sk-test-credential']) expect(text).not.toContain(secret);
      const same = await runGateway({
        arguments: ['apply', out, '--url', url, '--dry-run'],
        environment: { ...environment, RESEARCH_SIMULATED_KEY: PROVIDER_SECRET, SIM_KEY: 'sk-test-credential' },
      });
      expect([same.exitCode, same.output]).toEqual([
        0,
        expect.stringMatching(/^0 to create, 0 to change, 0 to delete/),
      ]);
    });
  });

test('another node on the same PostgreSQL takes the key at once', async () => {
  const first = await startGateway({ engine: 'postgres' });
  const second = await startGateway({ engine: 'postgres', databaseUrl: first.databaseUrl! });
  try {
    const key = 'gw-key-for-another-node';
    const file = {
      version: 1,
      api_keys: [{ name: 'there', key: { secret_value: key }, defaults: { virtual_key: 'sim' } }],
    };
    expect((await called(second.url, key)).status).toBe(401);
    expect((await first.api.post('/v1/admin/apply', { file })).status).toBe(200);
    await eventually('the other node knows it', async () => (await called(second.url, key)).status === 200);
  } finally {
    await second.stop();
    await first.stop();
  }
});

describe('whose key it is', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
    await gateway.given.workspace({ slug: 'theirs', name: 'Theirs' });
    await gateway.given.workspace({ slug: 'others', name: 'Others' });
    await gateway.given.virtualKey({ slug: 'foreign', workspace_id: 'others', note: 'not to be seen' });
  });
  afterAll(() => gateway.stop());
  const withScopes = (scopes: readonly string[], over: object = {}) =>
    gateway.given.apiKey({ scopes, ...over }) as Promise<{ id: string; key: string }>;
  const config = { virtual_key: 'sim' };
  const one = { version: 1, configs: [{ slug: 'one', config }] };

  test('a scope that is missing is named, for reading at once and for changing before anything is done', async () => {
    const { api, url } = gateway;
    const blind = await withScopes(['workspaces.read']);
    const refused = await api.post('/v1/admin/apply/plan', { file: one }, { key: blind.key });
    expect([refused.status, refused.json.error.code]).toEqual([403, 'insufficient_scope']);
    expect(refused.json.error.message).toContain('configs.read');

    const reader = await withScopes(['workspaces.read', 'configs.read']);
    const looked = await api.post('/v1/admin/apply/plan', { file: one }, { key: reader.key });
    expect([looked.status, looked.json.missing_scopes]).toEqual([200, ['configs.create']]);
    const carried = await api.post('/v1/admin/apply', { file: one }, { key: reader.key });
    expect([carried.status, carried.json.error.message]).toEqual([403, expect.stringContaining('configs.create')]);

    const keyFile = written(`${reader.key}\n`);
    const path = written(`version: 1\nconfigs:\n  - { slug: one, config: { virtual_key: sim } }\n`);
    const typed = await run(url, path, ['--yes', '--key-file', keyFile], {});
    expect([typed.exitCode, typed.errors]).toEqual([1, expect.stringContaining('lacks the scope configs.create')]);
    expect((await api.get('/v1/configs/one')).status).toBe(404);
  });

  test('a key of a workspace applies to its own, and learns nothing of others', async () => {
    const { api } = gateway;
    const scopes = SCOPES.filter((scope) => scope !== 'organisation.manage');
    const { key } = await withScopes(scopes, { workspace_id: 'theirs' });
    const post = (path: string, file: object, more = {}) =>
      api.post(`/v1/admin/${path}`, { file: { version: 1, ...file }, ...more }, { key });

    const own = { name: 'team', configs: [{ slug: 'own', workspace: 'theirs', config }] };
    expect((await post('apply', own)).json).toMatchObject({ steps: [{ action: 'create' }], missing_scopes: [] });
    expect((await api.get('/v1/configs/own?workspace_id=theirs')).status).toBe(200);

    const foreign = { slug: 'foreign', workspace: 'others', provider: 'openai', key: { secret_value: 'x' } };
    const looked = await post('apply/plan', { virtual_keys: [foreign] });
    expect(looked.json.faults).toEqual([
      {
        path: ['virtual_keys', 0],
        message: expect.stringContaining('there is no workspace "others" that this key reaches'),
      },
    ]);
    expect(looked.text).not.toContain('not to be seen');
    // Naming the workspace makes it no nearer.
    const named = await post('apply/plan', { workspaces: [{ slug: 'others', name: 'Mine' }], virtual_keys: [foreign] });
    expect(named.json.steps.map(({ action }: { action: string }) => action)).toEqual(['create', 'create']);
    expect(named.json.missing_scopes).toContain('organisation.manage');
    expect(named.text).not.toContain('not to be seen');
    const carried = await post('apply', { workspaces: [{ slug: 'others', name: 'Mine' }], virtual_keys: [foreign] });
    expect([carried.status, carried.json.error.code]).toEqual([403, 'insufficient_scope']);

    // An administrator's file of the same name made something elsewhere: that stays.
    const wide = { version: 1, name: 'team', configs: [{ slug: 'wide', workspace: 'others', config }] };
    expect((await api.post('/v1/admin/apply', { file: wide })).status).toBe(200);
    const pruned = await post('apply', own, { prune: true });
    expect([pruned.status, pruned.json.steps, pruned.json.kept]).toEqual([200, [], []]);
    expect((await api.get('/v1/configs/wide?workspace_id=others')).status).toBe(200);
    expect((await post('export', {})).status).toBeGreaterThanOrEqual(400);
    expect((await api.get('/v1/admin/export', { key })).json.error.code).toBe('insufficient_scope');
  });

  test('a caller hands out no more than it holds, and takes no secret of another key', async () => {
    const { api } = gateway;
    const small = await withScopes(['workspaces.read', 'api_keys.read', 'api_keys.create', 'api_keys.update']);
    const wide = {
      version: 1,
      api_keys: [{ name: 'w', key: { secret_value: 'gw-a-key-that-is-wide' }, scopes: ['users.create'] }],
    };
    const refused = await api.post('/v1/admin/apply', { file: wide }, { key: small.key });
    expect([refused.status, refused.json.error.code]).toEqual([403, 'scope_not_grantable']);

    const { key } = await withScopes(
      SCOPES.filter((scope) => scope !== 'organisation.manage'),
      { workspace_id: 'theirs' },
    );
    const stolen = { version: 1, api_keys: [{ name: 's', workspace: 'theirs', key: { secret_value: small.key } }] };
    const taken = await api.post('/v1/admin/apply', { file: stolen }, { key });
    expect([taken.status, taken.json.error.code]).toEqual([400, 'apply_refused']);
    expect(taken.json.error.message).toContain('its secret is that of another key already');
    expect(taken.text).not.toContain(small.id);
  });

  test('a host is looked up for a caller who could store it, and for no other', async () => {
    const virtual_keys = [{ slug: 'probe', provider: 'openai', custom_host: 'https://localhost:1' }];
    const faultsFor = async (scopes: string[]) => {
      const { key } = await gateway.given.apiKey({ scopes });
      return (await gateway.api.post('/v1/admin/apply/plan', { file: { version: 1, virtual_keys } }, { key })).json
        .faults.length;
    };
    const reads = ['workspaces.read', 'virtual_keys.read'];
    expect(await faultsFor(reads)).toBe(0);
    expect(await faultsFor([...reads, 'virtual_keys.create'])).toBe(1);
  });

  test('a secret with which a key was made that has another one now is refused, and is no failure of the gateway', async () => {
    const api_keys = [{ name: 'rotated twice', key: { secret_value: 'gw-first-secret-of-a-rotated-key' } }];
    const apply = (name: string) => gateway.api.post('/v1/admin/apply', { file: { version: 1, name, api_keys } });
    expect((await apply('one')).status).toBe(200);
    const listed = (await gateway.api.get('/v1/api-keys?page_size=100')).json.data as { id: string; name: string }[];
    const { id } = listed.find(({ name }) => name === 'rotated twice')!;
    for (let time = 0; time < 2; time++)
      expect((await gateway.api.post(`/v1/api-keys/${id}/rotate`, { key_transition_period_ms: 0 })).status).toBe(200);
    const again = await apply('two');
    expect([again.status, again.json.error.code]).toEqual([400, 'apply_refused']);
    expect(again.json.error.message).toContain('give a new secret');
  });

  test('a person who signed in applies with what their role allows', async () => {
    const admin = await givenBrowser(gateway, { role: 'admin' });
    const member = await givenBrowser(gateway, { role: 'member' });
    const file = { version: 1, name: 'person', configs: [{ slug: 'by-hand', config }] };
    expect((await admin.browser.call('POST', '/v1/admin/apply', { file })).status).toBe(200);
    const other = { version: 1, name: 'person', configs: [{ slug: 'by-hand', name: 'Mine', config }] };
    expect((await member.browser.call('POST', '/v1/admin/apply', { file: other })).status).toBe(403);
    let records: Row[] = [];
    await eventually('the record', async () => {
      const all: Row[] = (await recordsOf(gateway)).json.records;
      records = all.filter(({ user_id }) => user_id === admin.user.id);
      return records.some(({ resource_type }) => resource_type === 'configs');
    });
    expect(new Set(records.map(({ user_type }) => user_type))).toEqual(new Set(['user']));
  });
});

describe('what is sent', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ environment: { HIDDEN_VARIABLE: 'secret-of-the-gateway' } });
  });
  afterAll(() => gateway.stop());

  test('the gateway follows no reference for a caller, neither into its environment nor to its files', async () => {
    const { api, dataDir } = gateway;
    for (const key of [{ env: 'HIDDEN_VARIABLE' }, { file: join(dataDir, 'admin-key') }, { file: '/etc/passwd' }]) {
      const file = { version: 1, virtual_keys: [{ slug: 'v', provider: 'openai', key, configurations: {} }] };
      const looked = await api.post('/v1/admin/apply/plan', { file });
      expect(looked.json.faults).toEqual([
        { path: ['virtual_keys', 0, 'key'], message: expect.stringContaining('reads none for callers') },
      ]);
      const refused = await api.post('/v1/admin/apply', { file });
      expect([refused.status, refused.json.error.code]).toEqual([400, 'apply_refused']);
      expect(refused.text + looked.text).not.toContain('secret-of-the-gateway');
    }
  });

  test('a reference to a secret store is held to what the operator lists, as when the key is saved', async () => {
    const { api } = gateway;
    const file = { version: 1, virtual_keys: [{ slug: 'v', provider: 'openai', key: { secret: 'vault:a/b' } }] };
    const { faults } = (await api.post('/v1/admin/apply/plan', { file })).json;
    expect(faults).toEqual([{ path: ['virtual_keys', 0], message: expect.stringContaining('no secret store') }]);
  });

  test('nonsense is refused by its place, and never a failure of the gateway', async () => {
    const { api } = gateway;
    const files: unknown[] = [
      ...[{}, { version: 2 }, { version: 1, workspaces: 'x' }, { version: 1, workspaces: [null, 7, []] }],
      ...[
        { version: 1, surprise: 1 },
        { version: 1, virtual_keys: [{ slug: 'a', provider: 'nobody' }] },
      ],
      { version: 1, virtual_keys: [{ slug: 'a', provider: 'openai', key: 'sk-written-out' }] },
      { version: 1, configs: [{ slug: 'a', config: { targets: 'x' } }] },
      { version: 1, api_keys: [{ name: 'a', key: { secret_value: 'short' } }] },
      {
        version: 1,
        api_keys: [
          { name: 'a', key: { secret_value: 'gw-the-same-secret-twice' } },
          { name: 'b', key: { secret_value: 'gw-the-same-secret-twice' } },
        ],
      },
      { version: 1, policies: [] },
      { version: 1, policies: { rate_limits: [{ name: 'x' }] } },
      { version: 1, organisation: { forbidden: ['everything'] } },
      {
        version: 1,
        configs: Array.from({ length: 2_001 }, (_, at) => ({
          slug: `c-${at}`,
          config: { virtual_key: 'sim' },
        })),
      },
    ];
    for (const file of files) {
      const looked = await api.post('/v1/admin/apply/plan', { file });
      expect([file, looked.status]).toEqual([file, 200]);
      expect(looked.json.faults.length).toBeGreaterThan(0);
      expect(looked.json.agreement).toBeNull();
      expect(looked.text).not.toMatch(/sk-written-out|gw-the-same/);
      const refused = await api.post('/v1/admin/apply', { file });
      expect([refused.status, refused.json.error.code]).toEqual([400, 'apply_refused']);
    }
    for (const body of [
      {},
      { file: [] },
      { file: null },
      { file: { version: 1 }, prune: 'yes' },
      { file: { version: 1 }, dry_run: true },
      { file: { version: 1 }, agreement: 'no' },
    ]) {
      const refused = await api.post('/v1/admin/apply', body);
      expect([body, refused.status]).toEqual([body, 400]);
    }
  });

  test('a fault that only the gateway knows has its line in the file of the one who typed the command', async () => {
    const path = written(
      `version: 1\nvirtual_keys:\n  - slug: inside\n    provider: openai\n    custom_host: http://10.1.2.3/v1\n`,
    );
    const { exitCode, errors } = await run(gateway.url, path, ['--yes']);
    expect([exitCode, errors]).toEqual([1, expect.stringMatching(/^\d+\.yaml:3: virtual key inside: /)]);
    expect(errors).toContain('1 fault. Nothing was changed.');
  });

  test('nothing goes in clear to another machine, to a redirect, or with a key that is not one', async () => {
    const path = written('version: 1\n');
    const clear = await run('http://gateway.example.com', path, ['--yes']);
    expect([clear.exitCode, clear.errors]).toEqual([1, expect.stringContaining('in clear')]);
    let reached = 0;
    const elsewhere = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => {
        reached++;
        return Response.json({});
      },
    });
    const redirecting = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => Response.redirect(`http://127.0.0.1:${elsewhere.port}/`, 307),
    });
    const redirected = await run(`http://127.0.0.1:${redirecting.port}`, path, ['--yes']);
    await Promise.all([elsewhere.stop(true), redirecting.stop(true)]);
    expect([redirected.exitCode, reached]).toEqual([1, 0]);
    const missing = await run(gateway.url, path, ['--key-file', join(folder, 'nowhere')], {});
    expect([missing.exitCode, missing.errors]).toEqual([1, expect.stringContaining('cannot be read (ENOENT)')]);
    const empty = await run(gateway.url, path, ['--key-file', written('\n')], {});
    expect([empty.exitCode, empty.errors]).toEqual([1, expect.stringContaining('does not hold a key')]);
    const alone = await runGateway({ arguments: ['apply', path, '--key-file', path] });
    expect([alone.exitCode, alone.errors]).toEqual([2, expect.stringContaining('--key-file stands beside --url')]);
    const wrong = await run(gateway.url, path, [], { GATEWAY_ADMIN_KEY: 'gw-a-key-that-nobody-knows' });
    expect([wrong.exitCode, wrong.errors]).toEqual([1, expect.stringContaining('does not know the key')]);
  });
});

test('a gateway that is killed in the middle has all of it or nothing, and the next run makes it whole', async () => {
  const dataDir = newDataDir();
  const file = {
    version: 1,
    api_keys: Array.from({ length: 300 }, (_, at) => ({
      name: `k ${at}`,
      key: { secret_value: `gw-key-before-a-kill-${at}` },
    })),
  };
  const numberOf = async (api: TestGateway['api']) => (await api.post('/v1/admin/apply/plan', { file })).json.unchanged;
  try {
    for (const afterMs of [5, 30, 80, 150]) {
      const gateway = await startProcess({ dataDir });
      const before = await numberOf(gateway.api);
      expect([0, 300]).toContain(before);
      const answered = gateway.api.post('/v1/admin/apply', { file }).catch(() => null);
      await Bun.sleep(afterMs);
      await gateway.kill();
      await answered;
    }
    const gateway = await startProcess({ dataDir });
    expect([0, 300]).toContain(await numberOf(gateway.api));
    expect((await gateway.api.post('/v1/admin/apply', { file })).status).toBe(200);
    expect(await numberOf(gateway.api)).toBe(300);
    await gateway.stop();
  } finally {
    removeDataDir(dataDir);
  }
});
