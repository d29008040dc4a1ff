import { below, DescriptionFault, isObject, type Json, memberOf, objectAt } from './fault.ts';

/** Thrown where a schema takes more than it may; one with fewer levels may do. */
export class TooLarge extends Error {}

const MOST_HOPS = 16;
/** In all operations together: what takes more was made to. */
const MOST_PARTS = 200_000;
export const MOST_PARTS_OF_ONE = 2_000;

/** What goes on as it is. Anything else is for generators of code, or of no use to models. */
const PLAIN = [
  'type',
  'format',
  'title',
  'description',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'deprecated',
];
const VALUES = ['enum', 'const', 'default'];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const SINGLE = ['items', 'not', 'additionalProperties'];

const isScalar = (value: unknown): boolean => value === null || typeof value !== 'object';
const isFlat = (value: unknown): boolean => isScalar(value) || (Array.isArray(value) && value.every(isScalar));

export interface Extent {
  /** Schemas inside each other. */
  readonly levels: number;
  /** That are left. */
  parts: number;
}

/** Follows references inside one description. */
export class References {
  readonly #root: Json;
  readonly #isOld: boolean;
  #parts = MOST_PARTS;

  constructor(root: Json, isOld: boolean) {
    this.#root = root;
    this.#isOld = isOld;
  }

  /** What stands at a place, or where its `$ref` leads. */
  follow(value: unknown, at: string): { readonly value: Json; readonly at: string } {
    let found = objectAt(value, at);
    let place = at;
    for (let hops = 0; typeof memberOf(found, '$ref') === 'string'; hops++) {
      if (hops >= MOST_HOPS) throw new DescriptionFault(below(at, '$ref'), 'leads nowhere: it goes round in a circle');
      const target = this.#target(found.$ref as string, below(place, '$ref'));
      found = objectAt(target.value, target.at);
      place = target.at;
    }
    return { value: found, at: place };
  }

  /** A schema without references, as JSON Schema. What is the same as something around it, or too deep, may be anything. */
  schema(value: unknown, at: string, extent: Extent, around: readonly string[] = [], level = 0): Json {
    if (typeof value === 'boolean') return value ? {} : { not: {} };
    const given = objectAt(value, at);
    this.#count(at, extent);
    const reference = memberOf(given, '$ref');
    if (typeof reference === 'string') {
      if (around.includes(reference) || level >= extent.levels) return this.#loose(given);
      const target = this.#target(reference, below(at, '$ref'));
      const found = this.schema(target.value, target.at, extent, [...around, reference], level);
      const said = memberOf(given, 'description');
      return typeof said === 'string' ? { ...found, description: said } : found;
    }
    const made = new Map<string, unknown>();
    for (const name of PLAIN) {
      const plain = memberOf(given, name);
      if (isFlat(plain) && plain !== undefined) made.set(name, plain);
    }
    for (const name of VALUES) {
      const values = memberOf(given, name);
      if (isFlat(values) && values !== undefined) made.set(name, values);
    }
    if (level < extent.levels)
      this.#inner(given, at, made, (inner, place) => this.schema(inner, place, extent, around, level + 1));
    if (this.#isOld) modernise(given, made);
    return Object.fromEntries(made);
  }

  #inner(given: Json, at: string, made: Map<string, unknown>, read: (value: unknown, at: string) => Json) {
    for (const name of LISTS) {
      const list = memberOf(given, name);
      if (list === undefined) continue;
      if (!Array.isArray(list)) throw new DescriptionFault(below(at, name), 'is to be a list of schemas');
      made.set(
        name,
        list.map((each, index) => read(each, below(at, name, index))),
      );
    }
    for (const name of SINGLE) {
      const one = memberOf(given, name);
      if (one !== undefined) made.set(name, typeof one === 'boolean' ? one : read(one, below(at, name)));
    }
    const properties = memberOf(given, 'properties');
    if (properties === undefined) return;
    const place = below(at, 'properties');
    const sent = Object.entries(objectAt(properties, place)).filter(
      ([, each]) => !isObject(each) || each.readOnly !== true,
    );
    made.set('properties', Object.fromEntries(sent.map(([name, each]) => [name, read(each, below(place, name))])));
    const names = new Set(sent.map(([name]) => name));
    const required = memberOf(given, 'required');
    // In 3.0 a schema of another kind may say it with true.
    if (Array.isArray(required)) {
      const needed = required.filter((name) => typeof name === 'string' && names.has(name));
      if (needed.length > 0) made.set('required', needed);
    }
  }

  #count(at: string, extent: Extent) {
    if (--this.#parts < 0)
      throw new DescriptionFault(
        at,
        `is more than can be read: its schemas have over ${MOST_PARTS} parts; include fewer operations`,
      );
    if (--extent.parts < 0) throw new TooLarge();
  }

  #loose(given: Json): Json {
    const said = memberOf(given, 'description');
    return typeof said === 'string' ? { description: said } : {};
  }

  #target(reference: string, at: string): { readonly value: unknown; readonly at: string } {
    if (reference !== '#' && !reference.startsWith('#/'))
      throw new DescriptionFault(at, 'leads out of the description; put what it means under components');
    let value: unknown = this.#root;
    for (const part of reference.split('/').slice(1)) {
      const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
      value = Array.isArray(value) ? value[Number(name)] : isObject(value) ? memberOf(value, name) : undefined;
    }
    if (value === undefined) throw new DescriptionFault(at, 'leads to nothing');
    return { value, at: reference.slice(1) };
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** What 3.0 says otherwise than JSON Schema. */
function modernise(given: Json, made: Map<string, unknown>) {
  const type = made.get('type');
  if (memberOf(given, 'nullable') === true && typeof type === 'string') {
    made.set('type', [type, 'null']);
    const values = made.get('enum');
    if (Array.isArray(values) && !values.includes(null)) made.set('enum', [...values, null]);
  }
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    const isExclusive = made.get(exclusive);
    if (typeof isExclusive !== 'boolean') continue;
    made.delete(exclusive);
    if (!isExclusive || !made.has(bound)) continue;
    made.set(exclusive, made.get(bound));
    made.delete(bound);
  }
}
