import { expect, test } from 'bun:test';
import { GatewayError } from '../../../core/errors.ts';
import { readFilter } from './filter.ts';

test('a filter is read as it is', () => {
  const filter = {
    type: 'or',
    filters: [
      { type: 'eq', key: 'draft', value: false },
      {
        type: 'and',
        filters: [
          { type: 'gte', key: 'year', value: 2020 },
          { type: 'in', key: 'land', value: ['no', 1] },
        ],
      },
    ],
  };
  expect(readFilter(filter)).toEqual(filter as never);
});

const nested = (depth: number): object =>
  depth === 0 ? { type: 'eq', key: 'a', value: 1 } : { type: 'and', filters: [nested(depth - 1)] };

const faults = [
  ['text', 'invalid_type', 'filters', "Invalid type for 'filters': expected an object, but got a string instead."],
  [{}, 'missing_required_parameter', 'filters.type', "Missing required parameter: 'filters.type'."],
  [
    { type: 'like', key: 'a', value: 'b' },
    'invalid_value',
    'filters.type',
    "Invalid value: 'like'. Supported values are: 'eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'and', 'or'.",
  ],
  [{ type: 'eq', value: 1 }, 'missing_required_parameter', 'filters.key', "Missing required parameter: 'filters.key'."],
  [
    { type: 'gt', key: 'a', value: true },
    'invalid_type',
    'filters.value',
    "Invalid type for 'filters.value': expected a string or a number, but got a boolean instead.",
  ],
  [
    { type: 'eq', key: 'a', value: 1, extra: 2 },
    'unknown_parameter',
    'filters.extra',
    "Unknown parameter: 'filters.extra'.",
  ],
  [
    {
      type: 'and',
      filters: [
        { type: 'eq', key: 'a', value: 1 },
        { type: 'in', key: 'b', value: [1, null] },
      ],
    },
    'invalid_type',
    'filters.filters[1].value[1]',
    "Invalid type for 'filters.filters[1].value[1]': expected a string, a number or a boolean, but got null instead.",
  ],
  [
    { type: 'or', filters: [] },
    'array_below_min_length',
    'filters.filters',
    "Invalid 'filters.filters': array too short. Expected an array with minimum length 1, but got an array with length 0 instead.",
  ],
] as const;

for (const [given, code, param, message] of faults) {
  test(`a fault of ${param} is refused with ${code}`, () => {
    expect(caught(() => readFilter(given))).toMatchObject({ code, param, message });
  });
}

test('endless depth and endless values are refused', () => {
  expect(caught(() => readFilter(nested(10_000))).message).toContain('nested 16 levels deep');
  const values = Array.from({ length: 501 }, (_, index) => index);
  expect(caught(() => readFilter({ type: 'in', key: 'a', value: values })).message).toContain('more than 500 values');
});

function caught(work: () => unknown): GatewayError {
  try {
    work();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
