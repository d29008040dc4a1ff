import { isUuid } from '../core/ids.ts';

/**
 * Words of programs. A member that is known to hold a code, an id or a setting is passed over while it looks like one;
 * whatever else stands there is judged like any text, because the provider reads it all the same.
 */

/** One word of letters, digits and the signs that join them: `json_schema`, `text/plain`, `2024-10-21`, `1024x1024`. */
export const isCode = (text: string): boolean => CODE.test(text);
const CODE = /^[\w.:/+*-]{0,128}$/;

/** A name of a model may also say whose it is, and where it runs. */
export const isModelName = (text: string): boolean => MODEL.test(text);
const MODEL = /^[\w.:/+*@-]{0,256}$/;

/** A prefix and what was made by chance, or a UUID. Words that are joined to a sentence are no id. */
export const isId = (text: string): boolean => ID.test(text) || isUuid(text);
const ID = /^(?:[A-Za-z]{1,16}[-_])?[A-Za-z0-9]{1,64}$/;

/** How members are called. */
export const isPlainKey = (key: string): boolean => KEY.test(key);
const KEY = /^[\w$.:/-]{0,64}$/;
