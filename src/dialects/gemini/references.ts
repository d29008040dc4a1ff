import { fail } from '../../core/errors.ts';
import type { JsonObject } from '../ir.ts';
import { isObject } from '../json.ts';

/** References can double a schema at every step; a schema beyond these bounds is an attack or a mistake. */
/** Schemas, and members of them. */
const MOST_PARTS = 12_000;
const MOST_DEPTH = 100;

/** Keywords whose value is a schema or a list of schemas, and those with a schema under each name. Others hold data. */
const SCHEMAS = new Set([
  'items',
  'prefixItems',
  'additionalItems',
  'contains',
  'additionalProperties',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
]);
const SCHEMA_MAPS = new Set(['properties', 'patternProperties', 'dependentSchemas']);
/** Nothing refers to them once references are written out, and they tell a model nothing. */
const LEFT_OUT = new Set(['$ref', '$defs', 'definitions', '$schema', '$id', '$comment']);
/** What may stand beside a reference without narrowing it. */
const ANNOTATIONS = new Set(['title', 'description', 'default', 'examples', 'example', 'deprecated']);

export interface WrittenOut {
  readonly schema: JsonObject;
  readonly hasReferences: boolean;
  /** Schemas that hold themselves stay under `$defs`, and are the only ones still referred to. */
  readonly isRecursive: boolean;
}

/** The schema with what it refers to in place. `path` is where the client put it, for faults. */
export function writtenOut(schema: JsonObject, path: string): WrittenOut {
  const writer = new Writer(schema, path);
  const written = writer.node(schema, ['#'], 0) as JsonObject;
  const definitions = writer.definitions();
  const isRecursive = Object.keys(definitions).length > 0;
  return {
    schema: isRecursive ? { ...written, $defs: definitions } : written,
    hasReferences: writer.hasReferences,
    isRecursive,
  };
}

class Writer {
  readonly #root: JsonObject;
  readonly #path: string;
  /** Pointers to schemas that hold themselves, and what they are called. */
  readonly #recursive = new Map<string, string>();
  #parts = 0;
  hasReferences = false;

  constructor(root: JsonObject, path: string) {
    this.#root = root;
    this.#path = path;
  }

  /** `open` are the pointers that are being written out around this node. */
  node(value: unknown, open: readonly string[], depth: number): unknown {
    if (Array.isArray(value)) return value.map((item) => this.node(item, open, depth + 1));
    if (!isObject(value)) return value;
    if (depth > MOST_DEPTH) this.#refuse(`is nested more than ${MOST_DEPTH} levels deep`);
    this.#count();
    const rest = this.#members(value, open, depth);
    if (typeof value.$ref !== 'string') return rest;
    this.hasReferences = true;
    const target = this.#target(value.$ref, open, depth);
    return Object.keys(rest).length > 0 ? narrowed(target, rest) : target;
  }

  /** Writing one down may show others, so the list grows while it is read. */
  definitions(): JsonObject {
    const definitions: Record<string, unknown> = {};
    for (const [pointer, name] of this.#recursive) definitions[name] = this.node(this.#resolve(pointer), [pointer], 0);
    return definitions;
  }

  #members(value: JsonObject, open: readonly string[], depth: number): JsonObject {
    const members: Record<string, unknown> = {};
    for (const name in value) {
      this.#count();
      const member = value[name];
      if (LEFT_OUT.has(name)) continue;
      if (SCHEMAS.has(name)) members[name] = this.node(member, open, depth + 1);
      else if (SCHEMA_MAPS.has(name) && isObject(member))
        members[name] = Object.fromEntries(
          Object.entries(member).map(([key, inner]) => [key, this.node(inner, open, depth + 1)]),
        );
      else members[name] = member;
    }
    return members;
  }

  #count() {
    if (++this.#parts > MOST_PARTS)
      this.#refuse(`has more than ${MOST_PARTS} parts when its references are written out`);
  }

  #target(reference: string, open: readonly string[], depth: number): unknown {
    if (!open.includes(reference)) return this.node(this.#resolve(reference), [...open, reference], depth + 1);
    let name = this.#recursive.get(reference);
    if (name === undefined) {
      name = `${reference.slice(reference.lastIndexOf('/') + 1).replace(/[^A-Za-z0-9_]/g, '') || 'root'}`;
      while ([...this.#recursive.values()].includes(name)) name += '_';
      this.#recursive.set(reference, name);
    }
    return { $ref: `#/$defs/${name}` };
  }

  #resolve(reference: string): unknown {
    if (reference !== '#' && !reference.startsWith('#/')) this.#refuse(`refers to "${reference}", which is not in it`);
    let found: unknown = this.#root;
    for (const step of reference.split('/').slice(1)) {
      const name = decoded(step);
      const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, name);
      if (!isThere) this.#refuse(`refers to "${reference}", which is not in it`);
      found = (found as Record<string, unknown>)[name];
    }
    return found;
  }

  #refuse(why: string): never {
    return fail('invalid_request', this.#path, `its schema ${why}`);
  }
}

/** A step of a JSON pointer inside an address. */
function decoded(step: string): string {
  let plain = step;
  try {
    plain = decodeURIComponent(step);
  } catch {
    // A per cent sign that is meant as one.
  }
  return plain.replaceAll('~1', '/').replaceAll('~0', '~');
}

function narrowed(target: unknown, rest: JsonObject): unknown {
  const isAnnotated = Object.keys(rest).every((name) => ANNOTATIONS.has(name));
  if (!isObject(target) || !isAnnotated) return { allOf: [target, rest] };
  // Gemini takes nothing beside a reference.
  return '$ref' in target ? { anyOf: [target], ...rest } : { ...target, ...rest };
}
