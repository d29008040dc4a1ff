import { fail } from '../../../core/errors.ts';
import type { Attributes } from '../chunk-index.ts';

export type AttributeValue = Attributes[string];

/**
 * Which files of a store are searched, by their attributes. Text compares byte by byte; values of different types are
 * different, and neither is more than the other. A file without the attribute is `ne` and `nin`, and nothing else.
 */
export type Filter =
  | { readonly type: 'eq' | 'ne'; readonly key: string; readonly value: AttributeValue }
  | { readonly type: 'gt' | 'gte' | 'lt' | 'lte'; readonly key: string; readonly value: string | number }
  | { readonly type: 'in' | 'nin'; readonly key: string; readonly value: readonly AttributeValue[] }
  | { readonly type: 'and' | 'or'; readonly filters: readonly Filter[] };

const COMPARISONS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin'] as const;
const COMPOUNDS = ['and', 'or'] as const;
const TYPES = [...COMPARISONS, ...COMPOUNDS];
type Comparison = (typeof COMPARISONS)[number];

/** As a database takes them without trouble. */
const DEEPEST = 16;
const MOST_VALUES = 500;

/** A filter as a client sends it; whatever is wrong with it is said with its place. */
export function readFilter(given: unknown, param = 'filters'): Filter {
  const count = { values: 0 };
  const filter = readAt(given, param, 1, count);
  if (count.values > MOST_VALUES)
    fail('invalid_value', param, `Invalid '${param}': it compares with more than ${MOST_VALUES} values.`);
  return filter;
}

function readAt(given: unknown, param: string, depth: number, count: { values: number }): Filter {
  if (depth > DEEPEST)
    fail('invalid_value', param, `Invalid '${param}': filters may be nested ${DEEPEST} levels deep.`);
  if (!isObject(given)) return fail('invalid_type', param, 'an object', wordFor(given));
  const { type } = given;
  if (type === undefined) return fail('missing_required_parameter', `${param}.type`);
  if (COMPOUNDS.some((each) => each === type)) return compound(given, param, depth, count);
  if (COMPARISONS.some((each) => each === type)) return comparison(given, param, count);
  const shown = typeof type === 'string' ? type.slice(0, 80) : (JSON.stringify(type)?.slice(0, 80) ?? '');
  const supported = TYPES.map((each) => `'${each}'`).join(', ');
  return fail('invalid_value', `${param}.type`, `Invalid value: '${shown}'. Supported values are: ${supported}.`);
}

function compound(given: Record<string, unknown>, param: string, depth: number, count: { values: number }): Filter {
  refuseOthers(given, param, ['type', 'filters']);
  const { filters } = given;
  if (filters === undefined) fail('missing_required_parameter', `${param}.filters`);
  if (!Array.isArray(filters)) return fail('invalid_type', `${param}.filters`, 'an array', wordFor(filters));
  if (filters.length === 0) fail('array_below_min_length', `${param}.filters`, 1, 0);
  if (filters.length > MOST_VALUES) fail('array_above_max_length', `${param}.filters`, MOST_VALUES, filters.length);
  return {
    type: given.type as 'and' | 'or',
    filters: filters.map((each, index) => readAt(each, `${param}.filters[${index}]`, depth + 1, count)),
  };
}

function comparison(given: Record<string, unknown>, param: string, count: { values: number }): Filter {
  refuseOthers(given, param, ['type', 'key', 'value']);
  const type = given.type as Comparison;
  const { key, value } = given;
  if (key === undefined) fail('missing_required_parameter', `${param}.key`);
  if (typeof key !== 'string') return fail('invalid_type', `${param}.key`, 'a string', wordFor(key));
  if (value === undefined) fail('missing_required_parameter', `${param}.value`);
  const where = `${param}.value`;
  if (type === 'in' || type === 'nin') {
    if (!Array.isArray(value)) return fail('invalid_type', where, 'an array', wordFor(value));
    if (value.length === 0) fail('array_below_min_length', where, 1, 0);
    count.values += value.length;
    const values = value.map((each, index) => readValue(each, `${where}[${index}]`, 'any'));
    return { type, key: key.toWellFormed(), value: values };
  }
  count.values++;
  if (type === 'eq' || type === 'ne') return { type, key: key.toWellFormed(), value: readValue(value, where, 'any') };
  return { type, key: key.toWellFormed(), value: readValue(value, where, 'ordered') as string | number };
}

function readValue(value: unknown, param: string, kind: 'any' | 'ordered'): AttributeValue {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean' && kind === 'any') return value;
  const expected = kind === 'any' ? 'a string, a number or a boolean' : 'a string or a number';
  return fail('invalid_type', param, expected, wordFor(value));
}

function refuseOthers(given: Record<string, unknown>, param: string, known: readonly string[]) {
  const other = Object.keys(given).find((name) => !known.includes(name));
  if (other !== undefined) fail('unknown_parameter', `${param}.${other.slice(0, 80)}`);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

function wordFor(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
