import type { JsonObject } from '../ir.ts';
import { isObject, present } from '../json.ts';
import type { Schema, SchemaType } from './wire.ts';

/** What the subset cannot hold; the schema then goes out as JSON Schema, whole. */
class Inexpressible extends Error {}

const cannot = (): never => {
  throw new Inexpressible();
};

/** A JSON Schema without references in the subset of OpenAPI that every Gemini model knows; null when it does not fit. */
export function openApiSchema(schema: JsonObject): Schema | null {
  try {
    return convert(schema);
  } catch (error) {
    if (error instanceof Inexpressible) return null;
    throw error;
  }
}

const TYPES: Readonly<Record<string, SchemaType>> = {
  string: 'STRING',
  number: 'NUMBER',
  integer: 'INTEGER',
  boolean: 'BOOLEAN',
  array: 'ARRAY',
  object: 'OBJECT',
  null: 'NULL',
};

/** Formats beyond these are refused by the vendor. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ['enum', 'date-time'],
  number: ['float', 'double'],
  integer: ['int32', 'int64'],
};

const KNOWN = new Set([
  'type',
  'nullable',
  'title',
  'description',
  'default',
  'example',
  'examples',
  'format',
  'enum',
  'const',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'items',
  'minItems',
  'maxItems',
  'properties',
  'required',
  'minProperties',
  'maxProperties',
  'propertyOrdering',
  'additionalProperties',
  'anyOf',
  'oneOf',
]);
const ANNOTATIONS = new Set(['title', 'description', 'nullable']);

function convert(given: unknown): Schema {
  if (!isObject(given)) return cannot();
  // Before anything is copied: clients may send members by the thousand.
  for (const name in given) if (!KNOWN.has(name) && name !== 'allOf') cannot();
  const node = merged(given);
  for (const name in node) if (!KNOWN.has(name)) cannot();
  // Models make only the members that are declared, which is what false asks for.
  if (node.additionalProperties !== undefined && node.additionalProperties !== false) cannot();
  if (node.anyOf !== undefined || node.oneOf !== undefined) return union(node);
  const types = typesOf(node);
  const isNullable = node.nullable === true || types.includes('null') || valuesOf(node)?.includes(null) === true;
  const others = types.filter((type) => type !== 'null');
  if (others.length === 0) return present<Schema>({ type: 'NULL', ...annotations(node) });
  const [only] = others;
  if (others.length === 1)
    return nullable({ ...typed(node, only!), ...annotations(node), ...values(node) }, isNullable);
  if (node.default !== undefined) cannot();
  return { anyOf: others.map((type) => nullable({ ...typed(node, type), ...annotations(node) }, isNullable)) };
}

const nullable = (schema: Schema, isNullable: boolean): Schema =>
  present<Schema>({ ...schema, nullable: isNullable ? true : undefined });

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const count = (value: unknown): string | undefined => (typeof value === 'number' ? String(value) : undefined);

const annotations = ({ title, description }: JsonObject): Schema =>
  present<Schema>({ title: text(title), description: text(description) });

const values = ({ default: preset, example, examples }: JsonObject): Schema =>
  present<Schema>({ default: preset, example: example ?? (Array.isArray(examples) ? examples[0] : undefined) });

/** A schema that has one value is a list of one. */
const valuesOf = (node: JsonObject): readonly unknown[] | undefined =>
  'const' in node ? [node.const] : Array.isArray(node.enum) ? node.enum : undefined;

/** The types that are named, or the one that the keywords are about. */
function typesOf(node: JsonObject): readonly string[] {
  const named = typeof node.type === 'string' ? [node.type] : node.type;
  if (Array.isArray(named)) return named.every((type) => Object.hasOwn(TYPES, String(type))) ? named : cannot();
  const listed = valuesOf(node);
  if (listed) return listed.every((value) => value === null) ? ['null'] : ['string'];
  if (isObject(node.properties)) return ['object'];
  return isObject(node.items) ? ['array'] : cannot();
}

function typed(node: JsonObject, type: string): Schema {
  const listed = valuesOf(node);
  if (listed && type !== 'string') cannot();
  const format = text(node.format);
  if (format !== undefined && !FORMATS[type]?.includes(format)) cannot();
  return present<Schema>({ type: TYPES[type], format, ...ofType(node, type) });
}

function ofType(node: JsonObject, type: string): Schema {
  switch (type) {
    case 'string':
      return {
        enum: listOfTexts(valuesOf(node)),
        pattern: text(node.pattern),
        minLength: count(node.minLength),
        maxLength: count(node.maxLength),
      };
    case 'number':
    case 'integer':
      return { minimum: number(node.minimum), maximum: number(node.maximum) };
    case 'array':
      // A list of anything cannot be said.
      return { items: convert(node.items), minItems: count(node.minItems), maxItems: count(node.maxItems) };
    case 'object':
      return ofObject(node);
    default:
      return {};
  }
}

/** The vendor refuses the empty text as a value. */
function listOfTexts(listed: readonly unknown[] | undefined): string[] | undefined {
  return listed
    ?.filter((value) => value !== null)
    .map((value) => (typeof value === 'string' && value !== '' ? value : cannot()));
}

/** The vendor refuses objects without members, and required members that are not declared. */
function ofObject(node: JsonObject): Schema {
  if (!isObject(node.properties) || Object.keys(node.properties).length === 0) return cannot();
  const declared = node.properties;
  const required = Array.isArray(node.required) ? node.required.map(String) : undefined;
  if (required?.some((name) => !Object.hasOwn(declared, name))) cannot();
  const properties = Object.fromEntries(Object.entries(declared).map(([name, inner]) => [name, convert(inner)]));
  return {
    properties,
    required: required && required.length > 0 ? required : undefined,
    minProperties: count(node.minProperties),
    maxProperties: count(node.maxProperties),
    propertyOrdering: Array.isArray(node.propertyOrdering) ? node.propertyOrdering.map(String) : undefined,
  };
}

/** Vendors want `anyOf` to stand alone, so what is said of all alternatives is said of each. */
function union(node: JsonObject): Schema {
  const { anyOf, oneOf, additionalProperties, ...beside } = node;
  if (anyOf !== undefined && oneOf !== undefined) return cannot();
  const listed = anyOf ?? oneOf;
  if (!Array.isArray(listed) || Object.keys(beside).some((name) => !ANNOTATIONS.has(name))) return cannot();
  const others = listed.filter((branch) => !isNull(branch));
  const isNullable = node.nullable === true || others.length < listed.length;
  const branches = others.map(convert).flatMap((branch) => branch.anyOf ?? [branch]);
  const [only] = branches;
  if (branches.length === 1) return nullable({ ...only, ...annotations(node) }, isNullable || only?.nullable === true);
  if (branches.length === 0) return cannot();
  return {
    anyOf: branches.map((branch) =>
      nullable({ ...annotations(node), ...branch }, isNullable || branch.nullable === true),
    ),
  };
}

const isNull = (branch: unknown): boolean =>
  isObject(branch) && (branch.type === 'null' || ('const' in branch && branch.const === null));

/** `allOf` in one schema; alternatives that contradict each other do not fit. */
function merged({ allOf, ...node }: JsonObject): JsonObject {
  if (allOf === undefined) return node;
  if (!Array.isArray(allOf)) return cannot();
  return allOf.reduce(
    (whole: JsonObject, part: unknown) => both(whole, isObject(part) ? merged(part) : cannot()),
    node,
  );
}

function both(one: JsonObject, other: JsonObject): JsonObject {
  const whole: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = whole[name];
    if (before === undefined) whole[name] = value;
    else if (name === 'required' && Array.isArray(before) && Array.isArray(value))
      whole[name] = [...new Set([...before, ...value])];
    else if (name === 'properties' && isObject(before) && isObject(value)) whole[name] = bothMaps(before, value);
    else if (!ANNOTATIONS.has(name) && !Bun.deepEquals(before, value)) cannot();
  }
  return whole;
}

function bothMaps(one: JsonObject, other: JsonObject): JsonObject {
  const clash = Object.keys(other).find((name) => Object.hasOwn(one, name) && !Bun.deepEquals(one[name], other[name]));
  return clash === undefined ? { ...one, ...other } : cannot();
}
