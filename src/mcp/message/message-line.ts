import { findMembers, prependMembers, removeMembers, splice } from '../../core/json-bytes.ts';
import { refused } from './message.ts';
import { RPC } from './rpc-error.ts';

/** Members with their JSON; null removes one. */
type Members = Readonly<Record<string, string | null>>;

const EMPTY = Buffer.from('{}');

function withMembers(object: Uint8Array, members: Members): Uint8Array {
  let changed = object;
  const told: string[] = [];
  for (const [name, json] of Object.entries(members)) {
    const found = findMembers(changed, name);
    if (found.length > 0) changed = removeMembers(changed, found);
    if (json !== null) told.push(`${JSON.stringify(name)}:${json}`);
  }
  if (told.length === 0) return changed;
  return prependMembers(changed, told.join(',')) ?? notAnObject();
}

const notAnObject = (): never => {
  throw refused('params._meta is no object', RPC.invalidParams);
};

/** The message with these members in its `params._meta`, whatever it had under their names. Of a message that was read strictly. */
export function withMeta(message: Uint8Array, members: Members): Uint8Array {
  const [params] = findMembers(message, 'params', 1);
  const given = params ? message.subarray(params.start, params.end) : EMPTY;
  const [meta] = findMembers(given, '_meta', 1);
  const had = meta ? given.subarray(meta.start, meta.end) : EMPTY;
  const next = withMembers(had, members);
  if (next === had) return message;
  const told = { _meta: Buffer.from(next).toString() };
  return withMembers(message, { params: Buffer.from(withMembers(given, told)).toString() });
}

/** The message with another id. */
export function withId(message: Uint8Array, id: string): Uint8Array {
  const [member] = findMembers(message, 'id', 1);
  return member ? splice(message, member, id) : message;
}

/** On one line: between its members JSON may be broken into lines, inside of a text it cannot. */
export function onOneLine(message: Uint8Array): Uint8Array {
  if (!message.includes(10) && !message.includes(13)) return message;
  return message.map((byte) => (byte === 10 || byte === 13 ? 32 : byte));
}
