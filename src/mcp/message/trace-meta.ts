import type { OutgoingTrace } from '../../core/call-log.ts';
import { findMembers, type Member, prependMembers, removeMembers } from '../../core/json-bytes.ts';

/** The one member of that name; null where there is none, or more than one, which readers understand differently. */
function only(bytes: Uint8Array, name: string): Member | null {
  const members = findMembers(bytes, name, 2);
  return members.length === 1 ? members[0]! : null;
}

const inside = (bytes: Uint8Array, member: Member): Uint8Array => bytes.subarray(member.start, member.end);

/** What a message says of the trace it is a part of, in `params._meta`. */
export function traceIn(body: Uint8Array): OutgoingTrace | null {
  const params = only(body, 'params');
  const meta = params && only(inside(body, params), '_meta');
  if (!params || !meta) return null;
  const bytes = inside(inside(body, params), meta);
  const traceparent = textAt(bytes, 'traceparent');
  return traceparent === null ? null : { traceparent, tracestate: textAt(bytes, 'tracestate') };
}

const LONGEST = 1_024;

function textAt(bytes: Uint8Array, name: string): string | null {
  const member = only(bytes, name);
  if (!member || member.end - member.start > LONGEST) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(inside(bytes, member)).toString());
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

/** The message with this in its `params._meta`; as it is where it has no `params` of which there is one. */
export function withTrace(body: Uint8Array, { traceparent, tracestate }: OutgoingTrace): Uint8Array {
  const params = only(body, 'params');
  if (!params) return body;
  const told = `"traceparent":${JSON.stringify(traceparent)}${tracestate === null ? '' : `,"tracestate":${JSON.stringify(tracestate)}`}`;
  const given = inside(body, params);
  const metas = findMembers(given, '_meta', 2);
  if (metas.length > 1) return body;
  const changed = metas[0] ? withMeta(given, metas[0], told) : prependMembers(given, `"_meta":{${told}}`);
  return changed ? replaced(body, params, changed) : body;
}

function withMeta(params: Uint8Array, meta: Member, told: string): Uint8Array | null {
  let bytes = inside(params, meta);
  for (const name of ['traceparent', 'tracestate']) bytes = removeMembers(bytes, findMembers(bytes, name));
  const changed = prependMembers(bytes, told);
  return changed && replaced(params, meta, changed);
}

/** Bytes for bytes: nothing of the rest is read. */
const replaced = (bytes: Uint8Array, { start, end }: Member, by: Uint8Array): Uint8Array =>
  Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(end)]);
