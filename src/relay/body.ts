import { bodyBallast, LARGE_BODY } from '../core/ballast.ts';
import { includesBytes, textOf } from '../core/bytes.ts';
import { fail, GatewayError } from '../core/errors.ts';
import { findMembers, type Member, splice } from '../core/json-bytes.ts';
import { MemberWatch } from '../core/json-watch.ts';
import { type ArrivingBody, arrivingBody, wholeBody } from '../http/arriving.ts';
import type { SentHeaders } from '../http/headers.ts';
import { splitModel } from '../routing/select.ts';
import type { Body, BodyWatch, NamedModel, Opening } from './call.ts';
import { boundaryOf } from './multipart-model.ts';

export interface BodyOptions {
  readonly maxBytes: number;
  /** The body must be in memory before it is sent: a signature covers it. */
  readonly whole: boolean;
  /** Whether a model may be named in it, which must not stand behind what was read. */
  readonly namesModel?: boolean;
  /** Called with every piece that passes. */
  readonly tap: (piece: Uint8Array) => void;
}

/** Small bodies are read at once: one await instead of a stream, and they can be sent again on a stale connection. */
const WHOLE_BELOW = 1 << 20;
/** How far a large JSON body is read for its model: images may stand before it. */
export const PEEK_BELOW = 32 << 20;
/** How far a large form is read for its model: clients that put it before the file are understood, no file is held up. */
const FORM_PEEK = 64 << 10;
/** A body that must be kept (it is signed, edited, or may be sent again) and does not fit here is refused. */
export const KEPT_BELOW = 64 << 20;

export const isJson = (headers: SentHeaders): boolean => {
  const type = headers['content-type'];
  return type === 'application/json' || (type !== undefined && /^application\/([\w.-]+\+)?json\b/i.test(type));
};

/** Reads a small body whole, of a large JSON one as much as it takes to see its model, of a large form the beginning. */
export async function openBody(request: Request, headers: SentHeaders, maxBytes: number): Promise<Opening | null> {
  const length = headers['content-length'];
  // Looking at `request.body` would build a stream, also where there is nothing to stream.
  if (length === '0' || (length === undefined && !headers['transfer-encoding'])) return null;
  // Bun does not hand them over, and a body that silently stays behind is worse than a refusal.
  if (request.method === 'GET' || request.method === 'HEAD') {
    fail('invalid_request', 'body', `a ${request.method} request cannot carry a body through the gateway`);
  }
  const declared = length === undefined ? Number.NaN : Number(length);
  if (declared > maxBytes) fail('body_too_large', maxBytes);
  if (declared <= WHOLE_BELOW) {
    if (declared >= LARGE_BODY) bodyBallast.passed(declared);
    return { head: await wholeBody(request, declared), rest: null };
  }
  const body = arrivingBody(request);
  if (!body) return null;
  if (boundaryOf(headers['content-type']) !== null) return start(body, FORM_PEEK);
  if (!isJson(headers)) return { head: new Uint8Array(), rest: body };
  const opening = await peek(body);
  if (opening.head.byteLength > maxBytes) fail('body_too_large', maxBytes);
  return opening;
}

/** A body of which more is read: until `isEnough` says so, to its end, or to so many bytes. It is shown the head first. */
export async function readOn(
  { head, rest }: Opening,
  most: number,
  isEnough: (piece: Uint8Array) => boolean,
): Promise<Opening> {
  if ((head.byteLength > 0 && isEnough(head)) || !rest) return { head, rest };
  const pieces = [head];
  for (let size = head.byteLength; size < most; ) {
    const piece = await rest.read();
    if (!piece) return { head: Buffer.concat(pieces), rest: null };
    pieces.push(piece);
    size += piece.byteLength;
    if (isEnough(piece)) break;
  }
  return { head: Buffer.concat(pieces), rest };
}

/** The first bytes of a stream, and the stream behind them. */
async function start(body: ArrivingBody, enough: number): Promise<Opening> {
  const pieces: Uint8Array[] = [];
  for (let size = 0; size < enough; ) {
    const piece = await body.read();
    if (!piece) return { head: Buffer.concat(pieces), rest: null };
    pieces.push(piece);
    size += piece.byteLength;
  }
  return { head: Buffer.concat(pieces), rest: body };
}

async function peek(body: ArrivingBody): Promise<Opening> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let enough = WHOLE_BELOW; ; enough *= 2) {
    while (size < enough) {
      const piece = await body.read();
      if (!piece) return { head: Buffer.concat(pieces), rest: null };
      pieces.push(piece);
      size += piece.byteLength;
    }
    const head = Buffer.concat(pieces);
    const [model] = findMembers(head, 'model', 1);
    if (enough >= PEEK_BELOW || (model && model.end < head.byteLength)) {
      return { head, rest: body };
    }
  }
}

const QUOTED_MODEL = Buffer.from('"model"');
/** How each letter of it begins when it is written as an escape. */
const ESCAPED_LETTER = Buffer.from('\\u006');

/** The model that a JSON body names, and where. Of two, the provider might take the one that no limit has looked at. */
function findModel(head: Uint8Array): { readonly member: Member; readonly model: string | null } | null {
  const [member] = findMembers(head, 'model', 1);
  if (!member) return null;
  // Hardly any body names it again, so hardly any is walked to its end.
  const mayBeTwice = includesBytes(head, QUOTED_MODEL, member.end) || includesBytes(head, ESCAPED_LETTER, member.end);
  if (mayBeTwice && findMembers(head, 'model', 2).length > 1) refuseTwoModels();
  return { member, model: stringAt(head, member) };
}

/** The model of a JSON body, told apart from the virtual key that it may name. */
export function takeModel(head: Uint8Array): NamedModel {
  const found = findModel(head);
  const parts = found?.model ? splitModel(found.model) : null;
  if (!found || !parts) return { name: found?.model ?? null, slug: null, head };
  return { ...parts, head: splice(head, found.member, JSON.stringify(parts.name)) };
}

export const modelMember = (head: Uint8Array): string | null => findModel(head)?.model ?? null;

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

/** The body as it will be sent; at once, unless a large one must be read whole first. */
export function closeBody(
  opening: Opening | null,
  { maxBytes, whole: needsWhole, namesModel = false, tap }: BodyOptions,
): Body | Promise<Body> {
  if (!opening) return null;
  const { head, rest } = opening;
  if (head.byteLength > 0) tap(head);
  if (!rest) return head;
  const watch = opening.watch ?? (namesModel ? watchFrom(head) : null);
  if (needsWhole) return collect(head, rest, { limit: Math.min(maxBytes, KEPT_BELOW), watch, tap });
  return tapped(head, rest, { limit: maxBytes, watch, tap });
}

/** The whole of a body that must be kept. */
export async function keepWhole(opening: Opening, maxBytes: number, namesModel: boolean): Promise<Opening> {
  const { head, rest } = opening;
  if (!rest) return opening;
  const watch = opening.watch ?? (namesModel ? watchFrom(head) : null);
  const limit = Math.min(maxBytes, KEPT_BELOW);
  return { head: await collect(head, rest, { limit, watch, tap: () => {} }), rest: null };
}

/** Looks out for a model behind what was read: limits and prices are those of the model that was seen. */
function watchFrom(head: Uint8Array): MemberWatch {
  const watch = new MemberWatch('model');
  watch.push(head);
  return watch;
}

const lateModel = () =>
  new GatewayError('invalid_request', [
    'model',
    `must be given once, in JSON within the first ${PEEK_BELOW >> 20} MiB of the body, in a form before the file`,
  ]);

interface Reading {
  readonly limit: number;
  readonly watch: BodyWatch | null;
  readonly tap: (piece: Uint8Array) => void;
}

async function collect(head: Uint8Array, rest: ArrivingBody, { limit, watch, tap }: Reading) {
  const pieces = [head];
  let size = head.byteLength;
  for await (const piece of rest) {
    size += piece.byteLength;
    if (size > limit) fail('body_too_large', limit);
    if (watch && watch.push(piece) > 0) throw lateModel();
    tap(piece);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Pulls from the client only as fast as the provider takes. A body that ends early or grows too large cuts the provider's connection. */
function tapped(head: Uint8Array, rest: ArrivingBody, { limit, watch, tap }: Reading) {
  let size = head.byteLength;
  let isHeadSent = head.byteLength === 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!isHeadSent) {
          isHeadSent = true;
          return controller.enqueue(head);
        }
        try {
          const piece = await rest.read();
          if (!piece) return controller.close();
          size += piece.byteLength;
          const fault =
            size > limit
              ? new GatewayError('body_too_large', [limit])
              : watch && watch.push(piece) > 0
                ? lateModel()
                : null;
          if (fault) {
            rest.cancel();
            return controller.error(fault);
          }
          tap(piece);
          controller.enqueue(piece);
        } catch (error) {
          controller.error(error);
        }
      },
      cancel: () => rest.cancel(),
    },
    { highWaterMark: 0 },
  );
}
