import type * as z from 'zod';
import { charactersIn, firstCharacters } from '../core/characters.ts';
import { fail } from '../core/errors.ts';

type Issue = z.core.$ZodIssue;

const LONGEST_SHOWN = 100;

/** Answers a fault of an input in the words and with the codes of OpenAI's API. */
export function failLikeOpenai(schema: z.ZodType, value: unknown, issue: Issue): never {
  const param = paramOf(issue.path) || 'body';
  const found = valueAt(value, issue.path);
  if (issue.code === 'unrecognized_keys') fail('unknown_parameter', paramOf([...issue.path, issue.keys[0]!]));
  if (found === undefined && issue.path.length > 0) fail('missing_required_parameter', param);
  const isWhole = () => wantsWhole(schema, value, issue.path);
  switch (issue.code) {
    case 'invalid_type':
      return fail('invalid_type', param, expectedIn(issue.expected, isWhole), gotWord(found));
    case 'invalid_value':
      return unsupported(param, found, issue.values);
    case 'too_big':
      return tooBig(issue, param, found, isWhole);
    case 'too_small':
      return tooSmall(issue, param, found, isWhole);
    case 'invalid_union':
      return inNoForm(issue, schema, value, found);
    default:
      return fail('invalid_value', param, `Invalid '${param}': ${issue.message}.`);
  }
}

function tooBig(issue: z.core.$ZodIssueTooBig, param: string, found: unknown, isWhole: () => boolean): never {
  const most = Number(issue.maximum);
  if (Array.isArray(found)) fail('array_above_max_length', param, most, found.length);
  if (typeof found === 'string' && issue.origin === 'string')
    fail('string_above_max_length', param, most, charactersIn(found));
  if (found !== null && typeof found === 'object')
    fail('object_above_max_properties', param, most, Object.keys(found).length);
  return fail(isWhole() ? 'integer_above_max_value' : 'decimal_above_max_value', param, most, Number(found));
}

function tooSmall(issue: z.core.$ZodIssueTooSmall, param: string, found: unknown, isWhole: () => boolean): never {
  const least = Number(issue.minimum);
  if (Array.isArray(found)) fail('array_below_min_length', param, least, found.length);
  if (typeof found === 'string' && issue.origin === 'string')
    fail('string_below_min_length', param, least, charactersIn(found));
  return fail(isWhole() ? 'integer_below_min_value' : 'decimal_below_min_value', param, least, Number(found));
}

/** Of a union: the fault of the one form that has the value's type, or else every value and every type that would do. */
function inNoForm(issue: z.core.$ZodIssueInvalidUnion, schema: z.ZodType, value: unknown, found: unknown): never {
  const param = paramOf(issue.path);
  const { options } = issue as { options?: readonly unknown[] };
  if (options) return unsupported(param, found, options);
  const isOtherType = (fault: Issue) =>
    fault.path.length === 0 &&
    (fault.code === 'invalid_type' ||
      (fault.code === 'invalid_value' && fault.values.every((each) => typeof each !== typeof found)));
  const fitting = issue.errors.filter((faults) => !faults.some(isOtherType));
  if (fitting.length === 1) {
    const [fault] = fitting[0]!;
    return failLikeOpenai(schema, value, { ...fault!, path: [...issue.path, ...fault!.path] });
  }
  const roots = (fitting.length > 0 ? fitting : issue.errors).flat().filter(({ path }) => path.length === 0);
  const values = roots.flatMap((fault) => (fault.code === 'invalid_value' ? fault.values : []));
  if (fitting.length > 0 && values.length > 0) return unsupported(param, found, values);
  const types = roots.flatMap((fault) => (fault.code === 'invalid_type' ? fault.expected : []));
  const words = [...values.map((each) => typeof each), ...types].map(typeWord);
  if (words.length > 0) return fail('invalid_type', param, [...new Set(words)].join(' or '), gotWord(found));
  return fail('invalid_value', param, `Invalid '${param}': ${issue.message}.`);
}

function unsupported(param: string, found: unknown, values: readonly unknown[]): never {
  const shown = typeof found === 'string' ? found : (JSON.stringify(found) ?? String(found));
  const supported = values.map((value) => `'${String(value)}'`).join(', ');
  return fail(
    'invalid_value',
    param,
    `Invalid value: '${firstCharacters(shown, LONGEST_SHOWN)}'. Supported values are: ${supported}.`,
  );
}

/** A schema does not say with a fault whether it wants whole numbers; it says so when it is shown another. */
function wantsWhole(schema: z.ZodType, value: unknown, path: readonly PropertyKey[]): boolean {
  const { issues = [] } = schema.safeParse(withValue(value, path, 0.5)).error ?? {};
  const where = paramOf(path);
  return issues.some(
    (issue) => issue.code === 'invalid_type' && issue.expected === 'int' && paramOf(issue.path) === where,
  );
}

function withValue(whole: unknown, [first, ...rest]: readonly PropertyKey[], value: unknown): unknown {
  if (first === undefined) return value;
  const copy: Record<PropertyKey, unknown> = Array.isArray(whole) ? ([...whole] as never) : { ...(whole as object) };
  copy[first] = withValue(copy[first], rest, value);
  return copy;
}

function valueAt(whole: unknown, path: readonly PropertyKey[]): unknown {
  let found = whole;
  for (const part of path) {
    if (found === null || typeof found !== 'object' || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<PropertyKey, unknown>)[part];
  }
  return found;
}

const expectedIn = (expected: string, isWhole: () => boolean): string =>
  expected === 'number' && isWhole() ? typeWord('int') : typeWord(expected);

const TYPES: Readonly<Record<string, string>> = {
  int: 'an integer',
  number: 'a decimal',
  object: 'an object',
  record: 'an object',
  array: 'an array',
  null: 'null',
};
const typeWord = (type: string): string => TYPES[type] ?? `a ${type}`;

function gotWord(found: unknown): string {
  if (found === null) return 'null';
  if (Array.isArray(found)) return 'an array';
  if (typeof found === 'number') return typeWord(Number.isInteger(found) ? 'int' : 'number');
  return typeWord(typeof found);
}

/** `expires_after.seconds`, `part_ids[2]`. */
export const paramOf = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part)),
    '',
  );
