import type { Changed, Dropped } from '../dialect.ts';
import type { Failure, JsonObject } from '../ir.ts';

/**
 * One endpoint of OpenAI's API (embeddings, rerank, images, …) at a provider that has it in a format of its own. Two pure
 * functions: the client's body in the provider's words, and the provider's answer in the client's.
 *
 * ```ts
 * const { path, body, dropped } = cohereEmbed.encode({ model: 'embed-v4.0', input: ['one', 'two'] });
 * const reply = cohereEmbed.decode(answer, { request, provider: 'cohere', now: Date.now() });
 * ```
 */
export interface EndpointCodec {
  /** Faults of the client are thrown as `invalid_request` and name the field. Never changes `request`. */
  encode(request: JsonObject): EncodedCall;
  /** Reads a good answer; throws `FramingError` when it is none. */
  decode(answer: ProviderAnswer, asked: Asked): JsonObject;
  /** Reads an answer with status 400 or above; the default knows what most providers send. */
  readonly decodeError?: (status: number, body: unknown) => Failure;
}

export interface EncodedCall {
  /** After the provider's base, query included. */
  readonly path: string;
  /** An object is sent as JSON. */
  readonly body: JsonObject | FormFields;
  readonly headers?: Readonly<Record<string, string>>;
  /** What could not be said; the call is refused when one of them matters. */
  readonly dropped?: readonly Dropped[];
  /** What is said in another way, or was added because the provider demands it. */
  readonly changed?: readonly Changed[];
}

/** A body that is sent as multipart/form-data. */
export class FormFields {
  readonly fields: Readonly<Record<string, string>>;

  constructor(fields: Readonly<Record<string, string>>) {
    this.fields = fields;
  }
}

/** What a provider answered: JSON, or bytes where it sends a picture as it is. */
export interface ProviderAnswer {
  /** Undefined when the answer is not JSON. */
  readonly json: unknown;
  readonly bytes: Uint8Array;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What was asked, for an answer that does not say it itself. */
export interface Asked {
  readonly request: JsonObject;
  readonly provider: string;
  /** Milliseconds. */
  readonly now: number;
}

/** Something the answer can do without. */
export const hint = (path: string, why: string): Dropped => ({ path, why, matters: false });

/** Without it the answer would be another one. */
export const need = (path: string, why: string): Dropped => ({ path, why, matters: true });
