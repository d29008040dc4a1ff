import type { FinishReason, JsonObject } from '../ir.ts';

/** The JSON of Anthropic's Messages API, only what we write ourselves; everything else travels in `ext`. */

export interface CacheControl {
  readonly type: 'ephemeral';
  readonly ttl?: '5m' | '1h';
}

interface Cached {
  readonly cache_control?: CacheControl;
}

export interface TextBlock extends Cached {
  readonly type: 'text';
  readonly text: string;
}

type ImageMime = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';

export interface ImageBlock extends Cached {
  readonly type: 'image';
  readonly source:
    | { readonly type: 'base64'; readonly media_type: ImageMime; readonly data: string }
    | { readonly type: 'url'; readonly url: string }
    | { readonly type: 'file'; readonly file_id: string };
}

export interface DocumentBlock extends Cached {
  readonly type: 'document';
  readonly title?: string;
  readonly source:
    | { readonly type: 'base64'; readonly media_type: 'application/pdf'; readonly data: string }
    | { readonly type: 'text'; readonly media_type: 'text/plain'; readonly data: string }
    | { readonly type: 'url'; readonly url: string }
    | { readonly type: 'file'; readonly file_id: string };
}

export interface ToolUseBlock extends Cached {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
}

export interface ToolResultBlock extends Cached {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content?: string | (TextBlock | ImageBlock | DocumentBlock)[];
  readonly is_error?: boolean;
}

export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature: string;
}

export interface RedactedThinkingBlock {
  readonly type: 'redacted_thinking';
  readonly data: string;
}

export type ContentBlock =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | ToolUseBlock
  | ToolResultBlock
  | ThinkingBlock
  | RedactedThinkingBlock;

export type Message =
  | { readonly role: 'user' | 'assistant'; readonly content: ContentBlock[] }
  | { readonly role: 'system'; readonly content: TextBlock[] };

export interface Tool extends Cached {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: { readonly type: 'object'; readonly [keyword: string]: unknown };
  readonly strict?: boolean;
}

export type ToolChoice =
  | { readonly type: 'auto' | 'any'; readonly disable_parallel_tool_use?: boolean }
  | { readonly type: 'tool'; readonly name: string; readonly disable_parallel_tool_use?: boolean }
  | { readonly type: 'none' };

export type Thinking =
  | { readonly type: 'disabled' }
  | { readonly type: 'adaptive'; readonly display?: 'summarized' | 'omitted' }
  | { readonly type: 'enabled'; readonly budget_tokens: number; readonly display?: 'summarized' | 'omitted' };

export interface OutputConfig {
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  readonly format?: { readonly type: 'json_schema'; readonly schema: Record<string, unknown> };
}

export interface MessagesRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: Message[];
  readonly system?: string | TextBlock[];
  readonly tools?: Tool[];
  readonly tool_choice?: ToolChoice;
  readonly temperature?: number;
  readonly top_p?: number;
  readonly top_k?: number;
  readonly stop_sequences?: string[];
  readonly thinking?: Thinking;
  readonly output_config?: OutputConfig;
  readonly service_tier?: 'auto' | 'standard_only';
  readonly metadata?: { readonly user_id?: string };
  readonly stream?: boolean;
}

export type StopReason =
  | 'end_turn'
  | 'max_tokens'
  | 'stop_sequence'
  | 'tool_use'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded';

export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens: number | null;
  readonly cache_creation_input_tokens: number | null;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  } | null;
  readonly output_tokens_details: { readonly thinking_tokens: number } | null;
  readonly server_tool_use: null;
  readonly service_tier: 'standard' | 'priority' | 'batch' | null;
  readonly inference_geo: string | null;
  readonly speed: null;
}

/** Blocks of an answer, with the members that the vendor's answers always have. */
export type ReplyBlock =
  | { readonly type: 'text'; readonly text: string }
  | ThinkingBlock
  | RedactedThinkingBlock
  | {
      readonly type: 'tool_use';
      readonly id: string;
      readonly name: string;
      readonly input: JsonObject;
      readonly caller: { readonly type: 'direct' };
    };

export interface MessageReply {
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly model: string;
  readonly content: ReplyBlock[];
  readonly stop_reason: StopReason | null;
  readonly stop_sequence: string | null;
  readonly stop_details: null;
  readonly container: null;
  readonly diagnostics: null;
  readonly usage: Usage;
}

const REASONS = new Map<string, FinishReason>([
  ['end_turn', 'stop'],
  ['max_tokens', 'length'],
  ['stop_sequence', 'stop-sequence'],
  ['tool_use', 'tool-calls'],
  ['pause_turn', 'pause'],
  ['refusal', 'refusal'],
  ['model_context_window_exceeded', 'context-overflow'],
]);

export const finishReason = (raw: string): FinishReason => REASONS.get(raw) ?? 'other';

const STOP_REASONS: Readonly<Record<FinishReason, StopReason>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'context-overflow': 'model_context_window_exceeded',
  'tool-calls': 'tool_use',
  'content-filter': 'refusal',
  refusal: 'refusal',
  pause: 'pause_turn',
  other: 'end_turn',
};

export const stopReason = (reason: FinishReason): StopReason => STOP_REASONS[reason];
