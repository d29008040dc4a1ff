import type { JsonObject } from '../ir.ts';
import { isObject } from '../json.ts';

/** Whole numbers of 64 bits are texts in Google's JSON. */
const COUNTS = new Set(['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties']);

/** A schema in Google's subset of OpenAPI, in the words of JSON Schema. Keywords that are no part of the subset stay. */
export function jsonSchema(schema: JsonObject): JsonObject {
  const { nullable, type, enum: values, ...rest } = schema;
  const made: Record<string, unknown> = {};
  const isNullable = nullable === true;
  if (typeof type === 'string') {
    const name = type.toLowerCase();
    made.type = isNullable && name !== 'null' ? [name, 'null'] : name;
  } else if (type !== undefined) made.type = type;
  if (Array.isArray(values)) made.enum = isNullable ? [...values, null] : values;
  for (const [name, value] of Object.entries(rest)) made[name] = keyword(name, value);
  // Beside alternatives there is no type that could be null.
  if (isNullable && type === undefined && Array.isArray(made.anyOf)) made.anyOf = [...made.anyOf, { type: 'null' }];
  return made;
}

function keyword(name: string, value: unknown): unknown {
  if (COUNTS.has(name) && typeof value === 'string' && /^\d+$/.test(value)) return Number(value);
  if (name === 'anyOf' && Array.isArray(value)) return value.map(inner);
  if (name === 'properties' && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([member, schema]) => [member, inner(schema)]));
  return name === 'items' ? inner(value) : value;
}

const inner = (value: unknown): unknown => (isObject(value) ? jsonSchema(value) : value);
