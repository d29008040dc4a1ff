import { expect, test } from 'bun:test';
import { functionNames, identifierOf, stubOf } from './python-stubs.ts';

const tool = (properties: Record<string, unknown>, more: object = {}) => ({
  name: 'a__b',
  description: 'Does it.',
  inputSchema: { type: 'object', properties, ...more },
});
const head = (properties: Record<string, unknown>, more?: object) =>
  stubOf(tool(properties, more), 'a__b').split('\n')[0];

test('schemas become types of Python', () => {
  const one = (schema: unknown) => head({ x: schema }, { required: ['x'] })!.slice('async def a__b(*, x: '.length, -2);
  expect(one({ type: 'string' })).toBe('str');
  expect(one({ type: ['integer', 'null'] })).toBe('int | None');
  expect(one({ type: 'array', items: { type: 'number' } })).toBe('list[float]');
  expect(one({ enum: ['a', 1, null, true] })).toBe('Literal["a", 1, None, True]');
  expect(one({ anyOf: [{ type: 'boolean' }, { type: 'array' }, { type: 'boolean' }] })).toBe('bool | list');
  expect(one({ type: 'object', additionalProperties: { type: 'string' } })).toBe('dict[str, str]');
  expect(one({ type: 'object', properties: { 'a-b': { const: 'x' }, c: {} }, required: ['a-b'] })).toBe(
    '{"a-b": Literal["x"], "c": NotRequired[Any]}',
  );
  expect(one(true)).toBe('Any');
  expect(one({ type: '__proto__' })).toBe('Any');
});

test('required parameters come first, and what Python cannot name is said how to give', () => {
  expect(
    stubOf(tool({ b: { type: 'integer', default: 3 }, a: { description: 'The\n a.' } }, { required: ['a'] }), 'a__b'),
  ).toBe('async def a__b(*, a: Any, b: int = ...):\n    """Does it.\n    a: The a.\n    b: Default 3."""');
  expect(stubOf(tool({ 'user-id': { type: 'string' }, class: {} }), 'a__b')).toBe(
    'async def a__b(**more):\n    """Does it.\n    Give **{"user-id": str} if wanted\n    Give **{"class": Any} if wanted"""',
  );
  expect(stubOf({ name: 'x-y' }, null)).toBe('async def x_y():\n    """Call it as: await call_tool("x-y", {...})"""');
});

test('schemas that refer to themselves, are huge or hold no schema do no harm', () => {
  const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } };
  expect(head({ x: { $ref: '#/$defs/node' } }, { $defs: { node } })!.length).toBeLessThan(300);
  expect(head({ x: { $ref: '#/$defs/x' } }, { $defs: { x: { $ref: '#/$defs/x' } } })).toContain('x: Any');
  expect(head({ x: { $ref: 'http://elsewhere/x' } })).toContain('x: Any');
  const wide = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`p${n}`, { enum: ['x'.repeat(300)] }]));
  expect(head({ x: { type: 'object', properties: wide } })).toContain('x: Any');
  expect(stubOf({ name: 'q', description: 'End """ and \\', inputSchema: 7 }, 'q')).toBe(
    `async def q():\n    """End ''' and \\\\"""`,
  );
});

test('each function stands for one tool, and no function takes a name that programs need', () => {
  const none = () => false;
  expect([...functionNames(['a-b__c', 'x__y'], none)]).toEqual([
    ['a-b__c', 'a_b__c'],
    ['x__y', 'x__y'],
  ]);
  expect([...functionNames(['a-b__c', 'a_b__c'], none)]).toEqual([['a_b__c', 'a_b__c']]);
  expect([...functionNames(['a-b__c', 'a.b__c'], none)]).toEqual([]);
  expect([...functionNames(['a-b__c', 'd__e'], (name) => name.startsWith('a-b'))]).toEqual([['d__e', 'd__e']]);
  expect(['print', 'class', '1st', 'call_tool', 'ok'].map(identifierOf)).toEqual([
    'print_',
    'class_',
    '_1st',
    'call_tool_',
    'ok',
  ]);
});
