import * as z from 'zod';
import { fail } from '../core/errors.ts';
import { type Assignment, isOfExtension } from './patch.ts';

/** What the gateway keeps of a directory's user. What is left out is not changed. */
export interface UserAttributes {
  userName?: string;
  externalId?: string | null;
  displayName?: string | null;
  givenName?: string | null;
  familyName?: string | null;
  email?: string;
  active?: boolean;
}

type Body = Readonly<Record<string, unknown>>;

const LONGEST = 255;
const LONGEST_EMAIL = 320;

/** Attributes of the standard that directories send by themselves and that mean nothing here; they are not kept. */
const NOT_KEPT = new Set([
  ...['id', 'schemas', 'meta', 'groups', 'password', 'title', 'usertype', 'preferredlanguage', 'locale', 'timezone'],
  ...['nickname', 'profileurl', 'phonenumbers', 'addresses', 'ims', 'photos', 'entitlements', 'roles'],
  ...['x509certificates', 'name.formatted', 'name.middlename', 'name.honorificprefix', 'name.honorificsuffix'],
  ...['phonenumbers.value', 'addresses.formatted', 'addresses.streetaddress', 'addresses.locality'],
  ...['addresses.region', 'addresses.postalcode', 'addresses.country', 'addresses.primary', 'phonenumbers.primary'],
  ...['phonenumbers.type', 'emails.type', 'emails.primary', 'emails.display', 'roles.value', 'roles.primary'],
]);

/** A member of an object, however its name is written. */
export function memberOf(body: Body, name: string): unknown {
  if (Object.hasOwn(body, name)) return body[name];
  const found = Object.keys(body).find((each) => each.toLowerCase() === name.toLowerCase());
  return found === undefined ? undefined : body[found];
}

export function textOf(value: unknown, name: string): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'string') return fail('invalid_request', name, 'give a text');
  if (value.length > LONGEST) fail('invalid_request', name, `give at most ${LONGEST} characters`);
  return value.trim() || null;
}

/** Entra's older form of `active` is a text. */
export function flagOf(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  if (text === 'true' || text === 'false') return text === 'true';
  return fail('invalid_request', name, 'give true or false');
}

const asObject = (value: unknown, name: string): Body =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? (value as Body)
    : fail('invalid_request', name, 'give an object');

export function emailOf(value: unknown, name: string): string {
  const { success, data } = z
    .email()
    .max(LONGEST_EMAIL)
    .safeParse(typeof value === 'string' ? value.trim() : value);
  return success ? data : fail('invalid_request', name, 'give an email address');
}

/** Of several addresses the primary one, else the one at work, else the first. */
function emailIn(list: unknown): string | undefined {
  if (list === undefined || list === null) return undefined;
  if (!Array.isArray(list)) return fail('invalid_request', 'emails', 'give a list');
  const entries = list.map((each, index) => asObject(each, `emails[${index}]`));
  const best =
    entries.find(({ primary }) => primary === true || (typeof primary === 'string' && /^true$/i.test(primary))) ??
    entries.find(({ type }) => type === 'work') ??
    entries[0];
  return best?.value ? emailOf(best.value, 'emails') : undefined;
}

const userNameOf = (value: unknown): string =>
  textOf(value, 'userName') ??
  fail('invalid_request', 'userName', 'is missing; give the name that the user signs in with');

/** A whole user, as POST and PUT bring it: what it does not say is empty. */
export function readUser(body: Body): UserAttributes & { userName: string } {
  const name = memberOf(body, 'name');
  const parts = name === undefined || name === null ? {} : asObject(name, 'name');
  const active = memberOf(body, 'active');
  return {
    userName: userNameOf(memberOf(body, 'userName')),
    externalId: textOf(memberOf(body, 'externalId'), 'externalId'),
    displayName: textOf(memberOf(body, 'displayName'), 'displayName'),
    givenName: textOf(memberOf(parts, 'givenName'), 'name.givenName'),
    familyName: textOf(memberOf(parts, 'familyName'), 'name.familyName'),
    email: emailIn(memberOf(body, 'emails')),
    active: active === undefined || active === null ? undefined : flagOf(active, 'active'),
  };
}

/** What the operations of a PATCH change of a user. */
export function readUserChange(assignments: readonly Assignment[]): UserAttributes {
  const change: UserAttributes = {};
  for (const assignment of assignments) assign(change, assignment);
  return change;
}

function assign(change: UserAttributes, { operation, path, chosen, asWritten, value: given }: Assignment): void {
  const value = operation === 'remove' ? null : given;
  const isRequired = path === 'username' || path === 'active';
  if (operation === 'remove' && isRequired) fail('scim_path', asWritten, 'cannot be removed');
  if (path === 'username') change.userName = userNameOf(value);
  else if (path === 'active') change.active = flagOf(value, 'active');
  else if (path === 'externalid') change.externalId = textOf(value, 'externalId');
  else if (path === 'displayname') change.displayName = textOf(value, 'displayName');
  else if (path === 'name.givenname') change.givenName = textOf(value, 'name.givenName');
  else if (path === 'name.familyname') change.familyName = textOf(value, 'name.familyName');
  else if (path === 'name') {
    const parts = value === null ? { givenName: null, familyName: null } : asObject(value, 'name');
    if (memberOf(parts, 'givenName') !== undefined)
      change.givenName = textOf(memberOf(parts, 'givenName'), 'name.givenName');
    if (memberOf(parts, 'familyName') !== undefined)
      change.familyName = textOf(memberOf(parts, 'familyName'), 'name.familyName');
  } else if (path === 'emails' || path === 'emails.value') assignEmail(change, { path, chosen, value });
  else if (!NOT_KEPT.has(path) && !isOfExtension(path))
    fail('scim_path', asWritten, 'names no attribute of a user that is known here');
}

/** A user has one address here. That it is taken away means nothing: another one comes, or the user goes. */
function assignEmail(
  change: UserAttributes,
  { path, chosen, value }: Pick<Assignment, 'path' | 'chosen' | 'value'>,
): void {
  if (value === null || value === undefined) return;
  const isOther = chosen?.by === 'type' && chosen.equal.toLowerCase() !== 'work';
  if (isOther) return;
  if (path === 'emails.value') change.email = emailOf(value, 'emails.value');
  else change.email = emailIn(Array.isArray(value) ? value : [value]) ?? change.email;
}
