import type { FinishReason, JsonObject, TokenLogprob } from '../ir.ts';

/** The JSON of OpenAI's chat completions, only what we write ourselves; everything else travels in `ext`. */

interface Marked {
  readonly cache_control?: { readonly type: 'ephemeral'; readonly ttl?: string };
  readonly prompt_cache_breakpoint?: { readonly mode: 'explicit' };
}

export interface TextPart extends Marked {
  readonly type: 'text';
  readonly text: string;
}

export type ContentPart =
  | TextPart
  | (Marked & {
      readonly type: 'image_url';
      readonly image_url: { readonly url: string; readonly detail?: 'auto' | 'low' | 'high' };
    })
  | (Marked & {
      readonly type: 'input_audio';
      readonly input_audio: { readonly data: string; readonly format: 'wav' | 'mp3' };
    })
  | (Marked & {
      readonly type: 'file';
      readonly file: { readonly file_data?: string; readonly file_id?: string; readonly filename?: string };
    });

export interface RefusalPart {
  readonly type: 'refusal';
  readonly refusal: string;
}

export type ToolCall =
  | {
      readonly id: string;
      readonly type: 'function';
      readonly function: { readonly name: string; readonly arguments: string };
    }
  | {
      readonly id: string;
      readonly type: 'custom';
      readonly custom: { readonly name: string; readonly input: string };
    };

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content?: string | (TextPart | RefusalPart)[] | null;
  readonly tool_calls?: ToolCall[];
  readonly name?: string;
  readonly reasoning_content?: string;
  readonly content_blocks?: JsonObject[];
}

export type Message =
  | { readonly role: 'system' | 'developer'; readonly content: string | TextPart[]; readonly name?: string }
  | { readonly role: 'user'; readonly content: string | ContentPart[]; readonly name?: string }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string | TextPart[] }
  | AssistantMessage;

export type Tool =
  | {
      readonly type: 'function';
      readonly function: {
        readonly name: string;
        readonly description?: string;
        readonly parameters?: Record<string, unknown>;
        readonly strict?: boolean;
      };
    }
  | {
      readonly type: 'custom';
      readonly custom: { readonly name: string; readonly description?: string; readonly format?: CustomFormat };
    };

type CustomFormat =
  | { readonly type: 'text' }
  | { readonly type: 'grammar'; readonly grammar: { readonly definition: string; readonly syntax: 'lark' | 'regex' } };

type NamedTool =
  | { readonly type: 'function'; readonly function: { readonly name: string } }
  | { readonly type: 'custom'; readonly custom: { readonly name: string } };

export type ToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | NamedTool
  | {
      readonly type: 'allowed_tools';
      readonly allowed_tools: { readonly mode: 'auto' | 'required'; readonly tools: Record<string, unknown>[] };
    };

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly json_schema: {
        readonly name: string;
        readonly description?: string;
        readonly schema: Record<string, unknown>;
        readonly strict?: boolean;
      };
    };

export interface ChatRequest {
  readonly model: string;
  readonly messages: Message[];
  readonly tools?: Tool[];
  readonly tool_choice?: ToolChoice;
  readonly parallel_tool_calls?: boolean;
  readonly max_completion_tokens?: number;
  readonly max_tokens?: number;
  readonly temperature?: number;
  readonly top_p?: number;
  readonly stop?: string[];
  readonly n?: number;
  readonly seed?: number;
  readonly logprobs?: boolean;
  readonly top_logprobs?: number;
  readonly frequency_penalty?: number;
  readonly presence_penalty?: number;
  readonly logit_bias?: { [token: string]: number };
  readonly response_format?: ResponseFormat;
  readonly reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  readonly service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority';
  readonly user?: string;
  readonly metadata?: { [name: string]: string };
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: {
    readonly cached_tokens?: number;
    readonly cache_write_tokens?: number;
    readonly audio_tokens?: number;
  };
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number; readonly audio_tokens?: number };
}

export type WireFinish = 'stop' | 'length' | 'tool_calls' | 'content_filter';

type Logprob = {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: number[] | null;
  readonly top_logprobs: { readonly token: string; readonly logprob: number; readonly bytes: number[] | null }[];
};

export interface Logprobs {
  readonly content: Logprob[] | null;
  readonly refusal: Logprob[] | null;
}

export interface ChatReply {
  readonly id: string;
  readonly object: 'chat.completion';
  readonly created: number;
  readonly model: string;
  readonly choices: {
    readonly index: number;
    readonly message: {
      readonly role: 'assistant';
      readonly content: string | null;
      readonly refusal: string | null;
      readonly tool_calls?: ToolCall[];
    };
    readonly logprobs: Logprobs | null;
    readonly finish_reason: WireFinish;
  }[];
  readonly usage?: Usage;
  readonly service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority';
}

export const wireLogprobs = (list: readonly TokenLogprob[]): Logprob[] =>
  list.map(
    (each) => ({ ...each, bytes: each.bytes ?? null, top_logprobs: each.top_logprobs ?? [] }) as unknown as Logprob,
  );

const REASONS = new Map<string, FinishReason>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['content_filter', 'content-filter'],
]);

export function finishReason(raw: string, { hasCalls, hasRefusal }: Said): FinishReason {
  const reason = REASONS.get(raw) ?? 'other';
  if (reason !== 'stop') return reason;
  return hasCalls ? 'tool-calls' : hasRefusal ? 'refusal' : reason;
}

const WIRE: Readonly<Record<FinishReason, WireFinish>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-overflow': 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
  refusal: 'content_filter',
  pause: 'stop',
  other: 'stop',
};

/** A refusal that is said in `refusal` ends like any other answer. */
export const wireFinish = (reason: FinishReason, hasRefusal: boolean): WireFinish =>
  reason === 'refusal' && hasRefusal ? 'stop' : WIRE[reason];

/** What an answer said decides what `stop` means: forced calls end with it, and so do refusals. */
export interface Said {
  readonly hasCalls: boolean;
  readonly hasRefusal: boolean;
}
