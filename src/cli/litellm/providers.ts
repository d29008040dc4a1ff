import { findProvider } from '../../providers/registry.ts';

/** LiteLLM's names of providers where they differ from ours. Servers that people run themselves speak as OpenAI does. */
const NAMES: Readonly<Record<string, string>> = {
  ai21_chat: 'ai21',
  azure: 'azure-openai',
  azure_ai: 'azure-ai',
  azure_text: 'azure-openai',
  bedrock_converse: 'bedrock',
  cloudflare: 'workers-ai',
  cohere_chat: 'cohere',
  custom_openai: 'openai',
  featherless_ai: 'featherless-ai',
  fireworks_ai: 'fireworks-ai',
  gemini: 'google',
  hosted_vllm: 'openai',
  jina_ai: 'jina',
  lambda_ai: 'lambda',
  llamafile: 'openai',
  lm_studio: 'openai',
  mistral: 'mistral-ai',
  novita: 'novita-ai',
  ollama_chat: 'ollama',
  openai_like: 'openai',
  perplexity: 'perplexity-ai',
  recraft: 'recraft-ai',
  sagemaker_chat: 'sagemaker',
  snowflake: 'cortex',
  'text-completion-openai': 'openai',
  together_ai: 'together-ai',
  vertex_ai: 'vertex-ai',
  vertex_ai_beta: 'vertex-ai',
  vllm: 'openai',
  xai: 'x-ai',
  xinference: 'openai',
  zai: 'z-ai',
};

/** Variables LiteLLM looks at where ours is another, or where we have none. */
const VARIABLES: Readonly<Record<string, string>> = {
  'azure-openai': 'AZURE_API_KEY',
  'azure-ai': 'AZURE_AI_API_KEY',
  huggingface: 'HUGGINGFACE_API_KEY',
  'together-ai': 'TOGETHERAI_API_KEY',
  replicate: 'REPLICATE_API_KEY',
};

/** Model names without a provider in front that LiteLLM knows by heart. */
const KNOWN_MODELS: readonly [RegExp, string][] = [
  [/^(gpt-|chatgpt|o\d|text-embedding-|text-moderation|omni-moderation|dall-e|whisper|tts-|ft:gpt)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^(gemini|textembedding-gecko)/, 'vertex-ai'],
  [/^command/, 'cohere'],
];

export interface Deployment {
  /** Ours. */
  readonly provider: string;
  /** What the provider calls the model. */
  readonly model: string;
}

/** `azure/gpt-4o` → our provider and the provider's model; a text says why that is not possible. */
export function deploymentOf(model: string, customProvider: string | undefined): Deployment | string {
  if (customProvider === undefined && !model.includes('/')) {
    const provider = KNOWN_MODELS.find(([pattern]) => pattern.test(model))?.[1];
    return provider ? { provider, model } : `"${model}" does not say its provider; write it as provider/model`;
  }
  const slash = model.indexOf('/');
  const theirs = customProvider ?? model.slice(0, slash);
  const rest = model.startsWith(`${theirs}/`) ? model.slice(theirs.length + 1) : model;
  const provider = NAMES[theirs] ?? theirs.replaceAll('_', '-');
  if (!findProvider(provider)) return `provider "${theirs}" is not known here`;
  // bedrock/converse/…, bedrock/invoke/…: how LiteLLM speaks to it, not which model.
  return { provider, model: provider === 'bedrock' ? rest.replace(/^(converse|invoke)\//, '') : rest };
}

/** The variables in which LiteLLM finds a credential that the file does not name. */
export const variablesOf = (provider: string): string[] =>
  [VARIABLES[provider], findProvider(provider)?.environment].filter((name) => name !== undefined);
