import { includesBytes, textOf } from '../core/bytes.ts';
import { fail } from '../core/errors.ts';
import { findMembers, type Member, splice } from '../core/json-bytes.ts';
import { bodyHeadroom, LARGE_BODY } from '../core/runtime/gc-headroom.ts';
import { wholeBody } from '../http/arriving.ts';
import { flagOf, headerOf, type SentHeaders } from '../http/headers.ts';
import { streaming, withAddress } from './address-in-body.ts';
import { modelInPath } from './addressed-model.ts';
import { openLarge, WHOLE_BELOW } from './body.ts';
import { mayEscapeLetters, mayNameStream, wordsIn } from './body-words.ts';
import type { ModelCall, OpenCall, Opening } from './call.ts';
import { FormWatch, furtherModels } from './form-watch.ts';
import { boundaryOf, formModel, renamedInForm } from './multipart-model.ts';

/** What a call says of itself: its metadata, its body as far as it has to be read, and the model that it names. */
export async function receive(call: ModelCall, maxBodyBytes: number): Promise<OpenCall> {
  const { request, headers, log, principal } = call;
  log.metadata = readMetadata(headers, principal.defaults.metadata);
  log.keepBodies = flagOf(headers, 'x-gateway-debug') ?? true;
  log.requestHeaders = headers;

  const isJson = isJsonType(headers['content-type']);
  const length = bodyLength(call, maxBodyBytes);
  const arrived =
    length === null
      ? null
      : length <= WHOLE_BELOW
        ? { head: await wholeBody(request, length), rest: null }
        : await openLarge(request, headers, { isJson, maxBytes: maxBodyBytes });
  const received = arrived && told(arrived, call, isJson);
  const named = received && namedIn(received, headers, isJson);
  const body = received && opened(received, named, headers);
  const addressed = call.endpoint === 'proxy' && request.method === 'POST' ? modelInPath(call.path) : null;
  log.model = addressed ?? named ?? log.model;
  return {
    ...call,
    body,
    isJson: received !== null && isJson,
    grownBy: received && arrived ? received.head.byteLength - arrived.head.byteLength : 0,
    named,
    asked: addressed ?? named,
    slug: null,
    foundBy: null,
    config: null,
    addressed,
  };
}

/** The body with what is said elsewhere, in the address or by the client's format, and with the names that may stand in it. */
function told({ head, rest }: Opening, { inAddress, streamsByDefault, headers }: ModelCall, isJson: boolean): Opening {
  const named = inAddress ? withAddress(head, inAddress, headers['content-type'], isJson) : head;
  if (!isJson) return { head: named, rest };
  const whole = streamsByDefault ? streaming(named) : named;
  return { head: whole, rest, words: wordsIn(whole) };
}

/** How many bytes the body has; null: there is none. `NaN`: the request does not say. */
function bodyLength({ request, headers }: ModelCall, maxBytes: number): number | null {
  const length = headers['content-length'];
  // Looking at `request.body` would build a stream, also where there is nothing to stream.
  if (length === '0' || (length === undefined && !headers['transfer-encoding'])) return null;
  // Bun does not hand them over, and a body that silently stays behind is worse than a refusal.
  if (request.method === 'GET' || request.method === 'HEAD') {
    fail('invalid_request', 'body', `a ${request.method} request cannot carry a body through the gateway`);
  }
  const declared = length === undefined ? Number.NaN : Number(length);
  if (declared > maxBytes) fail('body_too_large', maxBytes);
  if (declared <= WHOLE_BELOW && declared >= LARGE_BODY) bodyHeadroom.passed(declared);
  return declared;
}

const isJsonType = (type: string | undefined): boolean =>
  type === 'application/json' || (type !== undefined && /^application\/([\w.-]+\+)?json\b/i.test(type));

/** What a body says of its model; null where it cannot be told. */
function namedIn(body: Opening, headers: SentHeaders, isJson: boolean): string | null {
  if (isJson) return findModel(body)?.model ?? null;
  const boundary = boundaryOf(headers['content-type']);
  return boundary === null ? null : formModel(body.head, boundary);
}

/** A form that names its model is watched: behind its file may stand another. */
function opened(received: Opening, named: string | null, headers: SentHeaders): Opening {
  const { head, rest } = received;
  const boundary = rest && named !== null ? boundaryOf(headers['content-type']) : null;
  if (boundary === null) return received;
  const watch = new FormWatch(boundary);
  watch.push(head);
  return { head, rest, watch: furtherModels(watch, { faults: false }) };
}

/** The call with another name for its model, which the body says by now. */
export function renamed(call: OpenCall, name: string): OpenCall {
  const { body, headers, log } = call;
  if (!body || call.named === null || call.named === name) return call;
  const { head } = body;
  const found = call.isJson ? findModel(body) : null;
  const renamedHead = found
    ? splice(head, found.member, JSON.stringify(name))
    : renamedInForm(head, boundaryOf(headers['content-type'])!, name);
  log.model = call.addressed ?? name;
  const grownBy = call.grownBy + renamedHead.byteLength - head.byteLength;
  // Another text adds no name to the body, so what was found in it stands.
  return { ...call, body: { ...body, head: renamedHead }, named: name, grownBy };
}

const QUOTED_MODEL = Buffer.from('"model"');

/** The model that a JSON body names, and where. Of two, the provider might take the one that no limit has looked at. */
function findModel(
  body: Pick<Opening, 'head' | 'words'>,
): { readonly member: Member; readonly model: string | null } | null {
  const { head } = body;
  const [member] = findMembers(head, 'model', 1);
  if (!member) return null;
  // Hardly any body names it again, so hardly any is walked to its end.
  const mayBeTwice = includesBytes(head, QUOTED_MODEL, member.end) || mayEscapeLetters(body);
  if (mayBeTwice && findMembers(head, 'model', 2).length > 1) refuseTwoModels();
  return { member, model: stringAt(head, member) };
}

export const modelMember = (head: Uint8Array): string | null => findModel({ head })?.model ?? null;

const refuseTwoModels = (): never =>
  fail('invalid_request', 'model', 'is given twice; which one counts would be up to the provider');

/** A string at the top level of a JSON body, when it stands in what was read; the first of that name. */
export function stringMember(head: Uint8Array, name: string): string | null {
  const [member] = findMembers(head, name, 1);
  return member ? stringAt(head, member) : null;
}

function stringAt(bytes: Uint8Array, { start, end }: { start: number; end: number }): string | null {
  try {
    const value: unknown = JSON.parse(textOf(bytes, start, end));
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

/** Whether a JSON body asks for a stream. */
export function isStream(body: Pick<Opening, 'head' | 'words'>): boolean {
  if (!mayNameStream(body)) return false;
  const [member] = findMembers(body.head, 'stream', 1);
  return member !== undefined && body.head[member.start] === 't'.charCodeAt(0);
}

const METADATA = 'x-gateway-metadata';
const LONGEST_METADATA = 128;

/** `x-gateway-metadata`, a JSON object of short strings. What the key's owner fixed stands above what the request says. */
export function readMetadata(
  headers: SentHeaders,
  fixed: Readonly<Record<string, string>> | undefined,
): Record<string, string> | null {
  const text = headerOf(headers, METADATA);
  if (text === null) return fixed ? { ...fixed } : null;
  const metadata = parse(text);
  for (const [key, value] of Object.entries(metadata)) {
    if ([...key].length > LONGEST_METADATA)
      fail('invalid_header', METADATA, `a key is longer than ${LONGEST_METADATA} characters`);
    if (typeof value !== 'string') fail('invalid_header', METADATA, `the value of "${key}" must be a string`);
    if ([...value].length > LONGEST_METADATA)
      fail('invalid_header', METADATA, `the value of "${key}" is longer than ${LONGEST_METADATA} characters`);
  }
  return { ...(metadata as Record<string, string>), ...fixed };
}

function parse(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    fail('invalid_header', METADATA, 'is not JSON; send an object of strings such as {"_user":"ada"}');
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    fail('invalid_header', METADATA, 'must be a JSON object of strings such as {"_user":"ada"}');
  }
  return value;
}
