import { Fields, fault } from '../fields.ts';
import type { Ext, JsonObject } from '../ir.ts';
import { isObject } from '../json.ts';

/**
 * An object of a client's body. Google reads its members in both spellings, `inlineData` and `inline_data`; here they have
 * the first. Which of the two counts where both are given is Google's to know.
 */
export function fieldsOf(value: unknown, path: string): Fields {
  if (!isObject(value)) return fault(path, 'an object', value);
  let plain: Record<string, unknown> | null = null;
  for (const name in value) {
    if (!/_[a-z]/.test(name)) continue;
    const other = name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
    if (Object.hasOwn(plain ?? value, other)) fault(path ? `${path}.${name}` : name, `absent beside ${other}`, name);
    plain ??= { ...value };
    plain[other] = plain[name];
    delete plain[name];
  }
  return new Fields(plain ?? value, path);
}

export const innerFields = (fields: Fields, name: string): Fields | undefined => {
  const value = fields.take(name);
  return value === undefined ? undefined : fieldsOf(value, fields.pathOf(name));
};

/** Each object of a list. Google takes one object for a list of one. */
export function eachOf<Item>(fields: Fields, name: string, read: (fields: Fields) => Item): Item[] | undefined {
  const value = fields.take(name);
  if (value === undefined) return undefined;
  const path = fields.pathOf(name);
  if (!Array.isArray(value)) return [read(fieldsOf(value, path))];
  return value.map((item, index) => read(fieldsOf(item, `${path}[${index}]`)));
}

/** One of Google's words, which it writes in capitals. */
export function wordOf(fields: Fields, name: string): string | undefined {
  const word = fields.optionalString(name)?.toUpperCase();
  return word?.endsWith('_UNSPECIFIED') ? undefined : word;
}

export function extOf(fields: Fields, more: JsonObject = {}): Ext | undefined {
  const rest = { ...fields.rest(), ...more };
  return Object.keys(rest).length > 0 ? { gemini: rest } : undefined;
}
