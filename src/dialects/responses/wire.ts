import type { FinishReason, TokenLogprob } from '../ir.ts';
import { objectsIn } from '../json.ts';

/** The JSON of OpenAI's Responses API, only what we write ourselves; everything else travels in `ext`. */

interface Marked {
  readonly prompt_cache_breakpoint?: { readonly mode: 'explicit' };
}

export interface InputText extends Marked {
  readonly type: 'input_text';
  readonly text: string;
}

export interface InputImage extends Marked {
  readonly type: 'input_image';
  readonly detail: 'low' | 'high' | 'auto' | 'original';
  readonly image_url?: string;
  readonly file_id?: string;
}

export interface InputFile extends Marked {
  readonly type: 'input_file';
  readonly detail?: 'low' | 'high' | 'auto';
  readonly file_data?: string;
  readonly file_id?: string;
  readonly file_url?: string;
  readonly filename?: string;
}

export type InputContent = InputText | InputImage | InputFile;

export interface OutputText {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations: never[];
  readonly logprobs: Logprob[];
}

export interface Refusal {
  readonly type: 'refusal';
  readonly refusal: string;
}

export type OutputContent = OutputText | Refusal;

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export interface OutputMessage {
  readonly type: 'message';
  readonly id: string;
  readonly role: 'assistant';
  readonly status: ItemStatus;
  readonly content: OutputContent[];
}

export interface FunctionCall {
  readonly type: 'function_call';
  readonly id?: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly status?: ItemStatus;
}

export interface CustomToolCall {
  readonly type: 'custom_tool_call';
  readonly id?: string;
  readonly call_id: string;
  readonly name: string;
  readonly input: string;
}

export interface ReasoningItem {
  readonly type: 'reasoning';
  readonly id: string;
  readonly summary: { readonly type: 'summary_text'; readonly text: string }[];
  readonly content?: { readonly type: 'reasoning_text'; readonly text: string }[];
  readonly encrypted_content?: string;
}

interface CallOutput<Type extends string> {
  readonly type: Type;
  readonly call_id: string;
  readonly output: string | InputContent[];
}

export type InputItem =
  | { readonly role: 'user' | 'system' | 'developer'; readonly content: string | InputContent[] }
  | { readonly role: 'assistant'; readonly content: string }
  | OutputMessage
  | FunctionCall
  | CustomToolCall
  | ReasoningItem
  | CallOutput<'function_call_output'>
  | CallOutput<'custom_tool_call_output'>;

/** A picture that the model made. */
export interface ImageItem {
  readonly type: 'image_generation_call';
  readonly id: string;
  readonly status: 'in_progress' | 'completed';
  readonly result: string | null;
}

export type OutputItem = OutputMessage | FunctionCall | CustomToolCall | ReasoningItem | ImageItem;

export type Tool =
  | {
      readonly type: 'function';
      readonly name: string;
      readonly description?: string;
      readonly parameters: Record<string, unknown> | null;
      readonly strict: boolean;
    }
  | { readonly type: 'custom'; readonly name: string; readonly description?: string; readonly format?: CustomFormat };

export type CustomFormat =
  | { readonly type: 'text' }
  | { readonly type: 'grammar'; readonly definition: string; readonly syntax: 'lark' | 'regex' };

export type ToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { readonly type: 'function' | 'custom'; readonly name: string }
  | { readonly type: 'allowed_tools'; readonly mode: 'auto' | 'required'; readonly tools: Record<string, unknown>[] };

export type TextFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      readonly description?: string;
      readonly schema: Record<string, unknown>;
      readonly strict?: boolean;
    };

export interface ReasoningSettings {
  readonly effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null;
  readonly summary?: 'auto' | 'concise' | 'detailed' | null;
}

export const ENCRYPTED_REASONING = 'reasoning.encrypted_content';
export const LOGPROBS = 'message.output_text.logprobs';

export interface ResponsesRequest {
  readonly model: string;
  readonly instructions?: string;
  readonly input: InputItem[];
  readonly tools?: Tool[];
  readonly tool_choice?: ToolChoice;
  readonly parallel_tool_calls?: boolean;
  readonly max_output_tokens?: number;
  readonly temperature?: number;
  readonly top_p?: number;
  readonly top_logprobs?: number;
  readonly text?: { readonly format?: TextFormat };
  readonly reasoning?: ReasoningSettings;
  readonly include?: (typeof ENCRYPTED_REASONING | typeof LOGPROBS)[];
  readonly service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority';
  readonly store?: boolean;
  readonly user?: string;
  readonly metadata?: { [name: string]: string };
  readonly stream?: boolean;
}

export interface Usage {
  readonly input_tokens: number;
  readonly input_tokens_details: { readonly cached_tokens: number; readonly cache_write_tokens: number };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
  readonly total_tokens: number;
}

export type Status = 'in_progress' | 'completed' | 'incomplete' | 'failed';

export interface ResponseError {
  readonly code: 'server_error' | 'rate_limit_exceeded' | 'invalid_prompt';
  readonly message: string;
}

/** What an answer repeats of its request. */
export interface Echo {
  readonly instructions: string | null;
  readonly max_output_tokens: number | null;
  readonly metadata: { [name: string]: string };
  readonly parallel_tool_calls: boolean;
  readonly previous_response_id: string | null;
  readonly reasoning: ReasoningSettings;
  readonly store: boolean;
  readonly temperature: number | null;
  readonly text: { readonly format?: TextFormat };
  readonly tool_choice: ToolChoice;
  readonly tools: Tool[];
  readonly top_p: number | null;
  readonly truncation: 'auto' | 'disabled';
  readonly user?: string;
}

export interface ResponseReply extends Echo {
  /** Of the vendor's own models; null is what it says of all others. */
  readonly access_programs: null;
  readonly id: string;
  readonly object: 'response';
  readonly created_at: number;
  readonly model: string;
  readonly status: Status;
  readonly error: ResponseError | null;
  readonly incomplete_details: { readonly reason?: 'max_output_tokens' | 'content_filter' } | null;
  readonly output: OutputItem[];
  readonly service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority';
  readonly usage?: Usage;
}

interface Logprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: number[];
  readonly top_logprobs: { readonly token: string; readonly logprob: number; readonly bytes: number[] }[];
}

/** Here a token always has bytes; no bytes at all say that they are not known. */
export const wireLogprobs = (list: readonly TokenLogprob[]): Logprob[] =>
  tokensIn(list).map((each) => ({ ...withBytes(each), top_logprobs: tokensIn(each.top_logprobs).map(withBytes) }));

const withBytes = ({ bytes, ...each }: TokenLogprob) => ({ ...each, bytes: Array.isArray(bytes) ? bytes : [] });

/** Providers fill these lists, and their content was not checked before. */
const tokensIn = (list: unknown) => objectsIn(list) as unknown as readonly TokenLogprob[];

export function readLogprobs(list: unknown): readonly TokenLogprob[] | undefined {
  const tokens = tokensIn(list);
  if (tokens.length === 0) return undefined;
  return tokens.map(({ bytes, top_logprobs, ...token }) => ({
    ...token,
    ...(bytes !== undefined && { bytes: Array.isArray(bytes) && bytes.length > 0 ? bytes : null }),
    ...(top_logprobs && { top_logprobs: readLogprobs(top_logprobs) ?? [] }),
  }));
}

/** What an answer said decides what `completed` means. */
export interface Said {
  readonly hasCalls: boolean;
  readonly hasRefusal: boolean;
}

export function finishReason(status: string, incomplete: string | undefined, said: Said): FinishReason {
  if (status === 'completed') return said.hasCalls ? 'tool-calls' : said.hasRefusal ? 'refusal' : 'stop';
  if (incomplete === 'max_output_tokens') return 'length';
  return incomplete === 'content_filter' ? 'content-filter' : 'other';
}

/** Why an answer is not complete; null when it is. A refusal that is said in the answer completes it. */
export function incompleteReason(reason: FinishReason, hasRefusal: boolean) {
  if (reason === 'length' || reason === 'context-overflow') return 'max_output_tokens';
  if (reason === 'content-filter' || (reason === 'refusal' && !hasRefusal)) return 'content_filter';
  return null;
}
