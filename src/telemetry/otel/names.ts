/** The names of the GenAI conventions, 1.41 and what changed after them. */
export const SEMCONVS = ['1.41', 'latest', 'both'] as const;
export type Semconv = (typeof SEMCONVS)[number];

export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.41.0';
export const SCOPE = 'gateway';

/** Providers whose name in the conventions is not the one they have here. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  'azure-openai': 'azure.ai.openai',
  'azure-ai': 'azure.ai.inference',
  bedrock: 'aws.bedrock',
  sagemaker: 'aws.sagemaker',
  google: 'gcp.gemini',
  palm: 'gcp.gemini',
  'vertex-ai': 'gcp.vertex_ai',
  'mistral-ai': 'mistral_ai',
  'perplexity-ai': 'perplexity',
  'x-ai': 'x_ai',
  moonshot: 'moonshot_ai',
};

export const providerName = (provider: string): string => PROVIDER_NAMES[provider] ?? provider;

/** What is done, by the end of the path that the client called. */
const OPERATIONS: readonly (readonly [RegExp, string])[] = [
  [/\/chat\/completions$|\/messages$|\/responses$|\/api\/chat$/, 'chat'],
  [/\/embeddings$|\/api\/embed(?:dings)?$|:(?:batchE|e)mbedContents?$/, 'embeddings'],
  [/:(?:streamG|g)enerateContent$/, 'generate_content'],
  [/\/completions$|\/api\/generate$/, 'text_completion'],
  [/\/rerank$/, 'rerank'],
  [/\/moderations$/, 'moderation'],
  [/\/images\/(?:generations|edits|variations)$/, 'image_generation'],
  [/\/audio\/speech$/, 'speech'],
  [/\/audio\/(?:transcriptions|translations)$/, 'transcription'],
];

const known = new Map<string, string | null>();
const MOST_KNOWN = 500;

/** Null: the call is not one of those that the conventions speak of. */
export function operationOf(path: string): string | null {
  const found = known.get(path);
  if (found !== undefined) return found;
  const operation = OPERATIONS.find(([pattern]) => pattern.test(path))?.[1] ?? null;
  if (known.size < MOST_KNOWN) known.set(path, operation);
  return operation;
}

/** The API of OpenAI's that a path is of. */
export const openaiApi = (path: string): string | null =>
  path.endsWith('/chat/completions') ? 'chat_completions' : path.endsWith('/responses') ? 'responses' : null;
