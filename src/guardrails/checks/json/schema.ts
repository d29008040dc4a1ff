import { dereference, format as formats, type Schema, validate } from '@cfworker/json-schema';
import { compilePattern, isWithinReach } from '../../../core/patterns.ts';
import { keywordFault } from './schema-keywords.ts';

/** Says whether a value fits; throws when `isLate` says that it has taken too long. */
export type SchemaTest = (value: unknown, isLate: () => boolean) => boolean;

/** What is wrong with a schema, and where in it. */
export class SchemaFault extends Error {
  readonly path: readonly string[];

  constructor(path: readonly string[], message: string) {
    super(message);
    this.path = path;
  }
}

/** They are compared each with every other. */
const MOST_UNIQUE_ITEMS = 2_000;
const DEEPEST = 100;
/** Longer texts have no format: some of the validator's tests fall back to a slow way of matching. */
const LONGEST_WITH_FORMAT = 8_192;

type Node = Record<string, unknown>;
type TextTest = (text: string) => boolean;
type Lookup = Record<string, Schema | boolean>;

/** The validator's own. */
const table = formats as Record<string, TextTest>;

const isNode = (value: unknown): value is Node => value !== null && typeof value === 'object' && !Array.isArray(value);

/** Makes a test of a JSON Schema (2020-12). Throws `SchemaFault` on one that cannot be used. */
export function schemaTest(given: Node | boolean): SchemaTest {
  const check = schemaCheck(given);
  return (value, isLate) => check(value, isLate) === null;
}

/** The same, with what is wrong with a value in words; null: it fits. */
export function schemaCheck(given: Node | boolean): (value: unknown, isLate: () => boolean) => string | null {
  if (typeof given === 'boolean') return () => (given ? null : 'nothing fits the schema');
  refuseDepth(given);
  const schema = structuredClone(given) as Schema;
  const lookup = resolved(schema);
  const tests = new Map<string, TextTest>();
  let hasUniqueItems = false;
  for (const { node, path } of nodesIn(lookup)) {
    const fault = keywordFault(node);
    if (fault) throw new SchemaFault([...path, fault.name], `cannot be used; give ${fault.wanted}`);
    const { __absolute_ref__: target } = node as { __absolute_ref__?: string };
    if (target !== undefined && lookup[target] === undefined)
      throw new SchemaFault([...path, '$ref'], `leads nowhere: "${node.$ref}"`);
    hasUniqueItems ||= node.uniqueItems === true;
    takePattern(node, path, tests);
  }
  return (value, isLate) => {
    if (hasUniqueItems && holdsLongList(value)) throw new Error(`a list has more than ${MOST_UNIQUE_ITEMS} items`);
    // Nothing else runs before they are taken out again, so no other check sees them.
    for (const [name, test] of tests) table[name] = test;
    try {
      const { valid, errors } = validate(value, schema, '2020-12', watched(lookup, isLate), true);
      return valid ? null : faultIn(errors);
    } finally {
      for (const name of tests.keys()) delete table[name];
    }
  };
}

/** The innermost fault: those around it only say that there is one. */
function faultIn(errors: readonly { instanceLocation: string; error: string }[]): string {
  const { instanceLocation = '#', error = 'it does not fit the schema' } = errors.at(-1) ?? {};
  return `${instanceLocation}: ${error}`;
}

function resolved(schema: Schema): Lookup {
  try {
    return dereference(schema) as Lookup;
  } catch (error) {
    throw new SchemaFault([], `cannot be used: ${(error as Error).message}`);
  }
}

function* nodesIn(lookup: Lookup): Generator<{ node: Node; path: string[] }> {
  const seen = new Set<object>();
  for (const [address, node] of Object.entries(lookup)) {
    if (!isNode(node) || seen.has(node)) continue;
    seen.add(node);
    const pointer = address.split('#')[1] ?? '';
    yield { node, path: pointer.split('/').filter(Boolean).map(unescaped) };
  }
}

const unescaped = (part: string): string => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');

/**
 * The validator runs a `pattern` on the engine of JavaScript, which can be made to take for ever; a `format` is whatever
 * stands in its table. So both become formats of our own.
 */
function takePattern(node: Node, path: string[], tests: Map<string, TextTest>) {
  if (typeof node.format === 'string') {
    const test = table[node.format]!;
    node.format = `bounded ${node.format}`;
    tests.set(node.format as string, (text) => text.length <= LONGEST_WITH_FORMAT && test(text));
  }
  if (typeof node.pattern !== 'string') return;
  const name = `pattern ${node.pattern}`;
  try {
    const rule = compilePattern(node.pattern);
    tests.set(name, (text) => {
      if (!isWithinReach(rule, text)) throw new Error('a text is too long for its pattern');
      return rule.test(text);
    });
  } catch (error) {
    throw new SchemaFault([...path, 'pattern'], (error as Error).message);
  }
  delete node.pattern;
  node.allOf = [...(Array.isArray(node.allOf) ? node.allOf : []), { format: name }];
}

/** References that lead back to where they came from can double the work with each level. */
function watched(lookup: Lookup, isLate: () => boolean): Lookup {
  return new Proxy(lookup, {
    get: (target, name) => {
      if (isLate()) throw new Error('it took too long');
      return target[name as string];
    },
  });
}

function refuseDepth(schema: unknown, path: string[] = []) {
  if (path.length > DEEPEST) throw new SchemaFault([], `is nested deeper than ${DEEPEST} levels`);
  if (schema === null || typeof schema !== 'object') return;
  for (const [name, member] of Object.entries(schema)) refuseDepth(member, [...path, name]);
}

function holdsLongList(value: unknown): boolean {
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (next === null || typeof next !== 'object') continue;
    if (Array.isArray(next) && next.length > MOST_UNIQUE_ITEMS) return true;
    for (const member of Object.values(next)) waiting.push(member);
  }
  return false;
}
