import { fail } from '../core/errors.ts';
import type { JsonObject } from './ir.ts';
import { isObject } from './json.ts';

/** Refuses what a client sent: where it stands, what belongs there, what was found. */
export const fault = (path: string, expected: string, found: unknown): never =>
  fail('invalid_request', path || 'body', `must be ${expected}, not ${nameOf(found)}`);

function nameOf(value: unknown): string {
  if (value === undefined) return 'absent';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value !== 'string') return String(value);
  return value.length > 40 ? 'that text' : `"${value}"`;
}

/** An object of a client's body, read member by member; a member that is null counts as absent. */
export class Fields {
  readonly path: string;
  readonly #object: JsonObject;
  readonly #taken = new Set<string>();

  constructor(value: unknown, path: string) {
    this.path = path;
    this.#object = isObject(value) ? value : fault(path, 'an object', value);
  }

  pathOf(name: string): string {
    return this.path ? `${this.path}.${name}` : name;
  }

  has(name: string): boolean {
    return this.#object[name] !== undefined && this.#object[name] !== null;
  }

  /** The value as it is; undefined when absent or null. */
  take(name: string): unknown {
    this.#taken.add(name);
    return this.#object[name] ?? undefined;
  }

  string(name: string): string {
    return this.optionalString(name) ?? fault(this.pathOf(name), 'a string', this.#object[name]);
  }

  optionalString(name: string): string | undefined {
    const value = this.take(name);
    if (value === undefined || typeof value === 'string') return value;
    return fault(this.pathOf(name), 'a string', value);
  }

  boolean(name: string): boolean | undefined {
    const value = this.take(name);
    if (value === undefined || typeof value === 'boolean') return value;
    return fault(this.pathOf(name), 'true or false', value);
  }

  number(name: string): number | undefined {
    const value = this.take(name);
    if (value === undefined || typeof value === 'number') return value;
    return fault(this.pathOf(name), 'a number', value);
  }

  integer(name: string, least = 0): number | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= least) return value;
    const from = least === Number.MIN_SAFE_INTEGER ? '' : ` from ${least}`;
    return fault(this.pathOf(name), `a whole number${from}`, value);
  }

  oneOf<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const value = this.take(name);
    if (value === undefined || words.includes(value as Word)) return value as Word | undefined;
    return fault(this.pathOf(name), `one of ${words.join(', ')}`, value);
  }

  json(name: string): JsonObject | undefined {
    const value = this.take(name);
    if (value === undefined || isObject(value)) return value;
    return fault(this.pathOf(name), 'an object', value);
  }

  fields(name: string): Fields | undefined {
    const value = this.take(name);
    return value === undefined ? undefined : new Fields(value, this.pathOf(name));
  }

  /** The object in a member that has to be there. */
  inner(name: string): Fields {
    return new Fields(this.take(name), this.pathOf(name));
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.take(name);
    if (value === undefined || Array.isArray(value)) return value;
    return fault(this.pathOf(name), 'a list', value);
  }

  /** Each object of a list, with its own path. */
  each<Item>(name: string, read: (fields: Fields) => Item): Item[] | undefined {
    return this.list(name)?.map((item, index) => read(new Fields(item, `${this.pathOf(name)}[${index}]`)));
  }

  /** The same for lists that mean nothing when they are empty. */
  eachOfSome<Item>(name: string, read: (fields: Fields) => Item): Item[] | undefined {
    const items = this.each(name, read);
    return items && items.length > 0 ? items : undefined;
  }

  strings(name: string): string[] | undefined {
    return this.list(name)?.map((item, index) =>
      typeof item === 'string' ? item : fault(`${this.pathOf(name)}[${index}]`, 'a string', item),
    );
  }

  /** The members that no method has read so far; undefined when there are none. */
  rest(): JsonObject | undefined {
    let rest: Record<string, unknown> | undefined;
    for (const name in this.#object) {
      if (this.#taken.has(name) || this.#object[name] === null) continue;
      rest ??= {};
      rest[name] = this.#object[name];
    }
    return rest;
  }

  /** The object as it came. */
  raw(): JsonObject {
    return this.#object;
  }
}
