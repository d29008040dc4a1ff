import { expect, test } from 'bun:test';
import { faultsOf, judge, portsOf } from '../../../test/guardrails/facts.ts';
import { jsonKeys } from './json-keys.ts';
import { jsonSchema } from './json-schema.ts';

const verdict = async (...call: Parameters<typeof judge>) => (await judge(...call)).verdict;

const schema = {
  type: 'object',
  properties: { name: { type: 'string', pattern: '^[A-Z]' }, age: { type: 'integer', minimum: 0 } },
  required: ['name'],
};

for (const [text, fits] of [
  ['{"name":"Ada"}', true],
  ['{"name":"ada"}', false],
  ['{"age":1}', false],
  ['{"name":"Ada","age":-1}', false],
  ['Here it is:\n```json\n{"name":"Ada"}\n```', true],
  ['Before {"name":"Ada","more":{"deep":["}"]}} after', true],
  ['{not json} but {"name":"Ada"}', true],
  ['a "quoted { brace" and {"name":"Ada"}', true],
  ['{"other":1} {"name":"Ada"}', true],
  ['no JSON at all', false],
  ['', false],
  ['{"name":"A\\u0000da"}', true],
] as const) {
  test(`jsonSchema: ${JSON.stringify(text)} ${fits ? 'fits' : 'does not fit'}`, async () => {
    expect(await verdict(jsonSchema, { schema }, text)).toBe(fits);
    expect(await verdict(jsonSchema, { schema, not: true }, text)).toBe(!fits);
  });
}

for (const [path, faulty] of [
  ['schema.type', { type: 'objekt' }],
  ['schema.properties.a.type', { properties: { a: { type: 5 } } }],
  ['schema.properties.a.pattern', { properties: { a: { pattern: '(' } } }],
  ['schema.properties.a.pattern', { properties: { a: { pattern: '(?=x)' } } }],
  ['schema.patternProperties', { patternProperties: { '(a+)+$': true } }],
  ['schema.dependencies', { dependencies: { pattern: { pattern: '(a+)+$' } } }],
  ['schema.items.format', { items: { format: 'url' } }],
  ['schema.items.format', { items: { format: 'regex' } }],
  ['schema.$ref', { $ref: '#/$defs/nowhere' }],
  ['schema.$ref', { $ref: 'https://example.com/schema.json' }],
  ['schema.required', { required: 'name' }],
  ['schema.$dynamicRef', { $dynamicRef: '#a' }],
  ['schema', 'text'],
  ['schema', null],
] as const) {
  test(`jsonSchema: ${JSON.stringify(faulty)} is refused at ${path}`, () => {
    expect(faultsOf(jsonSchema, { schema: faulty })[0]).toStartWith(`${path}: `);
  });
}

test('a schema refers to itself, is not changed by being used, and leaves no pattern behind for others', async () => {
  const tree = {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        type: 'object',
        properties: { child: { $ref: '#/$defs/node' }, id: { pattern: '^\\d+$' } },
        required: ['id'],
      },
    },
  };
  const before = JSON.stringify(tree);
  expect(await verdict(jsonSchema, { schema: tree }, '{"id":"1","child":{"id":"2"}}')).toBe(true);
  expect(await verdict(jsonSchema, { schema: tree }, '{"id":"1","child":{"id":"x"}}')).toBe(false);
  expect(JSON.stringify(tree)).toBe(before);
});

test('a schema beside another with the same pattern keeps its own', async () => {
  const one = jsonSchema.parameters().parse({ schema: { type: 'string', pattern: '^a' } });
  const other = jsonSchema.parameters().parse({ schema: { type: 'string', pattern: '^b' } });
  for (const [parameters, text, fits] of [
    [one, '"a"', true],
    [other, '"a"', false],
    [other, '"b"', true],
  ] as const) {
    const facts = { texts: [{ text, role: 'user', kind: 'text', turn: 0, where: '' }] };
    expect(await jsonSchema.run(facts as never, parameters, portsOf())).toMatchObject({ verdict: fits });
  }
});

const doubling = {
  $ref: '#/$defs/a',
  $defs: {
    a: {
      anyOf: [
        { properties: { x: { $ref: '#/$defs/a' } }, required: ['no'] },
        { properties: { x: { $ref: '#/$defs/a' } }, required: ['no'] },
      ],
    },
  },
};

for (const [name, parameters, text] of [
  ['a schema that doubles its work with each level', { schema: doubling }, `${'{"x":'.repeat(60)}1${'}'.repeat(60)}`],
  ['a schema that refers to nothing but itself', { schema: { $ref: '#' } }, '{}'],
  [
    'a long list of unique items',
    { schema: { uniqueItems: true } },
    JSON.stringify(Array.from({ length: 50_000 }, (_, index) => index)),
  ],
  ['a text of opening braces', { schema: {} }, '{'.repeat(500_000)],
] as const) {
  test(`jsonSchema: ${name} ends with an error, and so does not pass`, async () => {
    const started = performance.now();
    const result = await judge(jsonSchema, parameters, text);
    expect(result.verdict).toBe(false);
    expect(result.error).toBeString();
    expect(performance.now() - started).toBeLessThan(10_000);
  });
}

for (const pattern of ['^(a+)+$', '^(?:a|aa)+$']) {
  test(`jsonSchema: the pattern ${pattern} takes bounded time`, async () => {
    const started = performance.now();
    expect(
      await verdict(jsonSchema, { schema: { type: 'string', pattern } }, JSON.stringify(`${'a'.repeat(100_000)}!`)),
    ).toBe(false);
    expect(performance.now() - started).toBeLessThan(10_000);
  });
}

for (const format of [
  'uri',
  'uri-reference',
  'email',
  'hostname',
  'date-time',
  'duration',
  'json-pointer',
  'ipv6',
  'uuid',
]) {
  test(`jsonSchema: the format ${format} takes bounded time on texts made against it`, async () => {
    const started = performance.now();
    for (const text of ['a', 'a-', '/', 'a.', 'http://a', '%41', ':', '1', 'a@', '0:'])
      await judge(
        jsonSchema,
        { schema: { type: 'string', format } },
        JSON.stringify(`http://${text.repeat(20_000)}\u0000 !`),
      );
    expect(performance.now() - started).toBeLessThan(10_000);
  });
}

for (const [operator, text, passes] of [
  ['any', '{"a":1}', true],
  ['any', '{"c":1}', false],
  ['all', '{"a":1,"b":2}', true],
  ['all', '{"a":1} {"b":2}', false],
  ['none', '{"c":1}', true],
  ['none', '{"c":1} and {"a":1}', false],
  ['none', 'no object', false],
  ['any', '["a"]', false],
  ['any', '{"x":{"a":1}}', false],
  ['any', '{"__proto__":{"a":1}}', false],
] as const) {
  test(`jsonKeys: ${operator} of a, b ${passes ? 'holds' : 'does not hold'} in ${text}`, async () => {
    expect(await verdict(jsonKeys, { keys: ['a', 'b'], operator }, text)).toBe(passes);
  });
}

test('jsonKeys is not deceived by names that every object has', async () => {
  expect(await verdict(jsonKeys, { keys: ['constructor', 'toString'] }, '{}')).toBe(false);
  expect(faultsOf(jsonKeys, { keys: [] })).toEqual(['keys: give at least one']);
});
