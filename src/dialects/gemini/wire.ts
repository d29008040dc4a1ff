import type { FinishReason } from '../ir.ts';

/** The JSON of Gemini's generateContent, only what we write ourselves; everything else travels in `ext`. */

export interface InlineData {
  readonly mimeType: string;
  readonly data: string;
}

export interface FunctionResponse {
  readonly id: string;
  readonly name: string;
  readonly response: Record<string, unknown>;
  readonly parts?: { readonly inlineData: InlineData }[];
}

export interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
  readonly inlineData?: InlineData;
  readonly fileData?: { readonly fileUri: string; readonly mimeType?: string };
  readonly functionCall?: { readonly id: string; readonly name: string; readonly args: Record<string, unknown> };
  readonly functionResponse?: FunctionResponse;
}

export interface Content {
  readonly role: 'user' | 'model';
  readonly parts: Part[];
}

export type SchemaType = 'STRING' | 'NUMBER' | 'INTEGER' | 'BOOLEAN' | 'ARRAY' | 'OBJECT' | 'NULL';

/** The subset of OpenAPI's schemas that Gemini knows. Whole numbers of 64 bits are texts in its JSON. */
export interface Schema {
  readonly type?: SchemaType;
  readonly anyOf?: Schema[];
  readonly nullable?: boolean;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly format?: string;
  readonly enum?: string[];
  readonly pattern?: string;
  readonly minLength?: string;
  readonly maxLength?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly minItems?: string;
  readonly maxItems?: string;
  readonly properties?: Record<string, Schema>;
  readonly required?: string[];
  readonly minProperties?: string;
  readonly maxProperties?: string;
  readonly propertyOrdering?: string[];
}

/** `parameters` is a subset of OpenAPI, `parametersJsonSchema` takes any JSON Schema; never both. */
export interface FunctionDeclaration {
  readonly name: string;
  readonly description?: string;
  readonly parameters?: Schema;
  readonly parametersJsonSchema?: unknown;
}

export interface Tool {
  readonly functionDeclarations?: FunctionDeclaration[];
}

export interface ToolConfig {
  readonly functionCallingConfig?: {
    readonly mode: 'AUTO' | 'ANY' | 'NONE' | 'VALIDATED';
    readonly allowedFunctionNames?: string[];
  };
}

export interface ThinkingConfig {
  readonly includeThoughts?: boolean;
  readonly thinkingBudget?: number;
  readonly thinkingLevel?: 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH';
}

export interface GenerationConfig {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stopSequences?: string[];
  readonly candidateCount?: number;
  readonly seed?: number;
  readonly responseLogprobs?: boolean;
  readonly logprobs?: number;
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  readonly responseMimeType?: string;
  readonly responseSchema?: Schema;
  readonly responseJsonSchema?: unknown;
  readonly responseModalities?: ('TEXT' | 'IMAGE' | 'AUDIO')[];
  readonly thinkingConfig?: ThinkingConfig;
}

/** The model and whether the answer is streamed are in the address. */
export interface GenerateContentRequest {
  readonly contents: Content[];
  readonly systemInstruction?: { readonly parts: Part[] };
  readonly tools?: Tool[];
  readonly toolConfig?: ToolConfig;
  readonly generationConfig?: GenerationConfig;
  readonly serviceTier?: 'standard' | 'flex' | 'priority';
}

const REASONS = new Map<string, FinishReason>([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['CONTINUATION', 'pause'],
  // Not one of the vendor's words, but of servers that copy it.
  ['FUNCTION_CALL', 'tool-calls'],
  ...[
    'SAFETY',
    'RECITATION',
    'LANGUAGE',
    'BLOCKLIST',
    'PROHIBITED_CONTENT',
    'SPII',
    'IMAGE_SAFETY',
    'IMAGE_PROHIBITED_CONTENT',
    'IMAGE_RECITATION',
  ].map((raw) => [raw, 'content-filter'] as const),
]);

export const isFinishWord = (word: string): boolean => REASONS.has(word);

/** Gemini says STOP after calls of functions too. */
export function finishReason(raw: string, hasCalls: boolean): FinishReason {
  const reason = REASONS.get(raw) ?? 'other';
  return reason === 'stop' && hasCalls ? 'tool-calls' : reason;
}

/** What a client of another dialect may add to its body for Gemini's sake. */
export const BORROWED = {
  safety_settings: 'safetySettings',
  safetySettings: 'safetySettings',
  cached_content: 'cachedContent',
  cachedContent: 'cachedContent',
  labels: 'labels',
} as const;
