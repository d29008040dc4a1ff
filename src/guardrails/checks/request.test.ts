import { expect, test } from 'bun:test';
import { factsOf, faultsOf, judge } from '../../../test/guardrails/facts.ts';
import { addPrefix } from './add-prefix.ts';
import { allowedRequestTypes } from './allowed-request-types.ts';
import { modelRules } from './model-rules.ts';
import { modelWhitelist } from './model-whitelist.ts';
import { requestParametersCheck } from './request-parameters-check.ts';
import { requiredMetadataKeyPairs } from './required-metadata-key-pairs.ts';
import { requiredMetadataKeys } from './required-metadata-keys.ts';

const verdict = async (...call: Parameters<typeof judge>) => (await judge(...call)).verdict;
const asking = (model: string | null, metadata = {}) => factsOf([], { model, metadata });
const sending = (json: unknown) => factsOf([], { json });

for (const [models, model, isListed] of [
  [['gpt-4o'], 'gpt-4o', true],
  [['gpt-4o'], 'gpt-4o-mini', false],
  [['gpt-4o'], 'GPT-4o', false],
  [['gpt-4o*'], 'gpt-4o-mini', true],
  [['*-mini'], 'gpt-4o-mini', true],
  [['a*a'], 'a', false],
  [['a*b*c'], 'a-b-c', true],
  [['a*b*c'], 'a-c', false],
  [['*'], 'anything', true],
  [['gpt-4o'], '@openai-prod/gpt-4o', true],
  [['@openai-prod/*'], '@openai-prod/gpt-4o', true],
  [['@openai-prod/*'], '@other/gpt-4o', false],
] as const) {
  test(`modelWhitelist: ${model} is ${isListed ? '' : 'not '}on ${models}`, async () => {
    expect(await verdict(modelWhitelist, { models }, asking(model))).toBe(isListed);
    expect(await verdict(modelWhitelist, { models, not: true }, asking(model))).toBe(!isListed);
  });
}

test('modelWhitelist: without a model nothing passes, turned round or not; many stars take no time', async () => {
  expect(await verdict(modelWhitelist, { models: ['*'] }, asking(null))).toBe(false);
  expect(await verdict(modelWhitelist, { models: ['x'], not: true }, asking(null))).toBe(false);
  const started = performance.now();
  await judge(modelWhitelist, { models: [`${'*a'.repeat(2_000)}b`] }, asking('a'.repeat(100_000)));
  expect(performance.now() - started).toBeLessThan(10_000);
});

test('a call of an MCP server names no model, and lists of models do not concern it', async () => {
  const call = factsOf([], { model: null, endpointType: 'mcp' });
  for (const not of [false, true]) {
    expect(await verdict(modelWhitelist, { models: ['gpt-*'], not }, call)).toBe(true);
    expect(await verdict(modelRules, { rules: { defaults: ['gpt-*'] }, not }, call)).toBe(true);
  }
  expect(await verdict(allowedRequestTypes, { blockedTypes: ['mcp'] }, call)).toBe(false);
});

const rules = {
  defaults: ['small'],
  metadata: { team: { red: ['large', 'small'], blue: ['blue-*'] }, tier: { gold: ['gold'] } },
};

for (const [model, metadata, passes] of [
  ['small', {}, true],
  ['large', {}, false],
  ['large', { team: 'red' }, true],
  ['small', { team: 'blue' }, false],
  ['blue-1', { team: 'blue' }, true],
  ['gold', { team: 'blue', tier: 'gold' }, true],
  ['small', { team: 'green' }, true],
  ['small', { team: 'toString' }, true],
  [null, {}, false],
] as const) {
  test(`modelRules: ${model} with ${JSON.stringify(metadata)} ${passes ? 'passes' : 'does not pass'}`, async () => {
    expect(await verdict(modelRules, { rules }, asking(model, metadata))).toBe(passes);
  });
}

test('modelRules: where no list is chosen nothing passes', async () => {
  const only = { metadata: { team: { red: ['large'] } } };
  expect(await verdict(modelRules, { rules: only }, asking('large'))).toBe(false);
  expect(await verdict(modelRules, { rules: only, not: true }, asking('large'))).toBe(false);
  expect(await verdict(modelRules, { rules, not: true }, asking('large'))).toBe(true);
  expect(faultsOf(modelRules, { rules: {} })).toEqual(['rules: needs defaults or metadata']);
  expect(faultsOf(modelRules, { rules: { metadata: { team: { red: 'large' } } } })).toEqual([
    'rules.metadata.team.red: give a list of models',
  ]);
});

test('allowedRequestTypes: blocked wins, an allowed list leaves nothing else', async () => {
  expect(await verdict(allowedRequestTypes, { allowedTypes: ['chatComplete'] }, factsOf())).toBe(true);
  expect(await verdict(allowedRequestTypes, { allowedTypes: ['embed'] }, factsOf())).toBe(false);
  expect(await verdict(allowedRequestTypes, { blockedTypes: ['chatComplete'] }, factsOf())).toBe(false);
  expect(await verdict(allowedRequestTypes, { blockedTypes: ['embed'] }, factsOf())).toBe(true);
  expect(await verdict(allowedRequestTypes, { blockedTypes: ['proxy'] }, factsOf([], { endpointType: 'proxy' }))).toBe(
    false,
  );
  expect(faultsOf(allowedRequestTypes, { allowedTypes: ['embed'], blockedTypes: ['proxy', 'embed'] })).toEqual([
    'blockedTypes.1: "embed" is in allowedTypes, too',
  ]);
  expect(faultsOf(allowedRequestTypes, {})).toEqual(['allowedTypes: is missing; give allowedTypes or blockedTypes']);
  expect(faultsOf(allowedRequestTypes, { allowedTypes: ['chat'] })[0]).toStartWith('allowedTypes.0: give some of');
});

for (const [operator, metadata, passes] of [
  ['all', { a: '1', b: '2' }, true],
  ['all', { a: '1' }, false],
  ['any', { a: '1' }, true],
  ['any', {}, false],
  ['none', {}, true],
  ['none', { b: '' }, false],
] as const) {
  test(`requiredMetadataKeys: ${operator} of a, b ${passes ? 'holds' : 'does not hold'} in ${JSON.stringify(metadata)}`, async () => {
    expect(await verdict(requiredMetadataKeys, { metadataKeys: ['a', 'b'], operator }, asking('m', metadata))).toBe(
      passes,
    );
  });
}

test('requiredMetadataKeys is not deceived by names that every object has', async () => {
  expect(await verdict(requiredMetadataKeys, { metadataKeys: ['constructor'] }, asking('m'))).toBe(false);
});

for (const [matchType, wanted, value, passes] of [
  ['exact', 'prod', 'prod', true],
  ['exact', 'prod', 'production', false],
  ['exact', ['prod', 'test'], 'test', true],
  ['contains', 'prod', 'production', true],
  ['contains', ['x', 'duct'], 'production', true],
  ['containsAll', ['a', 'b'], 'a,b', true],
  ['containsAll', ['a', 'b'], 'a', false],
  ['regex', '^p.*n$', 'production', true],
  ['regex', '^x', 'production', false],
  ['exact', 'prod', undefined, false],
] as const) {
  test(`requiredMetadataKeyPairs: ${matchType} ${JSON.stringify(wanted)} ${passes ? 'fits' : 'does not fit'} ${value}`, async () => {
    const parameters = { metadataPairs: { stage: wanted }, matchType };
    const facts = asking('m', value === undefined ? {} : { stage: value });
    expect(await verdict(requiredMetadataKeyPairs, parameters, facts)).toBe(passes);
    expect(await verdict(requiredMetadataKeyPairs, { ...parameters, operator: 'none' }, facts)).toBe(!passes);
  });
}

test('requiredMetadataKeyPairs refuses patterns that cannot be used, and no pairs', () => {
  expect(faultsOf(requiredMetadataKeyPairs, { metadataPairs: { a: '(' }, matchType: 'regex' })[0]).toStartWith(
    'metadataPairs.a: holds what is not a pattern of the RE2 kind',
  );
  expect(faultsOf(requiredMetadataKeyPairs, { metadataPairs: {} })).toEqual(['metadataPairs: give at least one pair']);
});

const tools = (...list: unknown[]) => sending({ model: 'm', tools: list });

for (const [name, parameters, facts, reasons] of [
  [
    'an allowed tool',
    { tools: { allowedFunctionNames: ['f'] } },
    tools({ type: 'function', function: { name: 'f' } }),
    [],
  ],
  [
    'another tool',
    { tools: { allowedFunctionNames: ['f'] } },
    tools({ type: 'function', function: { name: 'g' } }),
    ['name_not_allowed g'],
  ],
  [
    'a blocked tool',
    { tools: { blockedFunctionNames: ['g'] } },
    tools({ type: 'function', name: 'g' }),
    ['name_blocked g'],
  ],
  [
    'a blocked tool with two names',
    { tools: { blockedFunctionNames: ['g'] } },
    tools({ name: 'f', function: { name: 'g' } }),
    ['name_blocked g'],
  ],
  [
    'a blocked type',
    { tools: { blockedTypes: ['web_search'] } },
    tools({ type: 'web_search' }),
    ['type_blocked web_search'],
  ],
  ['another type', { tools: { allowedTypes: ['function'] } }, tools({ type: 'mcp' }), ['type_not_allowed mcp']],
  [
    'a tool of the Messages API',
    { tools: { blockedFunctionNames: ['g'] } },
    tools({ name: 'g', input_schema: {} }),
    ['name_blocked g'],
  ],
  [
    'a tool of Gemini',
    { tools: { blockedFunctionNames: ['g'] } },
    tools({ functionDeclarations: [{ name: 'f' }, { name: 'g' }] }),
    ['name_blocked g'],
  ],
  [
    'a tool of Converse',
    { tools: { blockedFunctionNames: ['g'] } },
    sending({ toolConfig: { tools: [{ toolSpec: { name: 'g' } }] } }),
    ['name_blocked g'],
  ],
  [
    'an old function',
    { tools: { blockedFunctionNames: ['g'] } },
    sending({ functions: [{ name: 'g' }] }),
    ['name_blocked g'],
  ],
  ['a blocked key', { params: { blockedKeys: ['logprobs'] } }, sending({ logprobs: true }), ['key_blocked logprobs']],
  ['another key', { params: { allowedKeys: ['model'] } }, sending({ model: 'm', n: 1 }), ['key_not_allowed n']],
  ['a blocked value', { params: { values: { n: { blockedValues: [2] } } } }, sending({ n: 2 }), ['value_blocked n']],
  [
    'a value of another type',
    { params: { values: { n: { allowedValues: [1] } } } },
    sending({ n: '1' }),
    ['value_not_allowed n'],
  ],
  [
    'a list for a value',
    { params: { values: { n: { allowedValues: [1] } } } },
    sending({ n: [1] }),
    ['value_not_allowed n'],
  ],
  ['an absent value', { params: { values: { n: { allowedValues: [1] } } } }, sending({}), []],
  ['a nested key', { params: { blockedKeys: ['x'] } }, sending({ a: { x: 1 } }), []],
] as const) {
  test(`requestParametersCheck: ${name} ${reasons.length === 0 ? 'passes' : `is ${reasons}`}`, async () => {
    const { verdict, data } = await judge(requestParametersCheck, parameters, facts);
    const violations = data!.violations as { reason: string; at: string }[];
    expect(violations.map(({ reason, at }) => `${reason} ${at}`)).toEqual([...reasons]);
    expect(verdict).toBe(reasons.length === 0);
  });
}

test('requestParametersCheck: a body that is no JSON object does not pass, an entry in both lists is refused', async () => {
  expect(await verdict(requestParametersCheck, { params: { blockedKeys: ['x'] } }, sending(null))).toBe(false);
  expect(await verdict(requestParametersCheck, { params: { blockedKeys: ['x'] } }, sending([]))).toBe(false);
  expect(faultsOf(requestParametersCheck, { tools: { allowedTypes: ['a'], blockedTypes: ['b', 'a'] } })).toEqual([
    'tools.blockedTypes.1: "a" is in allowedTypes, too',
  ]);
  expect(
    faultsOf(requestParametersCheck, { params: { values: { n: { allowedValues: [1], blockedValues: [1] } } } }),
  ).toEqual(['params.values.n.blockedValues.0: 1 is in allowedValues, too']);
  expect(faultsOf(requestParametersCheck, {})).toEqual([': needs tools or params']);
});

const chat = (...messages: { role: string; content: string }[]) =>
  factsOf(
    messages.map(({ role, content }) => ({ role, text: content })),
    { json: { model: 'm', messages } },
  );

test('addPrefix puts the prefix before the first message of the role and leaves the others', async () => {
  const facts = chat(
    { role: 'system', content: 'S' },
    { role: 'user', content: 'one' },
    { role: 'user', content: 'two' },
  );
  const result = await judge(addPrefix, { prefix: 'Please: ' }, facts);
  expect(result).toMatchObject({ verdict: true, transformed: { texts: [{ part: 1, text: 'Please: one' }] } });
});

test('addPrefix adds a message where there is none, or where it shall not touch the one there is', async () => {
  const user = { role: 'user', content: 'one' };
  const added = async (parameters: object, facts = chat(user)) => {
    const { transformed } = await judge(addPrefix, { prefix: 'P', ...parameters }, facts);
    return transformed && 'json' in transformed ? transformed.json : null;
  };
  expect(await added({ applyToRole: 'system' })).toEqual({
    model: 'm',
    messages: [{ role: 'system', content: 'P' }, user],
  });
  expect(await added({ applyToRole: 'assistant' })).toEqual({
    model: 'm',
    messages: [user, { role: 'assistant', content: 'P' }],
  });
  expect(await added({ addToExisting: false })).toEqual({
    model: 'm',
    messages: [{ role: 'user', content: 'P' }, user],
  });
  const messages = { ...chat(user), endpointType: 'messages' as const, json: { messages: [user], system: 'S' } };
  expect(await added({ applyToRole: 'system', addToExisting: false }, messages)).toEqual({
    messages: [user],
    system: [
      { type: 'text', text: 'P' },
      { type: 'text', text: 'S' },
    ],
  });
});

test('addPrefix: onlyIfEmpty leaves a message that says something; without a place for it the check fails', async () => {
  expect(
    await judge(addPrefix, { prefix: 'P', onlyIfEmpty: true }, chat({ role: 'user', content: 'x' })),
  ).toMatchObject({ verdict: true });
  expect(
    (await judge(addPrefix, { prefix: 'P', onlyIfEmpty: true }, chat({ role: 'user', content: 'x' }))).transformed,
  ).toBeUndefined();
  expect(
    (await judge(addPrefix, { prefix: 'P', onlyIfEmpty: true }, chat({ role: 'user', content: ' ' }))).transformed,
  ).toBeDefined();
  const embedding = factsOf([], { endpointType: 'embed', json: { input: [] } });
  expect(await judge(addPrefix, { prefix: 'P' }, embedding)).toMatchObject({
    verdict: false,
    error: expect.any(String),
  });
});
