import type { FinishReason, JsonObject } from '../ir.ts';

/** The JSON of Bedrock's Converse, only what we write ourselves; everything else travels in `ext`. Bytes are base64. */

export interface CachePoint {
  readonly type: 'default';
  readonly ttl?: '5m' | '1h';
}

type Source = { readonly bytes: string } | { readonly s3Location: { readonly uri: string } };

export type ImageFormat = 'png' | 'jpeg' | 'gif' | 'webp';
export type DocumentFormat = 'pdf' | 'csv' | 'doc' | 'docx' | 'xls' | 'xlsx' | 'html' | 'txt' | 'md';
export type VideoFormat = 'mkv' | 'mov' | 'mp4' | 'webm' | 'flv' | 'mpeg' | 'mpg' | 'wmv' | 'three_gp';
export type AudioFormat = 'mp3' | 'wav' | 'flac' | 'ogg' | 'opus' | 'aac' | 'm4a' | 'webm' | 'mkv' | 'mp4' | 'pcm';

export type MediaBlock =
  | { readonly image: { readonly format: ImageFormat; readonly source: Source } }
  | { readonly document: { readonly format: DocumentFormat; readonly name: string; readonly source: Source } }
  | { readonly video: { readonly format: VideoFormat; readonly source: Source } };

export type ResultBlock = { readonly text: string } | MediaBlock;

export interface ToolResult {
  readonly toolUseId: string;
  readonly content: ResultBlock[];
  readonly status?: 'error';
}

export type ContentBlock =
  | { readonly text: string }
  | MediaBlock
  | { readonly audio: { readonly format: AudioFormat; readonly source: Source } }
  | { readonly toolUse: { readonly toolUseId: string; readonly name: string; readonly input: JsonObject } }
  | { readonly toolResult: ToolResult }
  | { readonly reasoningContent: { readonly reasoningText: { readonly text: string; readonly signature?: string } } }
  | { readonly reasoningContent: { readonly redactedContent: string } }
  | { readonly cachePoint: CachePoint };

export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: ContentBlock[];
}

export type SystemBlock = { readonly text: string } | { readonly cachePoint: CachePoint };

export interface ToolSpec {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: { readonly json: JsonObject };
  readonly strict?: boolean;
}

export type Tool = { readonly toolSpec: ToolSpec } | { readonly cachePoint: CachePoint };

export type ToolChoice =
  | { readonly auto: Record<string, never> }
  | { readonly any: Record<string, never> }
  | { readonly tool: { readonly name: string } };

export interface ToolConfig {
  readonly tools: Tool[];
  readonly toolChoice?: ToolChoice;
}

export interface OutputConfig {
  readonly textFormat?: {
    readonly type: 'json_schema';
    readonly structure: {
      readonly jsonSchema: { readonly schema: string; readonly name?: string; readonly description?: string };
    };
  };
  readonly effort?: string;
}

/** The model and whether the answer is streamed are in the address. */
export interface ConverseRequest {
  readonly messages: Message[];
  readonly system?: SystemBlock[];
  readonly inferenceConfig?: {
    readonly maxTokens?: number;
    readonly temperature?: number;
    readonly topP?: number;
    readonly stopSequences?: string[];
  };
  readonly toolConfig?: ToolConfig;
  readonly outputConfig?: OutputConfig;
  readonly additionalModelRequestFields?: JsonObject;
  readonly additionalModelResponseFieldPaths?: string[];
  readonly requestMetadata?: Record<string, string>;
  readonly serviceTier?: { readonly type: 'default' | 'flex' | 'priority' | 'reserved' };
}

const REASONS = new Map<string, FinishReason>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop-sequence'],
  ['max_tokens', 'length'],
  ['tool_use', 'tool-calls'],
  ['content_filtered', 'content-filter'],
  ['guardrail_intervened', 'content-filter'],
  ['model_context_window_exceeded', 'context-overflow'],
  // Words of Claude that the service passes on.
  ['refusal', 'refusal'],
  ['pause_turn', 'pause'],
]);

export const finishReason = (raw: string): FinishReason => REASONS.get(raw) ?? 'other';

/** What a client of another dialect may add to its body for Bedrock's sake. */
export const BORROWED = {
  guardrail_config: 'guardrailConfig',
  guardrailConfig: 'guardrailConfig',
  performance_config: 'performanceConfig',
  performanceConfig: 'performanceConfig',
  additional_model_request_fields: 'additionalModelRequestFields',
  additionalModelRequestFields: 'additionalModelRequestFields',
  additional_model_response_field_paths: 'additionalModelResponseFieldPaths',
  additionalModelResponseFieldPaths: 'additionalModelResponseFieldPaths',
} as const;
