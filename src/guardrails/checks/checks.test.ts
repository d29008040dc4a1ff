import { expect, test } from 'bun:test';
import { factsOf, portsOf } from '../../../test/guardrails/facts.ts';
import { type CheckResult, type Facts, spanOf } from '../check.ts';
import { findPii, PII_CATEGORIES, PII_SPAN } from './detect/pii.ts';
import { findSecrets, SECRET_CATEGORIES, SECRETS_SPAN } from './detect/secrets.ts';
import { allChecks, checks } from './index.ts';

/** Parameters that each check can be made with. */
const EXAMPLES: Readonly<Record<string, object>> = {
  'default.regexMatch': { rule: '(a+)+$' },
  'default.regexReplace': { rule: '[a-z]{3}\\d' },
  'default.contains': { words: ['x'], operator: 'none' },
  'default.startsWith': { prefix: 'x' },
  'default.endsWith': { suffix: 'x' },
  'default.containsCode': { format: 'SQL' },
  'default.jsonSchema': { schema: { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } } },
  'default.jsonKeys': { keys: ['a'] },
  'default.language': { language: 'en' },
  'default.modelJudge': { criteria: 'c', virtualKey: 'v', model: 'm' },
  'default.modelWhitelist': { models: ['gpt-*'] },
  'default.modelRules': { rules: { defaults: ['gpt-*'] } },
  'default.allowedRequestTypes': { allowedTypes: ['chatComplete'] },
  'default.requiredMetadataKeys': { metadataKeys: ['a'] },
  'default.requiredMetadataKeyPairs': { metadataPairs: { a: 'b' } },
  'default.requestParametersCheck': { params: { blockedKeys: ['a'] } },
  'default.jwt': { jwksUri: 'https://issuer.example/jwks' },
  'default.webhook': { webhookURL: 'https://hooks.example' },
  'default.log': { logURL: 'https://logs.example' },
  'default.addPrefix': { prefix: 'p' },
};

const MARK = 'zebra-4711';
const ports = portsOf({
  fetch: async () => Response.json({ verdict: true }),
  resolves: async () => true,
  verifyJwt: async () => ({ claims: {}, header: {} }),
  askModel: async () => '{"verdict":"pass"}',
});

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}1${']'.repeat(depth)}`);
const hostile: Readonly<Record<string, Facts>> = {
  nothing: factsOf([]),
  'empty texts': factsOf(['', '']),
  'NUL bytes': factsOf(`\0${MARK}\0`),
  'half a character': factsOf(`\ud83d${MARK}\udca1`),
  'all of Unicode': factsOf(
    Array.from({ length: 0x300 }, (_, index) => String.fromCodePoint(index * 0x40 + 1)).join(''),
  ),
  'a megabyte of one letter': factsOf('a'.repeat(1_000_000)),
  'a megabyte of brackets': factsOf('[{"'.repeat(333_333)),
  'a megabyte of line ends': factsOf('\n'.repeat(1_000_000)),
  'a megabyte of fences': factsOf('```sql\n'.repeat(140_000)),
  'ten thousand texts': factsOf(Array.from({ length: 10_000 }, (_, index) => `text ${index}`)),
  'a deep body': factsOf('x', { json: nested(2_000) }),
  'a body with the names of every object': factsOf('x', {
    json: JSON.parse('{"__proto__":{"a":1},"constructor":null}'),
    metadata: { a: 'b' },
  }),
  'no model and an answer': factsOf(MARK, { on: 'output', model: null, provider: null, isStream: true }),
};

function frozen<Value>(value: Value): Value {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) frozen(member);
  }
  return value;
}

test('every check that others have, and those that are ours, is there by its id and its other ids', () => {
  const wanted =
    'regexMatch regexReplace sentenceCount wordCount characterCount contains jsonSchema jsonKeys validUrls containsCode ' +
    'notNull alluppercase alllowercase isAllLowerCase endsWith startsWith modelWhitelist modelwhitelist modelRules ' +
    'allowedRequestTypes requiredMetadataKeys requiredMetadataKeyPairs requestParametersCheck jwt webhook log addPrefix ' +
    'pii secrets promptInjection language modelJudge';
  expect(wanted.split(' ').filter((name) => !checks.has(`default.${name}`))).toEqual([]);
  expect(checks.get('default.modelwhitelist')).toBe(checks.get('default.modelWhitelist'));
  expect(new Set(allChecks.map(({ id }) => id)).size).toBe(allChecks.length);
});

for (const one of allChecks) {
  const { id, parameters } = one;
  const given = EXAMPLES[id] ?? {};

  test(`${id} takes its parameters and refuses unknown ones and other types`, () => {
    expect(parameters().safeParse(given).error).toBeUndefined();
    expect(parameters().safeParse({ ...given, unheardOf: 1 }).success).toBe(false);
    for (const wrong of [null, [], 'text', 1]) expect(parameters().safeParse(wrong).success).toBe(false);
    const span = spanOf(one, parameters().parse(given));
    expect(span === 'whole' || span > 0).toBe(true);
  });

  test(`${id} judges hostile texts in bounded time, changes no fact, and does not tell the text`, async () => {
    const parsed = parameters().parse(given);
    for (const [name, facts] of Object.entries(hostile)) {
      const started = performance.now();
      const result: CheckResult = await one.run(frozen(facts), parsed, ports);
      expect(`${name}: ${typeof result.verdict}`).toBe(`${name}: boolean`);
      expect(JSON.stringify(result.data ?? null)).not.toContain(MARK);
      expect(`${name}: ${performance.now() - started < 10_000}`).toBe(`${name}: true`);
    }
  });
}

test('what is redacted whole is redacted in windows that overlap by the span', () => {
  const secret = `ghp_${'aB3dE5gH7jK9'.repeat(3)}`;
  const things = [
    'ada@mail.example.com',
    '4111 1111 1111 1111',
    'my BSN is 111222333',
    secret,
    'DE89 3704 0044 0532 0130 00',
  ];
  const text = Array.from({ length: 400 }, (_, index) => `${'filler '.repeat(index % 13)}${things[index % 5]}. `).join(
    '',
  );
  for (const [span, find] of [
    [PII_SPAN, (piece: string) => findPii(piece, PII_CATEGORIES)],
    [SECRETS_SPAN, (piece: string) => findSecrets(piece, SECRET_CATEGORIES)],
  ] as const) {
    const seen = new Set<string>();
    for (let from = 0; from < text.length; from += span) {
      const window = text.slice(from, from + 2 * span);
      for (const { category, start, end } of find(window)) seen.add(`${category} ${from + start} ${from + end}`);
    }
    const whole = find(text);
    expect(whole.length).toBeGreaterThan(50);
    expect(whole.filter(({ start, end }) => end - start > span)).toEqual([]);
    expect(whole.filter(({ category, start, end }) => !seen.has(`${category} ${start} ${end}`))).toEqual([]);
  }
});
