import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway, startProvider, type TestProvider } from '../gateway.ts';
import { eventually, forTests, newDataDir, removeDataDir, root, runGateway, startProcess } from '../process.ts';

const fixtures = join(root, 'test/fixtures');
const litellm = (file: string) => join(fixtures, 'litellm', file);
const question = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] };

let provider: TestProvider;
let dataDir: string;
beforeAll(() => {
  provider = startProvider();
  dataDir = newDataDir();
});
afterAll(() => {
  provider.stop();
  removeDataDir(dataDir);
});

const environment = () => ({
  ...forTests,
  SIMULATED_BASE: provider.url,
  OPENAI_API_KEY: 'sk-provider-credential',
});
const run = (home: string, args: string[], more: Record<string, string> = {}) =>
  runGateway({ arguments: args, dataDir: home, environment: { ...environment(), ...more } });
const withNewHome = async (work: (home: string) => Promise<void>) => {
  const home = newDataDir();
  try {
    await work(home);
  } finally {
    removeDataDir(home);
  }
};

describe('from LiteLLM', () => {
  const command = ['import', 'litellm', '--config', litellm('config.yaml'), '--keys', litellm('keys.json')];

  test('a client keeps its sk-… key, and running the import again changes nothing', async () => {
    const first = await run(dataDir, command);
    expect(first).toMatchObject({ exitCode: 0, errors: '' });
    expect(first.output).toContain('5 to create, 0 to change');
    expect(first.output).toContain('config.yaml:29: general_settings.master_key is not imported');
    expect(first.output).toContain('fast  →  @openai/gpt-4o-mini');
    const second = await run(dataDir, command);
    expect(second.output).toContain('0 to create, 0 to change, 0 to delete, 5 as they should be.');
    expect(first.output + second.output).not.toMatch(/sk-provider-credential|sk-master-key/);

    const gateway = await startProcess({ dataDir, environment: environment() });
    try {
      const ask = (key: string, body = question) =>
        gateway.api.post('/v1/chat/completions', body, { key: null, headers: { authorization: `Bearer ${key}` } });
      expect((await ask('sk-client-of-litellm-one')).status).toBe(200);
      expect((await ask('sk-client-of-litellm-two', { ...question, model: 'fast' })).json.model).toBe('gpt-4o-mini');
      const listed = async (key: string) =>
        (await gateway.api.get('/v1/models', { key })).json.data.map(({ id }: { id: string }) => id);
      expect(await listed('sk-client-of-litellm-one')).toEqual(['fast', 'gpt-4o']);
      expect(await listed('sk-client-of-litellm-two')).toEqual(['fast']);
      expect((await ask('sk-client-of-litellm-two')).json.error.code).toBe('model_not_allowed');
      expect((await ask('sk-client-of-litellm-blocked')).json.error.code).toBe('expired_api_key');
      expect((await ask('sk-master-key-that-stays-behind')).json.error.code).toBe('invalid_api_key');
      const { json } = await gateway.api.get('/v1/api-keys');
      expect(json.data.find(({ name }: { name: string }) => name === 'search team')).toMatchObject({
        masked_key: 'sk-***-one',
        usage_limits: [{ type: 'cost', credit_limit: 20, periodic_reset: 'monthly' }],
      });

      const refused = await run(dataDir, command);
      expect(refused.exitCode).toBe(1);
      expect(refused.errors).toContain('Stop it for this command, or make the change through its API.');
    } finally {
      await gateway.stop();
    }
  });

  test('of faulty files every fault is listed with its line, and nothing is imported', () =>
    withNewHome(async (home) => {
      const faulty = ['--config', litellm('faulty.yaml'), '--keys', litellm('faulty-keys.jsonl')];
      const { exitCode, errors, output } = await run(home, ['import', 'litellm', ...faulty], {
        TRUSTED_CUSTOM_HOSTS: '',
        OPENAI_API_KEY: '',
      });

      expect(exitCode).toBe(1);
      expect(output).toBe('');
      const places = errors
        .split('\n')
        .flatMap((line) => /^(faulty\S*?):(\d+): /.exec(line)?.slice(1, 3).join(' ') ?? []);
      expect(places).toEqual([
        ...[5, 6, 10, 13, 25, 30].map((line) => `faulty.yaml ${line}`),
        ...[2, 3, 4, 5, 6].map((line) => `faulty-keys.jsonl ${line}`),
      ]);
      expect(errors).toContain('11 faults. Nothing was changed.');
      expect(existsSync(join(home, 'data'))).toBe(false);
    }));

  test('with --skip-faults what is right is imported, and the rest is listed with its lines', () =>
    withNewHome(async (home) => {
      const faulty = ['--config', litellm('faulty.yaml'), '--keys', litellm('faulty-keys.jsonl'), '--skip-faults'];
      const { exitCode, errors, output } = await run(home, ['import', 'litellm', ...faulty], {
        TRUSTED_CUSTOM_HOSTS: '',
        OPENAI_API_KEY: '',
      });

      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
      expect(output).toContain('+ create virtual key default/openai');
      expect(output).toContain('Skipped because of faults:\n  faulty.yaml:5: model_list[0]');
      expect(output).toContain('calls are refused until TRUSTED_CUSTOM_HOSTS names 10.0.0.1');
    }));

  test("a proxy's environment file is for its references, and its database never becomes ours", () =>
    withNewHome(async (home) => {
      await Bun.write(
        join(home, 'litellm.env'),
        'export PROXY_KEY="sk-of-the-proxy" # a comment\nDATABASE_URL=postgres://127.0.0.1:1/litellm\n',
      );
      await Bun.write(
        join(home, 'config.yaml'),
        `environment_variables: { DATABASE_URL: "postgres://127.0.0.1:1/litellm" }
model_list: [{ model_name: a, litellm_params: { model: openai/gpt-4o, api_key: os.environ/PROXY_KEY } }]
general_settings: { database_url: "postgres://127.0.0.1:1/litellm" }
`,
      );
      const command = ['import', 'litellm', '--config', 'config.yaml', '--env-file', 'litellm.env'];
      const { exitCode, errors, output } = await run(home, command);

      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
      expect(output).toContain('+ create virtual key default/proxy');
      expect(output).toContain('general_settings.database_url is never used');
      expect(output).not.toContain('sk-of-the-proxy');
    }));

  test('a dry run shows the same and makes nothing', () =>
    withNewHome(async (home) => {
      const { exitCode, output } = await run(home, [...command, '--dry-run']);

      expect(exitCode).toBe(0);
      expect(output).toContain('+ create API key default/search team');
      expect(existsSync(join(home, 'data'))).toBe(false);
    }));

  test('on PostgreSQL a running gateway learns of it', async () => {
    const gateway = await startGateway({ engine: 'postgres', environment: { OPENAI_API_KEY: '' } });
    try {
      const key = { key: null, headers: { authorization: 'Bearer sk-client-of-litellm-one' } };
      expect((await gateway.api.post('/v1/chat/completions', question, key)).status).toBe(401);
      await withNewHome(async (home) => {
        const { exitCode, errors } = await run(home, command, {
          DATABASE_URL: gateway.databaseUrl!,
          GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
          SIMULATED_BASE: gateway.provider.url,
        });
        expect(errors).toBe('');
        expect(exitCode).toBe(0);
      });
      const call = () => gateway.api.post('/v1/chat/completions', question, key);
      await eventually('the key is known', async () => (await call()).status === 200);
    } finally {
      await gateway.stop();
    }
  });
});

test('from Portkey come virtual keys and configs, under their slugs', () =>
  withNewHome(async (home) => {
    const secrets = {
      PORTKEY_OPENAI: 'sk-o',
      PORTKEY_AWS_ID: 'AKIAIOSFODNN7EXAMPLE',
      PORTKEY_AWS_SECRET: 'aws-secret',
    };
    const command = ['import', 'portkey', '--file', join(fixtures, 'portkey/export.json')];

    const first = await run(home, command, secrets);
    expect(first).toMatchObject({ exitCode: 0, errors: '' });
    for (const what of [
      'virtual key default/openai-prod-3f9a',
      'config default/pc-fallb-1a2b3c',
      'config default/as-text',
    ])
      expect(first.output).toContain(`+ create ${what}`);
    expect((await run(home, command, secrets)).output).toContain('0 to create, 0 to change, 0 to delete, 4 as they');
  }));

describe('gateway apply', () => {
  const file = join(fixtures, 'apply/gateway.yaml');
  const secrets = {
    APPLY_PROVIDER_KEY: 'sk-provider-credential',
    APPLY_AWS_ID: 'AKIAIOSFODNN7EXAMPLE',
    APPLY_AWS_SECRET: 'aws-secret',
    APPLY_NOTEBOOK_KEY: 'gw-notebook-key-for-tests',
  };

  test('shows the difference, asks, carries it out, finds none the second time, and prunes when told', () =>
    withNewHome(async (home) => {
      const unasked = await run(home, ['apply', file], secrets);
      expect(unasked).toMatchObject({ exitCode: 1 });
      expect(unasked.errors).toContain('without a terminal to ask on, say --yes');
      const first = await run(home, ['apply', file, '--yes'], secrets);
      expect(first).toMatchObject({ exitCode: 0, errors: '', output: `${unasked.output}Done.\n` });
      expect(first.output).toContain('7 to create, 0 to change, 0 to delete, 0 as they should be.');
      const second = await run(home, ['apply', file], secrets);
      expect(second).toMatchObject({
        exitCode: 0,
        output: '0 to create, 0 to change, 0 to delete, 7 as they should be.\n',
      });

      const changed = await run(home, ['apply', file, '--dry-run'], { ...secrets, APPLY_PROVIDER_KEY: 'sk-new' });
      expect(changed.output).toContain('~ change virtual key research/simulated\n      key: changed\n');
      expect(changed.output).not.toContain('sk-new');

      await Bun.write(join(home, 'less.yaml'), 'version: 1\nname: fixture\n');
      const kept = await run(home, ['apply', 'less.yaml', '--yes']);
      expect(kept.output).toContain('workspace research is no longer in the file and stays; --prune deletes it');
      const pruned = await run(home, ['apply', 'less.yaml', '--prune', '--yes']);
      expect(pruned.output).toContain('0 to create, 0 to change, 7 to delete');
      expect((await run(home, ['apply', 'less.yaml', '--prune'])).output).toStartWith('0 to create, 0 to change, 0 to');
    }));

  test('the key it names works, with the secret that was given to it', () =>
    withNewHome(async (home) => {
      const yaml = `version: 1
virtual_keys:
  - { slug: sim, provider: openai, custom_host: "${provider.url}", key: { env: APPLY_PROVIDER_KEY } }
api_keys:
  - { name: client, key: { env: APPLY_NOTEBOOK_KEY }, defaults: { virtual_key: sim } }
`;
      await Bun.write(join(home, 'gateway.yaml'), yaml);
      expect((await run(home, ['apply', 'gateway.yaml', '--yes'], secrets)).exitCode).toBe(0);
      const gateway = await startProcess({ dataDir: home, environment: environment() });
      try {
        const reply = await gateway.api.post('/v1/chat/completions', question, { key: secrets.APPLY_NOTEBOOK_KEY });
        expect(reply.status).toBe(200);
        const { id } = (await gateway.api.get('/v1/admin/organisation')).json;
        const times = 'start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z';
        const { text, json } = await gateway.api.get(`/v1/audit-logs?${times}&organisation_id=${id}`);
        const made = json.records.filter(({ uri }: { uri: string }) => uri.startsWith('cli:apply/'));
        expect(made.map((each: Record<string, string>) => `${each.action} ${each.resource_type}`).sort()).toEqual([
          'create api_keys',
          'create virtual_keys',
        ]);
        for (const secret of Object.values(secrets)) expect(text).not.toContain(secret);
      } finally {
        await gateway.stop();
      }
    }));

  test('of a faulty file every fault is listed, and nothing is changed', () =>
    withNewHome(async (home) => {
      const { exitCode, errors, output } = await run(
        home,
        ['apply', join(fixtures, 'apply/faulty.yaml'), '--yes'],
        secrets,
      );

      expect(exitCode).toBe(1);
      expect(output).toBe('');
      expect(errors).toContain('faulty.yaml:9: virtual_keys[0].key: give {env: NAME} or {file: path}');
      expect(errors).not.toMatch(/sk-a-secret|sk-another/);
      expect(existsSync(join(home, 'data'))).toBe(false);
    }));
});

test('a command line that is not understood is a sentence and exit code 2', () =>
  withNewHome(async (home) => {
    const lines: [string[], string][] = [
      [['apply'], 'a file is missing'],
      [['apply', 'a.yaml', 'b.yaml'], '"b.yaml" is one too many'],
      [['apply', 'a.yaml', '--force'], '--force'],
      [['import'], 'say where from'],
      [['import', 'nginx'], '"nginx" cannot be imported from'],
      [['import', 'litellm'], '--config is missing'],
      [['import', 'portkey', '--fil', 'x'], '--fil'],
    ];
    for (const [args, says] of lines) {
      const { exitCode, errors } = await run(home, args);
      expect(errors).toContain(says);
      expect(exitCode).toBe(2);
    }
  }));
