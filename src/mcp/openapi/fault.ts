/** What is wrong with a description, and where in it (RFC 6901). */
export class DescriptionFault extends Error {
  constructor(at: string, why: string) {
    super(`${shownPlace(at)} ${why}`);
  }
}

/** An operation that no tool is made of, though nothing is wrong with it; for people. */
export class NotOffered extends Error {}

const LONGEST_SHOWN = 300;
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

export const withoutControl = (text: string): string => text.replace(CONTROL, '?');

const shownPlace = (at: string): string => {
  const plain = withoutControl(at);
  return `#${plain.length > LONGEST_SHOWN ? `${plain.slice(0, LONGEST_SHOWN)}…` : plain}`;
};

export type Json = Readonly<Record<string, unknown>>;
export const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** The place of a member below another place. */
export const below = (at: string, ...names: readonly (string | number)[]): string =>
  at + names.map((name) => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

export function objectAt(value: unknown, at: string): Json {
  if (!isObject(value)) throw new DescriptionFault(at, value === undefined ? 'is missing' : 'is to be an object');
  return value;
}

/** A member of its own: no description reaches what every object inherits. */
export const memberOf = (value: Json, name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined);
