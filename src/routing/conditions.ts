import type { RE2JS } from 're2js';
import { fail } from '../core/errors.ts';
import { compilePattern } from '../core/patterns.ts';

/** What a condition may look at. */
export interface Facts {
  readonly metadata: Readonly<Record<string, string>> | null;
  /** The parsed body; asked for only by conditions on `params`. */
  readonly params: () => Readonly<Record<string, unknown>> | null;
  readonly pathname: string;
}

export type Condition = (facts: Facts) => boolean;

type Test = (value: unknown) => boolean;

/**
 * Time that is linear in the text is also linear in the pattern, and every other call waits meanwhile: these three
 * together stay far below a second.
 */
const MOST_PATTERNS = 20;
const LARGEST_PATTERN = 256;
const MOST_STEPS = 1 << 20;

/** How many patterns the config may still have. */
export interface PatternBudget {
  left: number;
}
export const patternBudget = (): PatternBudget => ({ left: MOST_PATTERNS });

/**
 * `{ "metadata.tier": { "$eq": "paid" }, "$or": [ … ] }` as a function. Members of an object hold together. A missing
 * value satisfies nothing, not even $ne.
 */
export function compileCondition(query: unknown, path: string, budget = patternBudget()): Condition {
  if (!isObject(query) || Object.keys(query).length === 0)
    fail('invalid_config', path, 'give an object such as {"metadata.tier": {"$eq": "paid"}}');
  const all = Object.entries(query).map(([key, value]) =>
    compileMember(key, value, { path: `${path}.${key}`, budget }),
  );
  return (facts) => all.every((holds) => holds(facts));
}

interface Place {
  readonly path: string;
  readonly budget: PatternBudget;
}

function compileMember(key: string, value: unknown, { path, budget }: Place): Condition {
  if (key === '$and' || key === '$or') {
    if (!Array.isArray(value) || value.length === 0) fail('invalid_config', path, 'give a list of conditions');
    const parts = value.map((each, index) => compileCondition(each, `${path}[${index}]`, budget));
    return key === '$and'
      ? (facts) => parts.every((holds) => holds(facts))
      : (facts) => parts.some((holds) => holds(facts));
  }
  const read = reader(key, path);
  const test = compileTest(value, { path, budget });
  return (facts) => {
    const found = read(facts);
    return found !== undefined && found !== null && test(found);
  };
}

function reader(key: string, path: string): (facts: Facts) => unknown {
  if (key === 'url.pathname') return (facts) => facts.pathname;
  const dot = key.indexOf('.');
  const area = key.slice(0, dot);
  const name = key.slice(dot + 1);
  if (name !== '' && area === 'metadata')
    return ({ metadata }) => (metadata && Object.hasOwn(metadata, name) ? metadata[name] : undefined);
  if (name !== '' && area === 'params') {
    const steps = name.split('.');
    return (facts) =>
      steps.reduce<unknown>(
        (value, step) => (isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined),
        facts.params(),
      );
  }
  return fail('invalid_config', path, 'give metadata.<key>, params.<key>, url.pathname, $and or $or');
}

function compileTest(value: unknown, { path, budget }: Place): Test {
  if (!isObject(value)) return equals(primitive(value, path));
  const tests = Object.entries(value).map(([operator, operand]) => {
    const make = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
    if (!make)
      fail('invalid_config', `${path}.${operator}`, `is no operator; known are ${Object.keys(OPERATORS).join(', ')}`);
    if (operator === '$regex' && --budget.left < 0)
      fail('invalid_config', `${path}.${operator}`, `is one pattern too many; a config has at most ${MOST_PATTERNS}`);
    return make(operand, `${path}.${operator}`);
  });
  if (tests.length === 0) fail('invalid_config', path, 'give an operator such as {"$eq": "paid"}');
  return (found) => tests.every((test) => test(found));
}

const OPERATORS: Readonly<Record<string, (operand: unknown, path: string) => Test>> = {
  $eq: (operand, path) => equals(primitive(operand, path)),
  $ne: (operand, path) => not(equals(primitive(operand, path))),
  $in: (operand, path) => oneOf(list(operand, path)),
  $nin: (operand, path) => not(oneOf(list(operand, path))),
  $gt: (operand, path) => compares(operand, path, (order) => order > 0),
  $gte: (operand, path) => compares(operand, path, (order) => order >= 0),
  $lt: (operand, path) => compares(operand, path, (order) => order < 0),
  $lte: (operand, path) => compares(operand, path, (order) => order <= 0),
  $regex: (operand, path) => matches(operand, path),
};

const not =
  (test: Test): Test =>
  (found) =>
    !test(found);

/** Metadata are strings, parameters are not: to the author of a condition, 5 and "5" are the same. */
const equals =
  (wanted: Primitive): Test =>
  (found) =>
    found === wanted || (isPrimitive(found) && String(found) === String(wanted));

const oneOf = (wanted: readonly Primitive[]): Test => {
  const tests = wanted.map(equals);
  return (found) => tests.some((test) => test(found));
};

function compares(operand: unknown, path: string, holds: (order: number) => boolean): Test {
  const wanted = primitive(operand, path);
  const number = Number(wanted);
  if (wanted !== '' && !Number.isNaN(number)) {
    return (found) => {
      const value = typeof found === 'string' && found.trim() === '' ? Number.NaN : Number(found);
      return isPrimitive(found) && !Number.isNaN(value) && holds(value - number);
    };
  }
  const text = String(wanted);
  return (found) => typeof found === 'string' && holds(found < text ? -1 : found > text ? 1 : 0);
}

/** Patterns of users run on an engine whose time is linear in the text. A text that is too long satisfies none. */
function matches(operand: unknown, path: string): Test {
  if (typeof operand !== 'string') fail('invalid_config', path, 'give a pattern as a string');
  let pattern: RE2JS;
  try {
    pattern = compilePattern(operand);
  } catch (error) {
    fail('invalid_config', path, (error as Error).message);
  }
  const size = pattern.programSize();
  if (size > LARGEST_PATTERN)
    fail('invalid_config', path, 'is too large a pattern; repeat less with {…}, or give several');
  return (found) => {
    const text = isPrimitive(found) ? String(found) : null;
    return text !== null && text.length * size <= MOST_STEPS && pattern.matcher(text).find();
  };
}

type Primitive = string | number | boolean;
const isPrimitive = (value: unknown): value is Primitive =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

function primitive(value: unknown, path: string): Primitive {
  return isPrimitive(value) ? value : fail('invalid_config', path, 'give a string, a number or a boolean');
}

function list(value: unknown, path: string): Primitive[] {
  if (!Array.isArray(value) || value.length === 0) fail('invalid_config', path, 'give a list of values');
  return value.map((each, index) => primitive(each, `${path}[${index}]`));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
