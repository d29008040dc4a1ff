import type { FinishReason } from '../ir.ts';

/** The JSON of Cohere's chat, version 2, only what we write ourselves; everything else travels in `ext`. */

export interface TextContent {
  readonly type: 'text';
  readonly text: string;
}

export interface ThinkingContent {
  readonly type: 'thinking';
  readonly thinking: string;
}

export interface ImageContent {
  readonly type: 'image_url';
  readonly image_url: { readonly url: string; readonly detail?: 'auto' | 'low' | 'high' };
}

export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content?: string | (TextContent | ThinkingContent)[];
  readonly tool_plan?: string;
  readonly tool_calls?: ToolCall[];
}

export type Message =
  | { readonly role: 'system'; readonly content: string | TextContent[] }
  | { readonly role: 'user'; readonly content: string | (TextContent | ImageContent)[] }
  | AssistantMessage
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string | TextContent[] };

export interface Tool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters: Record<string, unknown>;
  };
}

export interface ChatRequest {
  readonly model: string;
  readonly messages: Message[];
  readonly tools?: Tool[];
  readonly strict_tools?: boolean;
  readonly tool_choice?: 'REQUIRED' | 'NONE';
  readonly response_format?:
    | { readonly type: 'text' }
    | { readonly type: 'json_object'; readonly json_schema?: Record<string, unknown> };
  readonly thinking?: { readonly type: 'enabled' | 'disabled'; readonly token_budget?: number };
  readonly max_tokens?: number;
  readonly stop_sequences?: string[];
  readonly temperature?: number;
  readonly p?: number;
  readonly k?: number;
  readonly seed?: number;
  readonly frequency_penalty?: number;
  readonly presence_penalty?: number;
  readonly logprobs?: boolean;
  readonly stream?: boolean;
}

const REASONS = new Map<string, FinishReason>([
  ['COMPLETE', 'stop'],
  ['STOP_SEQUENCE', 'stop-sequence'],
  ['MAX_TOKENS', 'length'],
  ['TOOL_CALL', 'tool-calls'],
]);

export const finishReason = (raw: string): FinishReason => REASONS.get(raw) ?? 'other';

/** What a client of another dialect may add to its body for Cohere's sake. */
export const BORROWED = {
  documents: 'documents',
  citation_options: 'citation_options',
  safety_mode: 'safety_mode',
  strict_tools: 'strict_tools',
  priority: 'priority',
} as const;
