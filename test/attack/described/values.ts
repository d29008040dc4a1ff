import type { seeded } from '../../fuzz.ts';

export type Random = ReturnType<typeof seeded>;
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface Schema {
  readonly type?: string;
  readonly properties?: Record<string, Schema>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly Json[];
  readonly const?: Json;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly format?: string;
  readonly $ref?: string;
}

/** Ids and slugs of things that exist, by the name of a field or path parameter that may hold one. */
export type Known = (name: string) => string | null;

export interface Making {
  readonly random: Random;
  readonly known: Known;
  readonly schemas: Record<string, Schema>;
}

/** Values that are wrong nearly everywhere, or right in form and hostile in content. */
const ODD: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  Number.MAX_SAFE_INTEGER,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\u202e\u0301\u{1f600}',
  '../../etc/passwd',
  "' or 1=1 --",
  '%00%ff',
  '__proto__',
  '9999-12-31T23:59:59.999Z',
  '-1d',
  'PT1H',
  '00000000-0000-4000-8000-000000000000',
  'http://169.254.169.254/latest/meta-data',
  'http://user:password@127.0.0.1:1/',
  'file:///etc/passwd',
  'x'.repeat(70_000),
  [],
  [null],
  [[[[]]]],
  {},
  { '': '' },
  { constructor: { prototype: { isOwner: true } } },
  { toString: 1, hasOwnProperty: 2 },
  { type: 'object', $ref: '#' },
];

const TEXTS = [
  'fuzz',
  'demo',
  'gpt-4o',
  'Hello',
  'a'.repeat(64),
  'é'.repeat(20),
  '日本語',
  '@sim/gpt-4o',
  '2026-01-01',
];

/** A value that the schema allows, mostly; what a schema cannot say (that an id exists) is right about half of the time. */
export function fitting(schema: Schema, making: Making, name = '', depth = 0): Json {
  const { random, known, schemas } = making;
  if (schema.$ref) return fitting(schemas[schema.$ref.split('/').at(-1)!] ?? {}, making, name, depth + 1);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return random.pick(schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fitting(random.pick(choices), making, name, depth + 1);
  switch (schema.type) {
    case 'null':
      return null;
    case 'boolean':
      return random.chance(0.5);
    case 'integer':
    case 'number':
      return numberOf(schema, random);
    case 'string':
      return textOf(schema, { random, known, schemas }, name);
    case 'array': {
      const length = Math.max(schema.minItems ?? 0, depth > 6 ? 0 : random.below(4));
      return Array.from({ length }, () => fitting(schema.items ?? {}, making, name, depth + 1));
    }
    case 'object':
      return objectOf(schema, making, depth);
    default:
      return random.pick(ODD);
  }
}

function numberOf({ type, minimum = -10, maximum = 1_000 }: Schema, random: Random): number {
  const low = Math.max(minimum, -1e9);
  const high = Math.min(maximum, 1e9);
  const value = random.pick([low, high, low + random.next() * (high - low)]);
  return type === 'integer' ? Math.round(value) : value;
}

function textOf(
  { format, minLength = 0, maxLength = 100_000 }: Schema,
  { random, known }: Making,
  name: string,
): string {
  if (format === 'uuid') return known(name) ?? crypto.randomUUID();
  if (format === 'date-time' || /time|_at$/.test(name))
    return new Date(Date.now() + (random.next() - 0.3) * 1e10).toISOString();
  if (format === 'email') return `person-${random.below(1_000)}@example.com`;
  if (/url|uri|host/i.test(name)) return random.pick(['https://example.com/hook', 'http://127.0.0.1:9/x', 'not a url']);
  const found = random.chance(0.8) ? known(name) : null;
  const text = found ?? random.pick(TEXTS);
  if (random.chance(0.05)) return 'm'.repeat(Math.min(maxLength, 100_000));
  return text.padEnd(minLength, 'x').slice(0, maxLength);
}

function objectOf(
  { properties = {}, required = [], additionalProperties }: Schema,
  making: Making,
  depth: number,
): Json {
  const { random } = making;
  const made: { [name: string]: Json } = {};
  for (const [name, schema] of Object.entries(properties))
    if (required.includes(name) || random.chance(depth > 6 ? 0 : 0.25))
      made[name] = fitting(schema, making, name, depth + 1);
  if (typeof additionalProperties === 'object' && random.chance(0.5))
    made[random.pick(TEXTS)] = fitting(additionalProperties, making, '', depth + 1);
  return made;
}

/** The same value with a fault at a random place, or as it is. */
export function spoiled(value: Json, random: Random): Json {
  if (random.chance(0.35)) return value;
  if (Array.isArray(value) && value.length > 0 && random.chance(0.75)) {
    const at = random.below(value.length);
    return value.map((item, index) => (index === at ? spoiled(item, random) : item));
  }
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
    const names = Object.keys(value);
    if (names.length > 0 && random.chance(0.85)) {
      const name = random.pick(names);
      if (random.chance(0.15)) return Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));
      return { ...value, [name]: spoiled(value[name]!, random) };
    }
    if (random.chance(0.5)) return { ...value, [random.pick(TEXTS)]: random.pick(ODD) };
  }
  return random.chance(0.05) ? nested(random) : random.pick(ODD);
}

/** Deeper than any client means. */
function nested(random: Random): Json {
  let value: Json = 1;
  for (let level = 0; level < 30 + random.below(2_000); level++) value = random.chance(0.5) ? [value] : { a: value };
  return value;
}

/** A text for a place in an address or a query. */
export const oddText = (random: Random): string => {
  const odd = random.pick(ODD);
  return (typeof odd === 'string' ? odd.slice(0, 2_000) : JSON.stringify(odd)).toWellFormed();
};
