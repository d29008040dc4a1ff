import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { sha256 } from '../../crypto/seal.ts';
import { createFindings, findingLines } from '../../desired/reading/findings.ts';
import { readDocument, readSource } from '../../desired/reading/source.ts';
import { checkConfig, configSchema } from '../../routing/config.ts';
import { compilePlan } from '../../routing/plan.ts';
import { readKeys } from './keys.ts';
import { modelsOfKey, readTeams } from './model-access.ts';
import { readModels } from './models.ts';
import { sayWhatElse, variablesIn } from './rest.ts';
import { routingOf } from './routing.ts';

const fixtures = join(import.meta.dir, '../../../test/fixtures/litellm');
const environment = {
  SIMULATED_BASE: 'https://api.openai.com/v1',
  OPENAI_API_KEY: 'sk-openai',
  AZURE_EUROPE_API_KEY: 'azure-key',
  ANTHROPIC_API_KEY: 'sk-ant',
  AWS_SECRET: 'aws-secret',
};

function modelsOf(file: string, variables: Record<string, string> = environment) {
  const findings = createFindings();
  const source = readSource(join(fixtures, file), findings)!;
  const all = { ...variables, ...variablesIn(source) };
  const { virtualKeys, models } = readModels(source, findings, {
    environment: all,
    folder: fixtures,
    workspace: 'default',
  });
  sayWhatElse(source, findings);
  return { keys: Object.fromEntries(virtualKeys.map((key) => [key.slug, key])), models, findings };
}

function keysOf(file: string) {
  const findings = createFindings();
  const source = readSource(join(fixtures, file), findings)!;
  const keys = readKeys(source, findings, {
    workspace: 'default',
    config: 'litellm',
    defaultVirtualKey: () => 'openai',
    groups: new Map(),
    teams: new Map(),
  });
  return { keys, findings };
}

describe('models', () => {
  test('those that share a credential and a host share a virtual key', () => {
    const { keys, models, findings } = modelsOf('config.yaml');

    expect(findings.faults).toEqual([]);
    expect(Object.keys(keys)).toEqual(['openai']);
    expect(keys.openai).toMatchObject({ key: 'sk-openai', fields: { provider: 'openai', custom_host: null } });
    expect(models).toMatchObject([
      { name: 'gpt-4o', slug: 'openai', model: 'gpt-4o' },
      { name: 'fast', slug: 'openai', model: 'gpt-4o-mini' },
    ]);
  });

  test('what has no counterpart is listed with its line, the master key among it', () => {
    const lines = findingLines(modelsOf('config.yaml').findings.leftOut);

    expect(lines.map((line) => Number(line.split(':')[1]))).toEqual([8, 21, 29, 30]);
    expect(lines.join('\n')).toContain('general_settings.master_key is not imported');
    expect(lines.join('\n')).toContain('general_settings.database_url is never used');
    expect(lines.join('\n')).not.toContain('sk-master-key');
  });

  test('each way of naming a provider and its credential is understood', () => {
    const { keys, findings } = modelsOf('providers.yaml');

    expect(findings.faults).toEqual([]);
    expect(Object.keys(keys)).toEqual([
      'azure-europe',
      'azure-europe-example-eu-gpt-35',
      'anthropic',
      'bedrock',
      'mistral-team',
      'openai',
      'openai-second-openai',
      'openai-third-openai',
    ]);
    expect(keys['azure-europe']!.fields.configurations).toEqual({ azure_resource_name: 'example-eu' });
    expect(keys['azure-europe-example-eu-gpt-35']!.fields).toMatchObject({
      configurations: { azure_api_version: '2024-02-01', azure_deployment_id: 'gpt-35' },
      rate_limits: [{ type: 'tokens', unit: 'rpm', value: 5000 }],
    });
    expect(keys.anthropic).toMatchObject({ key: 'sk-ant', fields: { provider: 'anthropic' } });
    expect(keys.bedrock).toMatchObject({
      key: null,
      fields: { configurations: { aws_region: 'eu-central-1', aws_secret_access_key: 'aws-secret' } },
    });
    expect(keys['mistral-team']!.key).toBe('mistral-credential');
    expect(keys['openai-second-openai']!.key).toBe('sk-literal-one');
  });

  test("a vendor's key from the environment is not given to somebody else's host", () => {
    const { keys, findings } = modelsOf('providers.yaml');

    expect(keys.openai).toMatchObject({ key: null, fields: { custom_host: 'https://models.example.com/v1' } });
    expect(findingLines(findings.leftOut).join('\n')).toContain('models.example.com gets none');
  });

  test('a provider that is not known here is left out and said', () => {
    expect(findingLines(modelsOf('providers.yaml').findings.leftOut)).toContainEqual(
      'providers.yaml:53: model unknown: provider "watsonx" is not known here',
    );
  });

  test('every fault is listed with its line', () => {
    expect(findingLines(modelsOf('faulty.yaml').findings.faults)).toEqual([
      'faulty.yaml:5: model_list[0].litellm_params.api_key: the environment variable NOT_SET_ANYWHERE is not set',
      'faulty.yaml:6: model_list[1].model_name: give a text',
      'faulty.yaml:10: model_list[2].litellm_params.api_key: is missing, and so is GROQ_API_KEY',
      'faulty.yaml:13: model_list[3].litellm_params.api_base: is missing: the address of the Azure resource',
      'faulty.yaml:25: model_list[5].litellm_params.api_base: is not an address such as https://models.example.com/v1',
      'faulty.yaml:30: model_list[6].litellm_params.rpm.value: give a whole number above 0',
    ]);
  });
});

describe('routing', () => {
  const routingIn = (yaml: string) => {
    const findings = createFindings();
    const source = readDocument('config.yaml', yaml, findings, 'python')!;
    const { models } = readModels(source, findings, { environment, folder: fixtures, workspace: 'default' });
    const wish = routingOf(models, { source, findings, workspace: 'default' });
    return { config: wish?.config as Record<string, unknown> & { targets: unknown[] }, findings };
  };
  const model = (name: string, model: string, more = '') =>
    `  - model_name: "${name}"\n    litellm_params: { model: ${model}, api_key: os.environ/OPENAI_API_KEY${more} }\n`;

  test('clients go on calling models by their names, and names that are not listed are left to the request', () => {
    const { config } = routingIn(
      `model_list:\n${model('gpt-4o', 'openai/gpt-4o')}${model('fast', 'openai/gpt-4o-mini')}`,
    );

    expect(config).toEqual({
      strategy: {
        mode: 'conditional',
        conditions: [
          { query: { 'params.model': { $eq: 'gpt-4o' } }, then: 'gpt-4o' },
          { query: { 'params.model': { $eq: 'fast' } }, then: 'fast' },
        ],
        default: 'any other model',
      },
      targets: [
        { name: 'gpt-4o', virtual_key: 'openai' },
        { name: 'fast', virtual_key: 'openai', override_params: { model: 'gpt-4o-mini' } },
        { name: 'any other model', passthrough: true },
      ],
    });
    expect(() => checkConfig(config, configSchema([]))).not.toThrow();
  });

  test('deployments of one name are balanced by their weights, and fallbacks, retries and the time limit stay', () => {
    const list = `${model('a', 'openai/one', ', weight: 3')}${model('a', 'openai/two', ', weight: 1')}${model('b', 'openai/b')}`;
    const { config, findings } = routingIn(
      `model_list:\n${list}litellm_settings: { num_retries: 2, request_timeout: 30 }\nrouter_settings:\n  fallbacks: [{ b: [a, gone] }]\n`,
    );

    expect(config).toMatchObject({ retry: { attempts: 2 }, request_timeout: 30_000 });
    const balanced = {
      strategy: { mode: 'loadbalance' },
      targets: [
        { virtual_key: 'openai', override_params: { model: 'one' }, weight: 3 },
        { virtual_key: 'openai', override_params: { model: 'two' }, weight: 1 },
      ],
    };
    expect(config.targets.slice(0, 2)).toEqual([
      { name: 'a', ...balanced },
      { name: 'b', strategy: { mode: 'fallback' }, targets: [{ virtual_key: 'openai' }, balanced] },
    ]);
    expect(findingLines(findings.leftOut)).toEqual(['config.yaml:10: the fallback of b: there is no model gone']);
    expect(() => checkConfig(config, configSchema([]))).not.toThrow();
  });

  test('a name with a star finds its models, those with the longest name first and exact names before', () => {
    const list = `${model('*', 'openai/*')}${model('openai/*', 'openai/*')}${model('gpt-*', 'openai/gpt-*')}${model('gpt-4o', 'openai/gpt-4.1')}`;
    const { config, findings } = routingIn(`model_list:\n${list}`);

    expect(findings.leftOut).toEqual([]);
    expect(config.targets).toEqual([
      { name: 'gpt-4o', virtual_key: 'openai', override_params: { model: 'gpt-4.1' } },
      { name: 'openai/*', virtual_key: 'openai', strip_model_prefix: 'openai/' },
      { name: 'gpt-*', virtual_key: 'openai' },
      { name: '*', virtual_key: 'openai' },
      { name: 'any other model', passthrough: true },
    ]);
    expect(() => compilePlan(checkConfig(config, configSchema([])), 'litellm', new Set())).not.toThrow();
  });

  test('parameters of a model are added to calls that do not say them, and its time limit and retries stay', () => {
    const more =
      ', temperature: 0.2, max_tokens: 4_096, extra_body: { top_k: 5 }, timeout: 30, max_retries: 9, stream_timeout: 5';
    const { config, findings } = routingIn(`model_list:\n${model('a', 'openai/gpt-4o', more)}`);

    expect(config.targets[0]).toEqual({
      name: 'a',
      virtual_key: 'openai',
      override_params: { model: 'gpt-4o' },
      default_params: { temperature: 0.2, max_tokens: 4096, top_k: 5 },
      request_timeout: 30_000,
      retry: { attempts: 5 },
    });
    expect(findingLines(findings.leftOut)).toEqual([
      'config.yaml:3: model_list[0].litellm_params.stream_timeout has no counterpart',
    ]);
    expect(findings.notes[0]!.says).toContain('is 9; a call is tried again at most 5 times');
  });

  test('aliases, fallbacks for all, cooling down and the cache stay', () => {
    const list = `${model('a', 'openai/a')}${model('b', 'openai/b')}${model('b', 'openai/c')}`;
    const settings = `litellm_settings: { default_fallbacks: [b], cache: true, cache_params: { type: local, ttl: 300 } }
router_settings: { model_group_alias: { old: a }, allowed_fails: 2, cooldown_time: 60 }
`;
    const { config } = routingIn(`model_list:\n${list}${settings}`);
    const balanced = {
      strategy: { mode: 'loadbalance', cb_config: { failure_threshold: 2, cooldown_interval: 60_000 } },
      targets: [{ virtual_key: 'openai' }, { virtual_key: 'openai', override_params: { model: 'c' } }],
    };

    expect(config).toMatchObject({ cache: { mode: 'simple', max_age: 300 } });
    expect(config.targets).toEqual([
      { name: 'a', strategy: { mode: 'fallback' }, targets: [{ virtual_key: 'openai' }, balanced] },
      { name: 'b', ...balanced },
      { name: 'old', strategy: { mode: 'fallback' }, targets: [{ virtual_key: 'openai' }, balanced] },
      { name: 'any other model', passthrough: true },
    ]);
  });
});

describe('prices', () => {
  const pricesIn = (yaml: string) => {
    const findings = createFindings();
    const source = readDocument('config.yaml', yaml, findings, 'python')!;
    const { virtualKeys } = readModels(source, findings, { environment, folder: fixtures, workspace: 'default' });
    return { prices: virtualKeys[0]!.fields.configurations.prices, findings };
  };

  test('of tokens become the prices of the virtual key, per million', () => {
    const { prices } = pricesIn(`model_list:
  - model_name: own
    litellm_params: { model: openai/own, input_cost_per_token: 2.5e-07, output_cost_per_token: "1e-6" }
    model_info: { cache_read_input_token_cost: 0.000000025, cache_creation_input_token_cost: 3e-7 }
`);

    expect(prices).toEqual({ own: { input: 0.25, output: 1, cached: 0.025, cache_write: 0.3 } });
  });

  test('a deployment whose name no list knows costs what its base model costs', () => {
    const { prices } = pricesIn(`model_list:
  - model_name: mine
    litellm_params: { model: azure/my-deployment, api_base: https://x.openai.azure.com, api_key: k }
    model_info: { base_model: azure/gpt-4o }
`);

    expect(prices).toEqual({ 'my-deployment': expect.objectContaining({ input: 2.5, output: 10 }) });
  });
});

describe('keys', () => {
  test('keep their hash, their limits, their budget and who they belong to', () => {
    const { keys, findings } = keysOf('keys.json');

    expect(findings.faults).toEqual([]);
    expect(keys[0]).toMatchObject({
      secret: { hash: sha256('sk-client-of-litellm-one'), masked: 'sk-***-one' },
      fields: {
        name: 'search team',
        defaults: {
          virtual_key: 'openai',
          metadata: { stage: 'production', depth: '3', user_id: 'ada', team_id: 'search' },
        },
        rate_limits: [
          { type: 'requests', unit: 'rpm', value: 50 },
          { type: 'tokens', unit: 'rpm', value: 500_000 },
        ],
        usage_limits: [{ type: 'cost', credit_limit: 20, periodic_reset: 'monthly' }],
      },
    });
    expect(keys[1]!.fields.expires_at).toBe('2035-01-01T00:00:00.000Z');
  });

  test('a blocked key is one that has ended, and its budget keeps its own period', () => {
    const { keys } = keysOf('keys.json');

    expect(keys[2]!.fields).toMatchObject({
      expires_at: '1970-01-01T00:00:00.000Z',
      usage_limits: [{ periodic_reset_days: 14, next_usage_reset_at: '2026-11-20T00:00:00.000Z' }],
    });
  });

  test('JSON, JSON lines and CSV say the same', () => {
    const wished = (file: string) => keysOf(file).keys.map(({ place: _, ...wish }) => wish);

    expect(wished('keys.jsonl')).toEqual(wished('keys.json'));
    expect(wished('keys.csv')).toEqual(wished('keys.json'));
  });

  test('its models, its access groups and the models of its team limit a key', () => {
    const groups = new Map([['beta', ['a', 'b']]]);
    const of = (key: string[], team?: string[]) => modelsOfKey({ key, team }, groups);

    expect(keysOf('keys.json').keys.map(({ fields }) => fields.models)).toEqual([null, ['fast'], null]);
    expect([of([]), of(['all-proxy-models']), of(['a', 'all-proxy-models']), of([], [])]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    expect(of(['beta', 'c'])).toEqual(['a', 'b', 'c']);
    expect([of([], ['beta']), of(['all-team-models'], ['c'])]).toEqual([['a', 'b'], ['c']]);
    expect([of(['a', 'x'], ['beta']), of(['openai/*'], ['openai/x'])]).toEqual([['a'], ['openai/x']]);
    expect([of(['x'], ['y']), of(['no-default-models'])]).toEqual([['no-default-models'], ['no-default-models']]);
  });

  test('teams come from their own rows, and what else a team has is listed', () => {
    const findings = createFindings();
    const rows = '[{"team_id":"search","models":["fast"],"max_budget":5,"members":[]},{"models":["x"]}]';
    const source = readDocument('teams.json', rows, findings)!;

    expect(readTeams(source, findings)).toEqual(new Map([['search', ['fast']]]));
    expect(findingLines(findings.leftOut)).toEqual(['teams.json:1: team search: max_budget has no counterpart']);
    expect(findings.faults.map(({ says }) => says)).toEqual([expect.stringContaining('[1].team_id')]);
  });

  test('what a key loses is listed: teams, money spent, and what is not known here', () => {
    const lines = findingLines(keysOf('keys.json').findings.leftOut).join('\n');

    for (const field of ['metadata.nested', 'spend', 'team_id', 'max_parallel_requests'])
      expect(lines).toContain(field);
  });

  test('every fault is listed with its line; a budget that cannot be kept is one', () => {
    expect(findingLines(keysOf('faulty-keys.jsonl').findings.faults)).toEqual([
      'faulty-keys.jsonl:2: [1].token: give the hash of the key (64 hexadecimal digits) or the sk-… key',
      'faulty-keys.jsonl:3: [2].budget_duration: "1h" cannot be kept: budgets start again after 1 to 365 whole days (24h, 30d), weekly (7d) or monthly (1mo)',
      'faulty-keys.jsonl:4: [3].rpm_limit: give a whole number above 0; block the key instead of 0',
      'faulty-keys.jsonl:6: [5].expires: give a moment such as 2030-01-31T12:00:00Z',
    ]);
  });
});
