import { expect, test } from 'bun:test';
import { windowAt } from '../../core/limits.ts';
import type { PolicyRow } from '../../storage/schema.ts';
import { compilePolicies, type Facts } from './match.ts';
import type { Condition } from './schema.ts';

const facts = (more: Partial<Facts> = {}): Facts => ({
  organisationId: 'org',
  workspaceId: 'ws-1',
  apiKeyId: 'key-1',
  virtualKey: 'openai-main',
  provider: 'openai',
  model: 'gpt-4o',
  metadata: { team: 'search', _user: 'ada' },
  config: null,
  endpointType: 'chat/completions',
  ...more,
});

const row = (more: Partial<PolicyRow> = {}, definition: object = {}): PolicyRow => ({
  id: 'policy-1',
  organisation_id: 'org',
  workspace_id: null,
  kind: 'rate',
  name: 'Free tier',
  description: null,
  definition: JSON.stringify({
    conditions: [{ key: 'api_key', value: '*' }],
    group_by: [{ key: 'api_key' }],
    type: 'requests',
    unit: 'rpm',
    value: 10,
    target: 'llm',
    ...definition,
  }),
  created_at: 0,
  updated_at: 0,
  ...more,
});

const slugs = new Map([['default', 'ws-1']]);
const setOf = (...rows: PolicyRow[]) => compilePolicies(rows, slugs, () => {});
const holds = (conditions: Condition[], call = facts()) => setOf(row({}, { conditions })).matching(call).length === 1;

for (const [name, condition, expected] of [
  ['a value', { key: 'model', value: 'gpt-4o' }, true],
  ['another value', { key: 'model', value: 'gpt-4' }, false],
  ['one of several values', { key: 'model', value: ['gpt-4', 'gpt-4o'] }, true],
  ['none of several values', { key: 'model', value: ['gpt-4', 'o1'] }, false],
  ['any value', { key: 'virtual_key', value: '*' }, true],
  ['an excluded value', { key: 'model', value: 'gpt-4o', excludes: true }, false],
  ['a value that is not the excluded one', { key: 'model', value: 'gpt-4', excludes: true }, true],
  ['every model of a provider', { key: 'model', value: '@openai/*' }, true],
  ['every model of a virtual key', { key: 'model', value: '@openai-main/*' }, true],
  ['every model of another provider', { key: 'model', value: '@anthropic/*' }, false],
  ['one model of a provider', { key: 'model', value: '@openai/gpt-4o' }, true],
  ['another model of a provider', { key: 'model', value: '@openai/o1' }, false],
  ['every model of a provider, excluded', { key: 'model', value: '@openai/*', excludes: true }, false],
  ['metadata', { key: 'metadata.team', value: 'search' }, true],
  ['metadata of another value', { key: 'metadata.team', value: 'ads' }, false],
  ['metadata that is missing', { key: 'metadata.region', value: '*' }, false],
  ['metadata that every object has', { key: 'metadata.constructor', value: '*' }, false],
  ['missing metadata, excluded', { key: 'metadata.region', value: 'eu', excludes: true }, true],
  ['a config, which the call has not', { key: 'config', value: '*' }, false],
  ['a prompt, which no call has', { key: 'prompt', value: '*' }, false],
  ['the workspace by id', { key: 'workspace_id', value: 'ws-1' }, true],
  ['the workspace by slug', { key: 'workspace_id', value: ['elsewhere', 'default'] }, true],
  ['the provider', { key: 'provider', value: 'openai' }, true],
  ['the endpoint', { key: 'endpoint_type', value: 'chat/completions' }, true],
] as const) {
  test(`a condition on ${name} ${expected ? 'holds' : 'does not hold'}`, () => {
    expect(holds([condition as unknown as Condition])).toBe(expected);
  });
}

test('all conditions must hold', () => {
  const team = { key: 'metadata.team', value: 'search' };
  expect(holds([team, { key: 'model', value: 'gpt-4o' }])).toBe(true);
  expect(holds([team, { key: 'model', value: 'o1' }])).toBe(false);
});

test('a call without metadata or model has none of their values', () => {
  const call = facts({ metadata: null, model: null });
  expect(holds([{ key: 'metadata.team', value: '*' }], call)).toBe(false);
  expect(holds([{ key: 'model', value: '*' }], call)).toBe(false);
  expect(holds([{ key: 'model', value: '@openai/*' }], call)).toBe(true);
});

test('a policy of a workspace concerns its calls alone, one of the organisation all', () => {
  const set = setOf(row({ id: 'everywhere' }), row({ id: 'own', workspace_id: 'ws-1' }));
  const owners = (call: Facts) => set.matching(call).map(({ owner }) => owner.id);
  expect(owners(facts())).toEqual(['everywhere', 'own']);
  expect(owners(facts({ workspaceId: 'ws-2' }))).toEqual(['everywhere']);
});

test('each combination of the grouped values has a counter and a text of its own', () => {
  const set = setOf(row({}, { group_by: [{ key: 'metadata._user' }, { key: 'model' }] }));
  const [limit] = set.matching(facts());
  expect(limit).toMatchObject({
    counter: 'policy/policy-1/requests/rpm/metadata._user:ada,model:gpt-4o',
    owner: { kind: 'policy', id: 'policy-1', name: 'Free tier' },
    kind: 'rate',
    max: 10,
    text: '10 requests per minute for metadata._user:ada,model:gpt-4o',
  });
  expect(set.matching(facts())[0]).toBe(limit!);
  expect(set.matching(facts({ model: 'o1' }))[0]!.counter).toEndWith('metadata._user:ada,model:o1');
  expect(set.matching(facts({ metadata: null }))[0]!.counter).toEndWith('metadata._user:,model:gpt-4o');
});

test('values that clients choose cannot be taken for those of another group', () => {
  const set = setOf(row({}, { group_by: [{ key: 'metadata.a' }, { key: 'metadata.b' }] }));
  const counter = (a: string, b: string) => set.matching(facts({ metadata: { a, b } }))[0]!.counter;
  expect(counter('x,metadata.b:y', '')).not.toBe(counter('x', 'y,metadata.b:'));
  expect(counter('%2c', '')).not.toBe(counter(',', ''));
  expect(counter('a\0b', '')).toContain('metadata.a:a%00b');
});

test('long values are counted under their hash', () => {
  const set = setOf(row({}, { group_by: [{ key: 'model' }] }));
  const counter = (model: string) => set.matching(facts({ model }))[0]!.counter;
  expect(counter('x'.repeat(100_000)).length).toBeLessThan(150);
  expect(counter('x'.repeat(200))).not.toBe(counter('x'.repeat(201)));
});

test('a budget in requests, with a period of days from the making of the policy', () => {
  const definition = { type: 'requests', credit_limit: 3, alert_threshold: null, periodic_reset_days: 2 };
  const [limit] = setOf(row({ kind: 'usage', created_at: 1_000 }, definition)).matching(facts());
  expect(limit).toMatchObject({ kind: 'budget', counts: 'requests', max: 3, alertAt: null });
  expect(limit!.text).toBe('3 requests per 2 days for api_key:key-1');
  expect(windowAt(limit!.period, 5_000).start).toBe(1_000);
});

test('groups of usage policies are made known, those of rate policies are not', () => {
  const met: string[] = [];
  const budget = { type: 'tokens', credit_limit: 3 };
  const set = compilePolicies([row(), row({ id: 'budget', kind: 'usage' }, budget)], slugs, (policy, key) =>
    met.push(`${policy} ${key}`),
  );
  set.matching(facts());
  set.matching(facts());
  set.matching(facts({ apiKeyId: 'key-2' }));
  expect(met).toEqual(['budget api_key:key-1', 'budget api_key:key-2']);
});

test('names without end do not fill the memory', () => {
  const set = setOf(row({}, { group_by: [{ key: 'model' }] }));
  for (let index = 0; index < 25_000; index++) set.matching(facts({ model: `m-${index}` }));
  expect(set.matching(facts())).toHaveLength(1);
});
