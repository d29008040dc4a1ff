import { dereference, format as formats, type Schema, validate } from '@cfworker/json-schema';
import { RE2JS } from 're2js';
import { keywordFault } from './schema-keywords.ts';

/** Says whether a value fits; throws when that takes too long. */
export type SchemaTest = (value: unknown) => boolean;

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
/** References that lead back to where they came from can double the work with each level. */
const MOST_REFERENCES = 100_000;
const DEEPEST = 100;

type Node = Record<string, unknown>;
type Lookup = Record<string, Schema | boolean>;

const isNode = (value: unknown): value is Node => value !== null && typeof value === 'object' && !Array.isArray(value);

/** Makes a test of a JSON Schema (2020-12). Throws `SchemaFault` on one that cannot be used. */
export function schemaTest(given: Node | boolean): SchemaTest {
  if (typeof given === 'boolean') return () => given;
  refuseDepth(given);
  const schema = structuredClone(given) as Schema;
  const lookup = resolved(schema);
  const patterns = new Map<string, (text: string) => boolean>();
  let hasUniqueItems = false;
  for (const { node, path } of nodesIn(lookup)) {
    const fault = keywordFault(node);
    if (fault) throw new SchemaFault([...path, fault.name], `cannot be used; give ${fault.wanted}`);
    const { __absolute_ref__: target } = node as { __absolute_ref__?: string };
    if (target !== undefined && lookup[target] === undefined)
      throw new SchemaFault([...path, '$ref'], `leads nowhere: "${node.$ref}"`);
    hasUniqueItems ||= node.uniqueItems === true;
    takePattern(node, path, patterns);
  }
  return (value) => {
    if (hasUniqueItems && holdsLongList(value)) throw new Error(`a list has more than ${MOST_UNIQUE_ITEMS} items`);
    // Nothing else runs before they are taken out again, so nobody else sees them.
    const table = formats as Record<string, unknown>;
    for (const [name, test] of patterns) table[name] = test;
    try {
      return validate(value, schema, '2020-12', counted(lookup), true).valid;
    } finally {
      for (const name of patterns.keys()) delete table[name];
    }
  };
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
 * stands in its table. So patterns become formats.
 */
function takePattern(node: Node, path: string[], patterns: Map<string, (text: string) => boolean>) {
  if (typeof node.pattern !== 'string') return;
  const name = `pattern ${node.pattern}`;
  try {
    const rule = RE2JS.compile(node.pattern);
    patterns.set(name, (text) => rule.test(text));
  } catch (error) {
    throw new SchemaFault([...path, 'pattern'], `is not a pattern of the RE2 kind: ${(error as Error).message}`);
  }
  delete node.pattern;
  node.allOf = [...(Array.isArray(node.allOf) ? node.allOf : []), { format: name }];
}

/** Gives up in the end. */
function counted(lookup: Lookup): Lookup {
  let left = MOST_REFERENCES;
  return new Proxy(lookup, {
    get: (target, name) => {
      if (left-- <= 0) throw new Error('the schema refers to itself too often');
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
