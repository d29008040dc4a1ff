import { expect, test } from 'bun:test';
import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../ir.ts';
import { schemaFor } from './encode-tools.ts';

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more });
const openApi = (schema: JsonObject) => schemaFor(schema, 'tools[0]').openApi;
const json = (schema: JsonObject) => {
  const made = schemaFor(schema, 'tools[0]');
  expect(made.openApi).toBeNull();
  return made.json;
};
/** The schema of one member, as the vendor's subset says it. */
const member = (schema: JsonObject) => openApi(object({ x: schema }))?.properties?.x;

test('types are the vendor’s, and counts are texts', () => {
  expect(
    member({ type: 'array', items: { type: 'number', minimum: 1, format: 'double' }, minItems: 1, maxItems: 3 }),
  ).toEqual({
    type: 'ARRAY',
    items: { type: 'NUMBER', minimum: 1, format: 'double' },
    minItems: '1',
    maxItems: '3',
  });
  expect(member({ type: 'boolean', title: 'T', default: true, examples: [false] })).toEqual({
    type: 'BOOLEAN',
    title: 'T',
    default: true,
    example: false,
  });
});

test('null in a list of types, in alternatives and among values makes a member nullable', () => {
  const nullable = { type: 'STRING', nullable: true } as const;
  expect(member({ type: ['string', 'null'] })).toEqual(nullable);
  expect(member({ anyOf: [{ type: 'string' }, { type: 'null' }] })).toEqual(nullable);
  expect(member({ oneOf: [{ const: null }, { type: 'string' }] })).toEqual(nullable);
  expect(member({ type: 'string', nullable: true })).toEqual(nullable);
  expect(member({ enum: ['a', null] })).toEqual({ ...nullable, enum: ['a'] });
  expect(member({ type: 'null' })).toEqual({ type: 'NULL' });
});

test('several types are alternatives, each with the keywords that are about it', () => {
  expect(member({ type: ['string', 'integer'], minimum: 0, minLength: 2, description: 'D' })).toEqual({
    anyOf: [
      { type: 'STRING', minLength: '2', description: 'D' },
      { type: 'INTEGER', minimum: 0, description: 'D' },
    ],
  });
});

test('what is said of all alternatives is said of each, and alternatives inside alternatives are lifted', () => {
  expect(
    member({
      description: 'D',
      anyOf: [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, { type: ['integer', 'boolean'] }],
    }),
  ).toEqual({
    anyOf: [
      { type: 'STRING', nullable: true, description: 'D' },
      { type: 'INTEGER', description: 'D' },
      { type: 'BOOLEAN', description: 'D' },
    ],
  });
});

test('members that are called like keywords are members', () => {
  const properties = {
    $ref: { type: 'string' },
    additionalProperties: { type: 'string' },
    $schema: { type: 'string' },
    title: { type: 'string' },
    allOf: { type: 'string' },
  };
  expect(Object.keys(openApi(object(properties))!.properties!)).toEqual(Object.keys(properties));
  const both = {
    allOf: [object({ title: { type: 'string' } }), object({ a: { type: 'string' } }, { required: ['a'] })],
  };
  expect(openApi(both)).toEqual({
    type: 'OBJECT',
    properties: { title: { type: 'STRING' }, a: { type: 'STRING' } },
    required: ['a'],
  });
});

test('references of every spelling are written out, with what stands beside them', () => {
  const schema = object(
    {
      a: { $ref: '#/$defs/A' },
      b: { $ref: '#/definitions/B~1C%20D', description: 'D' },
      c: { $ref: '#/properties/a' },
      d: { $ref: '#/$defs/A', minLength: 3 },
    },
    {
      $defs: { A: { type: 'string', maxLength: 9 } },
      definitions: { 'B/C D': { type: 'integer', description: 'old' } },
    },
  );
  expect(openApi(schema)?.properties).toEqual({
    a: { type: 'STRING', maxLength: '9' },
    b: { type: 'INTEGER', description: 'D' },
    c: { type: 'STRING', maxLength: '9' },
    d: { type: 'STRING', maxLength: '9', minLength: '3' },
  });
  expect(schemaFor(schema, 'x').hasReferences).toBe(true);
});

test('values are data: nothing in them is a reference', () => {
  const preset = { $ref: '#/nowhere' };
  expect(member({ type: 'object', properties: { y: { type: 'string' } }, default: preset })?.default).toEqual(preset);
});

test('a schema that holds itself goes as JSON Schema, with only itself under $defs', () => {
  const node = object({ name: { $ref: '#/$defs/Name' }, next: { $ref: '#/$defs/Node', description: 'D' } });
  const schema = object({ list: { $ref: '#/$defs/Node' } }, { $defs: { Node: node, Name: { type: 'string' } } });
  const written = object({ name: { type: 'string' }, next: { anyOf: [{ $ref: '#/$defs/Node' }], description: 'D' } });
  expect(json(schema)).toEqual({ ...object({ list: written }), $defs: { Node: written } });
  const self = object({ child: { $ref: '#' } });
  expect(json(self)).toEqual({
    ...object({ child: { $ref: '#/$defs/root' } }),
    $defs: { root: object({ child: { $ref: '#/$defs/root' } }) },
  });
});

test('what the subset cannot hold goes as JSON Schema, whole', () => {
  for (const inexpressible of [
    { type: 'object', additionalProperties: { type: 'string' } },
    { type: 'object' },
    { type: 'array' },
    { type: 'array', prefixItems: [{ type: 'string' }], items: false },
    { type: 'integer', enum: [1, 2] },
    { type: 'integer', exclusiveMinimum: 0 },
    { type: 'string', format: 'email' },
    { enum: ['a', ''] },
    { const: 7 },
    { not: { type: 'string' } },
    { type: 'object', properties: { a: { type: 'string' } }, required: ['b'] },
    { type: 'object', properties: { a: { type: 'string' } }, anyOf: [{ required: ['a'] }] },
    { allOf: [{ type: 'string' }, { type: 'integer' }] },
    { if: {}, then: {} },
    true,
    {},
  ])
    expect(json(object({ x: inexpressible }))).toEqual(object({ x: inexpressible }));
});

function faultOf(schema: JsonObject): string {
  try {
    schemaFor(schema, 'tools[0]');
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'invalid_request') return error.message;
    throw error;
  }
  return 'no fault';
}

test('references that lead nowhere, depth without end and growth without end are refused by name', () => {
  for (const $ref of ['#/$defs/Gone', 'https://example.com/schema', '#anchor', '#/properties/x/y/__proto__'])
    expect(faultOf(object({ x: { $ref } }))).toBe(`tools[0]: its schema refers to "${$ref}", which is not in it`);
  let deep: JsonObject = { type: 'string' };
  for (let depth = 0; depth < 50_000; depth++) deep = { type: 'array', items: deep };
  expect(faultOf(deep)).toBe('tools[0]: its schema is nested more than 100 levels deep');
  const $defs: Record<string, JsonObject> = { d0: { type: 'string' } };
  for (let level = 1; level < 40; level++)
    $defs[`d${level}`] = object({ a: { $ref: `#/$defs/d${level - 1}` }, b: { $ref: `#/$defs/d${level - 1}` } });
  expect(faultOf({ ...object({ x: { $ref: '#/$defs/d39' } }), $defs })).toBe(
    'tools[0]: its schema has more than 12000 parts when its references are written out',
  );
});
