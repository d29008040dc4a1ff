import { fail } from '../core/errors.ts';
import { READ_LIMITS, shapeFault } from '../core/json-shape.ts';
import type { Encoded } from '../dialects/dialect.ts';
import { headersOf, type SentHeaders } from '../http/headers.ts';
import { type Incoming, receivedHeaders } from '../http/upstream.ts';

/** What every rewritten call needs, whichever way its body is translated. */

/** As the header line that names them; longer lists end with their count. */
export function notesOf({
  dropped = [],
  changed = [],
}: Partial<Pick<Encoded, 'dropped' | 'changed'>>): Readonly<Record<string, string>> {
  const line = (paths: readonly string[]) => {
    const shown = paths.slice(0, MOST_NAMED).map((path) => path.replace(/[^\x20-\x7e]/g, '?'));
    return paths.length > shown.length
      ? `${shown.join(', ')} and ${paths.length - shown.length} more`
      : shown.join(', ');
  };
  return {
    ...(dropped.length > 0 && { 'x-gateway-dropped': line(dropped.map(({ path }) => shortened(path))) }),
    ...(changed.length > 0 && {
      'x-gateway-changed': line(changed.map(({ path, how }) => `${shortened(path)} (${how})`)),
    }),
  };
}

/** Clients choose the names of members, and proxies refuse long header lines. */
const MOST_NAMED = 20;
const LONGEST_PATH = 100;
const shortened = (path: string) => (path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}...` : path);

/** Headers that speak of the body as the provider sent it. */
const OF_THE_BODY = new Set([
  'content-length',
  'content-encoding',
  'content-type',
  'transfer-encoding',
  'etag',
  'content-md5',
  'digest',
]);

/** The provider's headers over another body. */
export const rewrittenHeaders = (incoming: Incoming, type: string): Headers =>
  headersOf(rewrittenFields(incoming, type));

/** The same as plain data, which is all that most answers need. */
export function rewrittenFields(incoming: Incoming, type: string): Record<string, string> {
  const fields: Record<string, string> = {};
  const received = receivedHeaders(incoming);
  for (const name in received) if (!OF_THE_BODY.has(name)) fields[name] = received[name]!;
  fields['content-type'] = type;
  return fields;
}

/** An answer whose body is another one, all of it at hand. */
export function replaced(
  incoming: Incoming,
  { status, type, bytes }: { status: number; type: string; bytes: Uint8Array },
): Incoming {
  const fields = rewrittenFields(incoming, type);
  fields['content-length'] = String(bytes.byteLength);
  return atHand(status, '', fields, bytes);
}

/** The same answer, after its body has been read. */
export const held = (incoming: Incoming, bytes: Uint8Array): Incoming =>
  atHand(incoming.status, incoming.statusText, receivedHeaders(incoming), bytes);

/** An answer that the gateway gives itself. */
export const answerOf = (status: number, bytes: Uint8Array): Incoming =>
  atHand(status, '', { 'content-type': 'application/json', 'content-length': String(bytes.byteLength) }, bytes);

function atHand(status: number, statusText: string, fields: SentHeaders, bytes: Uint8Array): Incoming {
  let rest: Uint8Array | null = bytes;
  const take = () => {
    const piece = rest;
    rest = null;
    return piece;
  };
  return {
    status,
    statusText,
    fields,
    get headers() {
      return headersOf(fields);
    },
    read: async () => take(),
    bytes: async () => take() ?? new Uint8Array(),
    cancel: () => {},
  };
}

/** No answer of a model comes near it; without a bound a provider could fill the memory. */
export const LARGEST_ANSWER = 64 << 20;

/** The whole of an answer that has to be read before it can be rewritten. */
export async function wholeAnswer(incoming: Incoming, provider: string): Promise<Uint8Array> {
  if (Number(receivedHeaders(incoming)['content-length'] ?? Number.NaN) <= LARGEST_ANSWER) return incoming.bytes();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let piece = await incoming.read(); piece; piece = await incoming.read()) {
    size += piece.byteLength;
    if (size > LARGEST_ANSWER) {
      incoming.cancel();
      return fail('upstream_failed', provider, tooLarge);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

export const tooLarge = `its answer is larger than ${LARGEST_ANSWER} bytes`;

export const jsonBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

const utf8 = new TextDecoder();
const wellFormedUtf8 = new TextDecoder('utf-8', { fatal: true });

export function parsedRequest(body: Uint8Array): unknown {
  const fault = shapeFault(body, READ_LIMITS);
  if (fault) fail('invalid_request', fault.member ?? 'body', fault.why);
  try {
    return JSON.parse(wellFormedUtf8.decode(body));
  } catch (error) {
    return fail('invalid_json', error instanceof SyntaxError ? error.message : 'it is not UTF-8');
  }
}

export function parsedReply(bytes: Uint8Array, provider: string): unknown {
  refuseShape(bytes, provider);
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    return fail('upstream_failed', provider, 'its answer is not JSON');
  }
}

/** A provider may be of the client's own making. */
export function refuseShape(answer: Uint8Array, provider: string): void {
  const fault = shapeFault(answer, READ_LIMITS);
  if (fault) fail('upstream_failed', provider, `its answer ${fault.why.replace('; send less at once', '')}`);
}

/** Half a surrogate pair is a string in JSON, and in no address. */
export function refuseBrokenName(model: unknown): void {
  if (typeof model === 'string' && !model.isWellFormed()) fail('invalid_request', 'model', 'holds half of a character');
}
