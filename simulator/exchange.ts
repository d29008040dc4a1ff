import type { Faults } from './faults.ts';
import { isObject, type JsonObject } from './json.ts';
import { Refusal } from './refusal.ts';
import type { ServerSentEvent } from './sse.ts';

/** A request as the vendors' files read it. */
export interface Call {
  readonly request: Request;
  readonly method: string;
  /** The version segment that led the path (`v1beta`), or an empty string. */
  readonly version: string;
  /** The path after that segment: `/chat/completions`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The body as text, read once. */
  text(): Promise<string>;
  /** The same for equal requests. A body counts once it has been read. */
  id(): string;
}

/** An understood request. It is answered in a second step, because what was said may ask for faults. */
export interface Exchange {
  /** The text in which a `[[simulate: …]]` may stand. */
  readonly said: string;
  answer(faults: Faults): Answer;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookies?: readonly string[];
  readonly body: AnswerBody;
}

export type AnswerBody =
  | { readonly type: 'json'; readonly value: unknown }
  | { readonly type: 'bytes'; readonly bytes: Uint8Array<ArrayBuffer>; readonly contentType: string }
  | { readonly type: 'events'; readonly events: Iterable<ServerSentEvent>; readonly lineEnd?: '\r\n' }
  | { readonly type: 'pieces'; readonly pieces: Iterable<Uint8Array<ArrayBuffer>>; readonly contentType: string };

/** One provider's wire format. */
export interface Vendor {
  /** The exchange for a path it knows, null for any other. Throws a `Refusal` for a body it cannot read. */
  read(call: Call): Promise<Exchange> | Exchange | null;
  /** The body of an error answer. */
  errorBody(refusal: Refusal, requestId: string): unknown;
  /** The header in which it names the request. */
  readonly requestIdHeader?: string;
}

export const json = (value: unknown, status?: number): Answer => ({ status, body: { type: 'json', value } });

/** An answer that nothing said can change. */
export const fixed = (value: unknown): Exchange => ({ said: '', answer: () => json(value) });

export async function jsonBody(call: Call): Promise<JsonObject> {
  const body = parsed(await call.text());
  if (!isObject(body)) throw new Refusal(400, 'The body must be a JSON object.');
  return body;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(400, 'The body is not valid JSON.');
  }
}

/** A name that stands in a path. */
export function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refusal(400, `"${segment}" is not a valid part of a path.`);
  }
}

/** Any model is served to anyone, but the model named `require-key` wants to see a credential. */
export function checkCredential(call: Call, model: unknown, headers: readonly string[]): void {
  if (model !== 'require-key') return;
  if (headers.some((name) => call.headers.get(name)) || call.query.get('key')) return;
  throw new Refusal(401, `No credential was sent; the model require-key wants one in ${headers.join(' or ')}.`, {
    code: 'invalid_api_key',
  });
}

/** Sixteen characters that are the same for the same text: answers to equal requests have equal ids. */
export const digest = (text: string | Uint8Array): string => Bun.hash(text).toString(16).padStart(16, '0');
