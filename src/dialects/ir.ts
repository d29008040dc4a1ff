import type { Usage } from '../core/usage.ts';

/**
 * What a model call means, whichever wire format it came in or goes out by: the intermediate representation between
 * dialects. A dialect reads its JSON into it and writes its JSON from it (`dialect.ts`); no dialect knows another.
 *
 * - A conversation is a list of turns, a turn a list of parts, in the order they were said. Reasoning, text and calls may
 *   alternate inside one turn; system turns stand where the client put them.
 * - Nothing is defaulted: an absent member was not given. `null` on the wire counts as absent.
 * - What a dialect does not understand is kept. Unknown members of a node are in its `ext` under the dialect's name, and
 *   go back into that dialect only; a whole part or tool that has no meaning here is `opaque`.
 * - `at` says where a node stood in the client's body, for messages to people. It is no part of the meaning.
 *
 * Canonical forms, so that two ways to write one thing are one value:
 * - Results of tools are in turns of role `tool`, which hold nothing else; results in a row are one turn.
 * - The empty string as content is no part at all; an empty list of tools is absent. Content given as a string is one text part.
 * - The text of a tool call is what the model wrote: JSON for functions (`{}` when it wrote nothing), free text for
 *   custom tools. It is not parsed here.
 *
 * The laws, for every dialect (`laws.test.ts` checks them on random values):
 * - `decodeRequest(encodeRequest(x).body)` is x without what `dropped` names; replies likewise.
 * - A streamed reply, folded (`fold.ts`), is the reply that would have come in one piece.
 * - Where a stream is cut changes nothing.
 */
export type DialectName =
  | 'openai-chat'
  | 'anthropic'
  | 'responses'
  | 'gemini'
  | 'converse'
  | 'cohere'
  | 'ollama'
  | 'ollama-generate';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Members that only one dialect knows, by its name. */
export type Ext = { readonly [Name in DialectName]?: JsonObject };

interface Node {
  readonly ext?: Ext;
  readonly at?: string;
}

/** The prompt up to and with this node may be cached. `ttl` as the client wrote it (`5m`, `1h`). */
export interface CacheMark {
  readonly ttl?: string;
}

export interface TextPart extends Node {
  readonly type: 'text';
  readonly text: string;
  readonly cache?: CacheMark;
  readonly logprobs?: readonly TokenLogprob[];
}

/** One token and how likely it was, in the words of OpenAI's chat format, which every client that asks for it reads. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes?: readonly number[] | null;
  readonly top_logprobs?: readonly Omit<TokenLogprob, 'top_logprobs'>[];
}

/** `document` is every file that is neither picture nor sound nor film: no dialect tells its kinds apart. */
export type MediaKind = 'image' | 'audio' | 'video' | 'document';

export type MediaSource =
  | { readonly type: 'url'; readonly url: string }
  /** Base64, without the `data:` prefix. */
  | { readonly type: 'data'; readonly data: string }
  /** A document that is plain text, as it is. */
  | { readonly type: 'text'; readonly text: string }
  /** A file that was uploaded to the provider before. */
  | { readonly type: 'id'; readonly id: string };

export interface MediaPart extends Node {
  readonly type: 'media';
  readonly kind: MediaKind;
  readonly source: MediaSource;
  /** Media type, such as `image/png`. */
  readonly mime?: string;
  /** How closely a picture is looked at: `low`, `high`, `auto`. */
  readonly detail?: string;
  /** File name or title. */
  readonly title?: string;
  readonly cache?: CacheMark;
}

export interface ToolCallPart extends Node {
  readonly type: 'tool-call';
  readonly id: string;
  readonly name: string;
  readonly argsText: string;
  /** A call of a custom tool: `argsText` is free text. */
  readonly custom?: true;
  readonly cache?: CacheMark;
}

export interface ToolResultPart extends Node {
  readonly type: 'tool-result';
  /** The id of the call that this answers. */
  readonly id: string;
  /** Text, media, and parts that one dialect knows. */
  readonly parts: readonly (TextPart | MediaPart | OpaquePart)[];
  readonly isError?: true;
  readonly cache?: CacheMark;
}

/** What the model thought. `signature` and `redacted` mean something only to the provider that made them. */
export interface ReasoningPart extends Node {
  readonly type: 'reasoning';
  readonly text?: string;
  /** Proves to its maker that the text is unchanged; has to be sent back with it. */
  readonly signature?: string;
  /** Thoughts that only their maker can read. */
  readonly redacted?: string;
  /** Who made `signature` or `redacted`. Always there when one of them is. */
  readonly signedBy?: DialectName;
}

export interface RefusalPart extends Node {
  readonly type: 'refusal';
  readonly text: string;
  readonly logprobs?: readonly TokenLogprob[];
}

export interface OpaquePart extends Node {
  readonly type: 'opaque';
  readonly dialect: DialectName;
  readonly raw: JsonObject;
}

export type Part = TextPart | MediaPart | ToolCallPart | ToolResultPart | ReasoningPart | RefusalPart | OpaquePart;

export type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool';

export interface Turn extends Node {
  readonly role: Role;
  readonly parts: readonly Part[];
  /** Tells participants of the same role apart. */
  readonly name?: string;
}

export type Tool =
  | (Node & {
      readonly type: 'function';
      readonly name: string;
      readonly description?: string;
      /** JSON Schema, every keyword kept. Absent: the function takes nothing. */
      readonly parameters?: JsonObject;
      readonly strict?: boolean;
      readonly cache?: CacheMark;
    })
  | (Node & {
      readonly type: 'custom';
      readonly name: string;
      readonly description?: string;
      /** The grammar of its input, as OpenAI writes it. */
      readonly format?: JsonObject;
    })
  /** A tool of one provider, such as its own web search. */
  | (Node & { readonly type: 'opaque'; readonly dialect: DialectName; readonly raw: JsonObject });

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string }
  /** Only these, and at least one of them when `mode` is `required`. */
  | { readonly type: 'allowed'; readonly mode: 'auto' | 'required'; readonly names: readonly string[] };

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | {
      readonly type: 'schema';
      readonly schema: JsonObject;
      readonly name?: string;
      readonly description?: string;
      readonly strict?: boolean;
    };

export type JsonFormat = Exclude<ResponseFormat, { readonly type: 'text' }>;

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

export interface Reasoning {
  readonly effort?: Effort;
  /** `adaptive`: the model decides how much. `budget`: at most `budgetTokens`. */
  readonly mode?: 'off' | 'adaptive' | 'budget';
  readonly budgetTokens?: number;
  /** Whether thoughts are shown in the answer. */
  readonly display?: string;
}

/** Settings of a call, each optional. */
export interface Settings {
  readonly tools?: readonly Tool[];
  readonly toolChoice?: ToolChoice;
  readonly parallelToolCalls?: boolean;
  /** Reasoning included. */
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stop?: readonly string[];
  /** How many answers. */
  readonly n?: number;
  readonly seed?: number;
  /** `top` alternatives for each token; 0 or absent for the chosen token alone. */
  readonly logprobs?: { readonly top?: number };
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  readonly logitBias?: Readonly<Record<string, number>>;
  readonly responseFormat?: ResponseFormat;
  readonly reasoning?: Reasoning;
  /** `auto`, `standard`, or a provider's own word for another one. */
  readonly serviceTier?: string;
  /** Who uses the application, in its own words. */
  readonly user?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly stream?: boolean;
  /** The client wants the usage in the stream too. */
  readonly includeUsage?: boolean;
}

/** What the client calls things, so that messages to it use its words. */
export interface Origin {
  readonly dialect: DialectName;
  /** Its names for settings and for members of parts, where they differ from ours. */
  readonly names: Readonly<Record<string, string>>;
  /** Members in `ext` of the request without which the answer would be another one. */
  readonly essential?: readonly string[];
}

export interface ModelRequest extends Settings {
  readonly model: string;
  readonly turns: readonly Turn[];
  readonly ext?: Ext;
  readonly origin?: Origin;
}

export type FinishReason =
  | 'stop'
  /** One of the request's stop sequences was met; `stopSequence` says which, where the provider does. */
  | 'stop-sequence'
  | 'length'
  /** Nothing more fits into the model's context. */
  | 'context-overflow'
  | 'tool-calls'
  /** A filter of the provider cut the answer. */
  | 'content-filter'
  /** The model, or who watches it, refused. */
  | 'refusal'
  /** The provider paused a long turn; sending it back continues it. */
  | 'pause'
  | 'other';

export interface Finish {
  readonly reason: FinishReason;
  /** The provider's own word. */
  readonly raw?: string;
  readonly stopSequence?: string;
  readonly ext?: Ext;
}

/**
 * Tokens. `inputTokens` counts everything that was sent, read from a cache or written to one included; `outputTokens`
 * everything that was made, reasoning included. The other members are shares of these two.
 */
export interface TokenUsage extends Usage {
  readonly cacheWrite5mTokens?: number;
  readonly cacheWrite1hTokens?: number;
  readonly audioInputTokens?: number;
  readonly audioOutputTokens?: number;
  readonly ext?: Ext;
}

export interface Choice {
  readonly parts: readonly Part[];
  readonly finish: Finish;
  readonly ext?: Ext;
}

/** The answer in one piece. `choices` has one element, or as many as `n` asked for. */
export interface ModelReply {
  readonly id?: string;
  readonly model?: string;
  /** Seconds since the epoch. */
  readonly createdAt?: number;
  readonly choices: readonly Choice[];
  readonly usage?: TokenUsage;
  readonly serviceTier?: string;
  readonly ext?: Ext;
}

/** What is known of a reply before its first part. */
export type ReplyHead = Omit<ModelReply, 'choices' | 'usage'>;

/** More of a part: for text, reasoning and refusals their text, for calls their `argsText`. */
export interface Delta {
  readonly text?: string;
  readonly logprobs?: readonly TokenLogprob[];
}

/** What is only known at a part's end; members replace those of the part. */
export interface PartEnd {
  readonly signature?: string;
  readonly signedBy?: DialectName;
  readonly ext?: Ext;
}

/**
 * A reply as it comes. `start` is first. Parts of a choice are numbered from 0 in the order they start; a part may start
 * before the one before it has ended. A part that starts with its text already there gets the deltas appended. Usage may
 * come often: later counts replace earlier ones, member by member. Each choice finishes once. `error` ends the reply.
 */
export type ReplyEvent =
  | { readonly type: 'start'; readonly head: ReplyHead }
  | { readonly type: 'part-start'; readonly choice: number; readonly index: number; readonly part: Part }
  | { readonly type: 'part-delta'; readonly choice: number; readonly index: number; readonly delta: Delta }
  | { readonly type: 'part-end'; readonly choice: number; readonly index: number; readonly end?: PartEnd }
  | { readonly type: 'usage'; readonly usage: TokenUsage; readonly serviceTier?: string }
  | { readonly type: 'finish'; readonly choice: number; readonly finish: Finish; readonly ext?: Ext }
  | { readonly type: 'error'; readonly failure: Failure };

export type FailureKind =
  | 'invalid-request'
  | 'authentication'
  | 'billing'
  | 'permission'
  | 'not-found'
  | 'too-large'
  | 'rate-limit'
  | 'timeout'
  | 'overloaded'
  | 'server';

/** A provider's refusal or failure, with its own words kept. */
export interface Failure {
  readonly kind: FailureKind;
  /** The HTTP status; for an error inside a stream, the one it would have had. */
  readonly status: number;
  readonly message: string;
  /** The provider's own name for the failure, and the field it blames. */
  readonly code?: string;
  readonly param?: string;
  /** The provider's error as it came. */
  readonly raw?: unknown;
}
