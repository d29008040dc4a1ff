import { describe, expect, test } from 'bun:test';
import * as z from 'zod';
import type { GatewayError } from '../core/errors.ts';
import { listQuery } from '../core/list.ts';
import { newMetadata } from '../core/metadata-rule.ts';
import { checked } from './input.ts';

const body = z.strictObject({
  model: z.string().min(1).max(5),
  temperature: z.number().min(0).max(2).optional(),
  count: z.int().min(1).max(10).optional(),
  purpose: z.enum(['a', 'b']).optional(),
  parts: z.array(z.string()).min(1).max(2).optional(),
  nested: z.strictObject({ seconds: z.int().min(60) }).optional(),
  format: z.union([z.literal('auto'), z.strictObject({ type: z.literal('json') })]).optional(),
  tool: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('f'), n: z.int().max(3) }),
      z.strictObject({ type: z.literal('g') }),
    ])
    .optional(),
  metadata: newMetadata,
});

function faultOf(schema: z.ZodType, value: unknown) {
  try {
    checked(schema, value, 'body', 'openai');
  } catch (error) {
    const { message, type, param, code } = (error as GatewayError).body().error;
    expect(type).toBe('invalid_request_error');
    return [code, param, message];
  }
  throw new Error('no fault');
}

const ok = { model: 'm' };

describe('a fault has the code, the parameter and the words of OpenAI', () => {
  const cases: [unknown, string, string, string][] = [
    [{}, 'missing_required_parameter', 'model', "Missing required parameter: 'model'."],
    [{ ...ok, foo: 1 }, 'unknown_parameter', 'foo', "Unknown parameter: 'foo'."],
    [
      { ...ok, nested: {} },
      'missing_required_parameter',
      'nested.seconds',
      "Missing required parameter: 'nested.seconds'.",
    ],
    [{ ...ok, nested: { seconds: 60, x: 1 } }, 'unknown_parameter', 'nested.x', "Unknown parameter: 'nested.x'."],
    [{ model: 5 }, 'invalid_type', 'model', "Invalid type for 'model': expected a string, but got an integer instead."],
    [{ model: null }, 'invalid_type', 'model', "Invalid type for 'model': expected a string, but got null instead."],
    [
      { ...ok, temperature: 'x' },
      'invalid_type',
      'temperature',
      "Invalid type for 'temperature': expected a decimal, but got a string instead.",
    ],
    [
      { ...ok, count: 'x' },
      'invalid_type',
      'count',
      "Invalid type for 'count': expected an integer, but got a string instead.",
    ],
    [
      { ...ok, count: 1.5 },
      'invalid_type',
      'count',
      "Invalid type for 'count': expected an integer, but got a decimal instead.",
    ],
    [
      { ...ok, parts: {} },
      'invalid_type',
      'parts',
      "Invalid type for 'parts': expected an array, but got an object instead.",
    ],
    [
      { ...ok, parts: ['a', 1] },
      'invalid_type',
      'parts[1]',
      "Invalid type for 'parts[1]': expected a string, but got an integer instead.",
    ],
    [[], 'invalid_type', 'body', "Invalid type for 'body': expected an object, but got an array instead."],
    [{ ...ok, purpose: 'c' }, 'invalid_value', 'purpose', "Invalid value: 'c'. Supported values are: 'a', 'b'."],
    [
      { ...ok, count: 11 },
      'integer_above_max_value',
      'count',
      "Invalid 'count': integer above maximum value. Expected a value <= 10, but got 11 instead.",
    ],
    [
      { ...ok, count: 0 },
      'integer_below_min_value',
      'count',
      "Invalid 'count': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    ],
    [
      { ...ok, temperature: 3 },
      'decimal_above_max_value',
      'temperature',
      "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
    ],
    [
      { ...ok, temperature: -1 },
      'decimal_below_min_value',
      'temperature',
      "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.",
    ],
    [
      { model: 'abcdef' },
      'string_above_max_length',
      'model',
      "Invalid 'model': string too long. Expected a string with maximum length 5, but got a string with length 6 instead.",
    ],
    [
      { model: '' },
      'string_below_min_length',
      'model',
      "Invalid 'model': string too short. Expected a string with minimum length 1, but got a string with length 0 instead.",
    ],
    [
      { ...ok, parts: ['a', 'b', 'c'] },
      'array_above_max_length',
      'parts',
      "Invalid 'parts': array too long. Expected an array with maximum length 2, but got an array with length 3 instead.",
    ],
    [
      { ...ok, parts: [] },
      'array_below_min_length',
      'parts',
      "Invalid 'parts': array too short. Expected an array with minimum length 1, but got an array with length 0 instead.",
    ],
    [{ ...ok, format: 'none' }, 'invalid_value', 'format', "Invalid value: 'none'. Supported values are: 'auto'."],
    [
      { ...ok, format: 3 },
      'invalid_type',
      'format',
      "Invalid type for 'format': expected a string or an object, but got an integer instead.",
    ],
    [
      { ...ok, format: { type: 'xml' } },
      'invalid_value',
      'format.type',
      "Invalid value: 'xml'. Supported values are: 'json'.",
    ],
    [
      { ...ok, tool: { type: 'h' } },
      'invalid_value',
      'tool.type',
      "Invalid value: 'h'. Supported values are: 'f', 'g'.",
    ],
    [{ ...ok, tool: {} }, 'missing_required_parameter', 'tool.type', "Missing required parameter: 'tool.type'."],
    [
      { ...ok, tool: { type: 'f', n: 4 } },
      'integer_above_max_value',
      'tool.n',
      "Invalid 'tool.n': integer above maximum value. Expected a value <= 3, but got 4 instead.",
    ],
    [{ ...ok, purpose: 'a\0' }, 'invalid_value', 'purpose', "Invalid 'purpose': it must not contain U+0000."],
  ];
  for (const [value, code, param, message] of cases) {
    test(`${JSON.stringify(value)}`, () => expect(faultOf(body, value)).toEqual([code, param, message]));
  }
});

describe('metadata', () => {
  const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));
  const parsed = (metadata: unknown) => body.parse({ ...ok, metadata }).metadata;

  test('absent and null are none, and what fits is kept as it is', () => {
    expect([parsed(undefined), parsed(null), parsed({})]).toEqual([{}, {}, {}]);
    // Sixteen pairs, and lengths in code points: this letter has two code units.
    const full = { ...pairs(14), ['😀'.repeat(64)]: '😀'.repeat(512), '': '' };
    expect(parsed(full)).toEqual(full);
    const odd = JSON.parse('{"__proto__":"kept"}');
    expect(JSON.stringify(parsed(odd))).toBe('{"__proto__":"kept"}');
  });

  const cases: [unknown, string, string, string][] = [
    ['x', 'invalid_type', 'metadata', "Invalid type for 'metadata': expected an object, but got a string instead."],
    [['x'], 'invalid_type', 'metadata', "Invalid type for 'metadata': expected an object, but got an array instead."],
    [
      pairs(17),
      'object_above_max_properties',
      'metadata',
      "Invalid 'metadata': too many properties. Expected an object with at most 16 properties, but got an object with 17 properties instead.",
    ],
    [
      { a: 1 },
      'invalid_type',
      'metadata.a',
      "Invalid type for 'metadata.a': expected a string, but got an integer instead.",
    ],
    [
      { a: 'x'.repeat(513) },
      'invalid_value',
      'metadata.a',
      "Invalid 'metadata.a': a value has at most 512 characters, this one has 513.",
    ],
    [
      { ['k'.repeat(65)]: '' },
      'invalid_value',
      `metadata.${'k'.repeat(65)}`,
      `Invalid 'metadata.${'k'.repeat(65)}': a key has at most 64 characters, this one has 65.`,
    ],
  ];
  for (const [metadata, code, param, message] of cases) {
    test(`${code} ${param.slice(0, 20)}`, () =>
      expect(faultOf(body, { ...ok, metadata })).toEqual([code, param, message]));
  }
});

test('a limit outside its range is told in the words of OpenAI, with the number that was sent', () => {
  expect(faultOf(listQuery(), { limit: '101' })).toEqual([
    'integer_above_max_value',
    'limit',
    "Invalid 'limit': integer above maximum value. Expected a value <= 100, but got 101 instead.",
  ]);
  expect(faultOf(listQuery(), { limit: '0' })[0]).toBe('integer_below_min_value');
  expect(faultOf(listQuery(), { limit: 'ten' })).toEqual([
    'invalid_type',
    'limit',
    "Invalid type for 'limit': expected an integer, but got a string instead.",
  ]);
  expect(faultOf(listQuery(), { order: 'up' })[2]).toBe("Invalid value: 'up'. Supported values are: 'asc', 'desc'.");
});
