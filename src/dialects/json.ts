import { READ_LIMITS, shapeFault } from '../core/json-shape.ts';
import type { JsonObject } from './ir.ts';

/** Reading JSON of providers: what is not there, or is something else, is undefined. */

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const objectIn = (value: unknown): JsonObject => (isObject(value) ? value : {});

export const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

export const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Text that says something. */
export const someTextIn = (value: unknown): string | undefined => textIn(value) || undefined;

export const countIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;

/** A text as short as this cannot be costly, however it is nested. */
const HARMLESS = 2_048;

/** JSON inside a text, such as the arguments of a call. What is no JSON, or costs too much to read, is undefined. */
export function parsed(text: string): unknown {
  if (text.length > HARMLESS && shapeFault(Buffer.from(text), READ_LIMITS)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object without the members named, and without those that are null; undefined when nothing is left. */
export function restOf(object: JsonObject, known: ReadonlySet<string>): JsonObject | undefined {
  let rest: Record<string, unknown> | undefined;
  for (const name in object) {
    if (known.has(name) || object[name] === null || object[name] === undefined) continue;
    rest ??= {};
    rest[name] = object[name];
  }
  return rest;
}

/** Without members that are undefined, so that absent members are absent. */
export function present<Value extends object>(value: Value): Value {
  for (const name in value) if (value[name] === undefined) delete value[name];
  return value;
}
