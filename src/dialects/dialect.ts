import type { DialectName, Failure, JsonObject, ModelReply, ModelRequest, ReplyEvent } from './ir.ts';
import type { ServerSentEvent } from './sse.ts';

/**
 * One wire format, as pure functions between its JSON and the representation of `ir.ts`. The inbound half serves clients
 * that speak it; the outbound half calls providers that do. A dialect has one or both.
 *
 * A translated call: `inbound.decodeRequest` → `outbound.encodeRequest` → the provider → `outbound.decodeReply` or
 * `outbound.decodeStream` → `inbound.encodeReply` or `inbound.encodeStream`. When both sides speak the same dialect none
 * of this runs: the bytes go through.
 *
 * `includeUsage` is what the client asked for. A caller that needs the usage of every stream itself encodes
 * `{ ...request, includeUsage: true }` for the provider and gives the client's own wish to `encodeStream`.
 *
 * ```ts
 * const request = openaiChat.inbound.decodeRequest(JSON.parse(text));
 * const { body, dropped } = anthropic.outbound.encodeRequest(request);
 * refuseWhatMatters(dropped);
 * const decoder = anthropic.outbound.decodeStream();
 * const encoder = openaiChat.inbound.encodeStream({ request, id, now });
 * for (const event of parser.push(bytes)) for (const each of decoder.push(event)) send(encoder.push(each));
 * for (const each of decoder.end()) send(encoder.push(each));
 * send(encoder.end());
 * ```
 */
export interface Dialect {
  readonly name: DialectName;
  readonly inbound?: Inbound;
  readonly outbound?: Outbound;
}

export interface Inbound {
  /** Its clients do not send back what providers sign, so the gateway keeps it for them. */
  readonly losesThoughts?: true;
  /**
   * Reads a client's body. A fault is thrown as `invalid_request` and names the path (`messages[2].content[0].type`) and
   * what belongs there. Members it does not know are kept in `ext`.
   */
  decodeRequest(body: unknown): ModelRequest;
  encodeReply(reply: ModelReply, context: ReplyContext): Encoded;
  /** One encoder per reply. */
  encodeStream(context: ReplyContext): StreamEncoder;
  /** The error body this dialect's SDKs understand. */
  encodeError(failure: Failure): { readonly status: number; readonly body: JsonObject };
}

export interface Outbound {
  /** Its models sign thoughts and want them back with the calls that follow them. */
  readonly signsThoughts?: true;
  /** Never changes `request`: another target may be tried with it. */
  encodeRequest(request: ModelRequest, quirks?: Quirks): Encoded;
  /** Reads a provider's good answer; throws `FramingError` when it is none. */
  decodeReply(body: unknown): ModelReply;
  /** One decoder per reply. */
  decodeStream(): StreamDecoder;
  /** Reads an answer with status 400 or above. `body` is its JSON, or its text when it is not JSON. */
  decodeError(status: number, body: unknown): Failure;
}

/** What the inbound half needs to know about the call beside the reply. */
export interface ReplyContext {
  /** As the client sent it: some dialects repeat it in the answer. */
  readonly request: Pick<ModelRequest, 'model'> & Partial<ModelRequest>;
  /** Used when the provider gave no id of its own. */
  readonly id: string;
  /** Milliseconds, used when the provider did not say when it answered. */
  readonly now: number;
  /** Leave out every member that the vendor's own API does not have. */
  readonly isStrict?: boolean;
  /** All the same, show thoughts where clients of other vendors look for them. */
  readonly showsThoughts?: boolean;
}

/** Where providers that speak the same dialect differ. Data of the provider; absent means as its inventor has it. */
export interface Quirks {
  /** openai-chat: the member that limits the output. Default `max_completion_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens';
  /** openai-chat: how a cache mark is written. Default: not at all. responses takes `prompt_cache_breakpoint` only. */
  readonly cacheMarks?: 'cache_control' | 'prompt_cache_breakpoint';
  /** openai-chat: how reasoning of earlier turns is sent. Default: not at all. */
  readonly reasoningHistory?: 'reasoning_content' | 'content_blocks';
  /** openai-chat: it refuses `stream_options.include_usage`. */
  readonly refusesStreamOptions?: true;
  /** openai-chat: `response_format` takes `json_object` and no schemas. */
  readonly lacksSchemas?: true;
  /** anthropic: the most output tokens a model gives, when the name is not one of the vendor's own. */
  readonly maxOutputTokens?: number;
}

/** A translated body, and an honest account of what is different in it. */
export interface Encoded<Body extends object = object> {
  readonly body: Body;
  readonly headers?: Readonly<Record<string, string>>;
  /** What could not be said in this dialect. */
  readonly dropped: readonly Dropped[];
  /** What is said in another way, or was added because the dialect demands it. */
  readonly changed: readonly Changed[];
}

export interface Dropped {
  /** In the client's words where they are known, else a path into the `ModelRequest`. */
  readonly path: string;
  readonly why: string;
  /** Without it the answer would be another one, so the call has to be refused; otherwise it is reported. */
  readonly matters: boolean;
}

export interface Changed {
  readonly path: string;
  readonly how: string;
}

/** Events in, server-sent events out. */
export interface StreamEncoder {
  push(event: ReplyEvent): readonly ServerSentEvent[];
  /** After the last event. A reply that was not finished ends with the dialect's error event, never cleanly. */
  end(): readonly ServerSentEvent[];
}

/** Server-sent events in (or frames of another framing, made to look like them), events out. Never throws. */
export interface StreamDecoder {
  push(event: ServerSentEvent): readonly ReplyEvent[];
  /** When the provider's stream has ended: an `error` when it ended too early. */
  end(): readonly ReplyEvent[];
}
