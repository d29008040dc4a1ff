import { fail } from '../core/errors.ts';

export interface Condition {
  /** In small letters, without the schema in front. */
  readonly attribute: string;
  readonly value: string;
}

const MOST_CONDITIONS = 5;
const LONGEST_FILTER = 1_000;
/** `userName eq "x"`, `emails[type eq "work"].value eq "x"`: what is compared, and a JSON text, a number or a word. */
const CONDITION =
  /^\s*([A-Za-z$][\w.:$-]*(?:\[[^\]]{1,80}\](?:\.\w+)?)?)\s+(\w+)(?:\s+("(?:[^"\\]|\\.)*"|[^\s"]+))?\s*/;
const SCHEMA = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/i;

/** Names of attributes are written in any case, with or without their schema. */
export const plainAttribute = (name: string): string => name.replace(SCHEMA, '').toLowerCase();

/** A filter (RFC 7644 section 3.4.2.2) as directories use it: equal to a value, and several of these at once. */
export function readFilter(text: string | undefined, known: readonly string[]): readonly Condition[] {
  if (text === undefined) return [];
  const wrong = (why: string): never => fail('scim_filter', why, known.join(', '));
  if (text.length > LONGEST_FILTER) wrong(`it is longer than ${LONGEST_FILTER} characters`);
  const conditions: Condition[] = [];
  for (let rest = text; ; ) {
    const found = CONDITION.exec(rest);
    if (!found) return wrong('it cannot be read');
    const [whole, name = '', operator = '', value] = found;
    if (operator.toLowerCase() !== 'eq') wrong(`the operator ${operator} is not known here`);
    if (value === undefined) return wrong(`${name} is compared with nothing`);
    const attribute = plainAttribute(name);
    if (!known.some((each) => each.toLowerCase() === attribute)) wrong(`the attribute ${name} cannot be looked for`);
    const read = textIn(value) ?? wrong(`the value of ${name} is no JSON text`);
    if (attribute === 'active' && !/^(?:true|false)$/i.test(read)) wrong('active is compared with true or false alone');
    conditions.push({ attribute, value: read });
    if (conditions.length > MOST_CONDITIONS) wrong(`it has more than ${MOST_CONDITIONS} conditions`);
    rest = rest.slice(whole.length);
    if (rest === '') return conditions;
    const next = /^and\s+/i.exec(rest);
    if (!next) return wrong(`it does not go on with and before "${rest.slice(0, 40)}"`);
    rest = rest.slice(next[0].length);
  }
}

function textIn(text: string): string | null {
  if (!text.startsWith('"')) return text;
  try {
    const read = String(JSON.parse(text));
    // Neither is kept by any database, and escaped they come past what looks at requests.
    return read.includes('\u0000') || !read.isWellFormed() ? null : read;
  } catch {
    return null;
  }
}
