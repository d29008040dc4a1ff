import { fail, GatewayError } from '../core/errors.ts';
import { findMembers } from '../core/json-bytes.ts';
import { MemberWatch } from '../core/json-watch.ts';
import { type ArrivingBody, arrivingBody } from '../http/arriving.ts';
import type { SentHeaders } from '../http/headers.ts';
import type { Body, BodyWatch, Opening } from './call.ts';
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
export const WHOLE_BELOW = 1 << 20;
/** How far a large JSON body is read for its model: images may stand before it. */
export const PEEK_BELOW = 32 << 20;
/** How far a large form is read for its model: clients that put it before the file are understood, no file is held up. */
const FORM_PEEK = 64 << 10;
/** A body that must be kept (it is signed, edited, or may be sent again) and does not fit here is refused. */
export const KEPT_BELOW = 64 << 20;

/** Of a large JSON body as much as it takes to see its model, of a large form the beginning, of others nothing. */
export async function openLarge(
  request: Request,
  headers: SentHeaders,
  { isJson, maxBytes }: { readonly isJson: boolean; readonly maxBytes: number },
): Promise<Opening | null> {
  const body = arrivingBody(request);
  if (!body) return null;
  if (boundaryOf(headers['content-type']) !== null) return start(body, FORM_PEEK);
  if (!isJson) return { head: new Uint8Array(), rest: body };
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

/** The body as it will be sent. */
export async function closeBody(
  opening: Opening | null,
  { maxBytes, whole: needsWhole, namesModel = false, tap }: BodyOptions,
): Promise<Body> {
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

/** As much of a JSON body as may be kept: all of it, but for a body that no client should send. */
export async function keepUpTo(opening: Opening, most = KEPT_BELOW): Promise<Opening> {
  const { head, rest } = opening;
  if (!rest) return opening;
  const watch = opening.watch ?? watchFrom(head);
  const pieces = [head];
  for (let size = head.byteLength; size < most; ) {
    const piece = await rest.read();
    if (!piece) return { head: Buffer.concat(pieces), rest: null };
    if (watch.push(piece) > 0) throw lateModel();
    pieces.push(piece);
    size += piece.byteLength;
  }
  return { head: Buffer.concat(pieces), rest, watch };
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
