import { sha256 } from '../../crypto/seal.ts';
import type { IngestedRow } from '../../storage/schema.ts';
import type { Received, Said, Value } from './received.ts';

/** Whose it is, and what holds for all of a request. */
export interface Sender {
  readonly workspaceId: string;
  readonly userId: string | null;
  readonly apiKeyId: string;
  /** What the headers of the request say; what an item says itself goes before it. */
  readonly sessionId: string | null;
  /** Whether what was said is kept, as in the log. */
  readonly keepsContent: boolean;
  readonly now: number;
}

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/;
const SESSION = /^[\x21-\x7e]{1,256}$/;
const LONGEST_NAME = 256;
export const MOST_ATTRIBUTE_BYTES = 32 * 1024;
const SHORTENED_TO = 256;
/** 2100: what is later is a mistake of units. */
const LATEST_MS = 4_102_444_800_000;

/** Where clients say which session something is a part of: the conventions, and Codex. */
const SESSION_NAMES = ['session.id', 'gen_ai.conversation.id', 'conversation.id'];
const KINDS = ['unset', 'internal', 'server', 'client', 'producer', 'consumer'];

const SECRET = /authorization|cookie|api[-_.]?key|secret|password|credential|private[-_.]?key/i;
const CONTENT =
  /^(?:gen_ai\.(?:input|output)\.messages|gen_ai\.(?:system_instructions|prompt|completion)(?:\..*)?|gen_ai\.tool\.call\.(?:arguments|result)|gen_ai\.tool\.definitions|gen_ai\.retrieval\.(?:query\.text|documents)|prompt|body|input\.value|output\.value|tool_input|tool_parameters)$/;

/** What becomes of one item: a row, perhaps with shortened attributes, or why it is refused. */
export type Judged = { readonly row: IngestedRow; readonly isShortened: boolean } | { readonly fault: string };

export function judge(item: Received, sender: Sender): Judged {
  const fault = faultOf(item);
  if (fault) return { fault };
  const { signal, traceId, spanId, parentId, name, kind, isError, resource } = item;
  const kept = keptOf(item.attributes, sender);
  const { json, isShortened } = boundedJson(kept);
  const startedAt = msOf(item.from);
  const service = resource['service.name'];
  const row = {
    workspace_id: sender.workspaceId,
    user_id: sender.userId,
    api_key_id: sender.apiKeyId,
    session_id: sessionOf(item) ?? sender.sessionId ?? (traceId || null),
    signal,
    trace_id: traceId || null,
    span_id: spanId || null,
    parent_id: parentId || null,
    name: name.slice(0, LONGEST_NAME).toWellFormed(),
    kind: signal === 'span' ? (KINDS[kind] ?? 'unset') : signal,
    is_error: isError ? 1 : 0,
    service: typeof service === 'string' ? service.slice(0, LONGEST_NAME).toWellFormed().replaceAll('\0', '') : null,
    started_at: Math.trunc(startedAt),
    duration_ms: Math.max(0, msOf(item.to) - startedAt),
    attributes: json,
    created_at: sender.now,
  } as const;
  // The same again, as clients send it that got no answer, is the same row.
  const id =
    signal === 'span' ? `${traceId}${spanId}` : sha256(JSON.stringify([{ ...row, created_at: 0 }, String(item.from)]));
  return { row: { id, ...row }, isShortened };
}

function faultOf({ signal, traceId, spanId, parentId, name, from, to }: Received): string | null {
  const isSpan = signal === 'span';
  if (isSpan && !TRACE_ID.test(traceId)) return 'a trace id that is not 16 bytes, not all of them 0';
  if (isSpan && !SPAN_ID.test(spanId)) return 'a span id that is not 8 bytes, not all of them 0';
  if (!isSpan && traceId !== '' && !TRACE_ID.test(traceId)) return 'a trace id that is not 16 bytes, not all of them 0';
  if (parentId !== '' && !SPAN_ID.test(parentId)) return 'a parent id that is not 8 bytes, not all of them 0';
  if (name === '') return 'no name';
  if (name.includes('\0')) return 'a name with U+0000';
  if (from === 0n) return 'no time';
  if (msOf(from) > LATEST_MS || msOf(to) > LATEST_MS) return 'a time after the year 2100, which is not in nanoseconds';
  return null;
}

const msOf = (nanos: bigint): number => Number(nanos / 1_000n) / 1_000;

function sessionOf({ attributes, resource }: Received): string | null {
  for (const name of SESSION_NAMES)
    for (const said of [attributes, resource]) {
      const value = said[name];
      if (typeof value === 'string' && SESSION.test(value)) return value;
    }
  return null;
}

/** Without what could open a door, and without what was said where the log keeps none of it either. */
function keptOf(attributes: Said, { keepsContent }: Sender): Record<string, Value> {
  const kept: Record<string, Value> = {};
  for (const name of Object.keys(attributes)) {
    if (!keepsContent && CONTENT.test(name)) continue;
    const value = attributes[name]!;
    const shown = SECRET.test(name) && typeof value === 'string' ? '[redacted]' : value;
    Object.defineProperty(kept, name, { value: shown, enumerable: true, configurable: true, writable: true });
  }
  return kept;
}

function boundedJson(attributes: Record<string, Value>): { json: string; isShortened: boolean } {
  const whole = JSON.stringify(attributes);
  if (Buffer.byteLength(whole) <= MOST_ATTRIBUTE_BYTES) return { json: whole, isShortened: false };
  const shorter = JSON.stringify(attributes, (_, value) =>
    typeof value === 'string' && value.length > SHORTENED_TO ? `${value.slice(0, SHORTENED_TO)}…` : value,
  );
  const json = Buffer.byteLength(shorter) <= MOST_ATTRIBUTE_BYTES ? shorter : '{}';
  return { json, isShortened: true };
}
