import { findProvider } from '../../providers/registry.ts';

/** LiteLLM's names of providers where they differ from ours. Servers that people run themselves speak as OpenAI does. */
const NAMES: Readonly<Record<string, string>> = {
  ai21_chat: 'ai21',
  azure: 'azure-openai',
  azure_ai: 'azure-ai',
  azure_text: 'azure-openai',
  bedrock_converse: 'bedrock',
  cloudflare: 'workers-ai',
  codestral: 'mistral-ai',
  cohere_chat: 'cohere',
  custom_openai: 'openai',
  docker_model_runner: 'openai',
  featherless_ai: 'featherless-ai',
  fireworks_ai: 'fireworks-ai',
  gemini: 'google',
  hosted_vllm: 'openai',
  infinity: 'openai',
  jina_ai: 'jina',
  lambda_ai: 'lambda',
  lemonade: 'openai',
  litellm_proxy: 'openai',
  llamafile: 'openai',
  lm_studio: 'openai',
  mistral: 'mistral-ai',
  novita: 'novita-ai',
  oci: 'oracle',
  ollama_chat: 'ollama',
  oobabooga: 'openai',
  openai_like: 'openai',
  perplexity: 'perplexity-ai',
  recraft: 'recraft-ai',
  sagemaker_chat: 'sagemaker',
  snowflake: 'cortex',
  'text-completion-codestral': 'mistral-ai',
  'text-completion-openai': 'openai',
  together_ai: 'together-ai',
  vertex_ai: 'vertex-ai',
  vertex_ai_beta: 'vertex-ai',
  vllm: 'openai',
  xai: 'x-ai',
  xinference: 'openai',
  zai: 'z-ai',
};

/** A vendor without a provider here that speaks as OpenAI does, and the variable LiteLLM finds its credential in. */
export interface Hosted {
  readonly host: string;
  readonly variable: string;
}

const HOSTED: Readonly<Record<string, Hosted>> = {
  aiml: { host: 'https://api.aimlapi.com/v1', variable: 'AIML_API_KEY' },
  baseten: { host: 'https://inference.baseten.co/v1', variable: 'BASETEN_API_KEY' },
  friendliai: { host: 'https://api.friendli.ai/serverless/v1', variable: 'FRIENDLI_TOKEN' },
  meta_llama: { host: 'https://api.llama.com/compat/v1', variable: 'LLAMA_API_KEY' },
  minimax: { host: 'https://api.minimax.io/v1', variable: 'MINIMAX_API_KEY' },
  morph: { host: 'https://api.morphllm.com/v1', variable: 'MORPH_API_KEY' },
  nvidia_nim: { host: 'https://integrate.api.nvidia.com/v1', variable: 'NVIDIA_NIM_API_KEY' },
  v0: { host: 'https://api.v0.dev/v1', variable: 'V0_API_KEY' },
  vercel_ai_gateway: { host: 'https://ai-gateway.vercel.sh/v1', variable: 'VERCEL_AI_GATEWAY_API_KEY' },
  volcengine: { host: 'https://ark.cn-beijing.volces.com/api/v3', variable: 'VOLCENGINE_API_KEY' },
  wandb: { host: 'https://api.inference.wandb.ai/v1', variable: 'WANDB_API_KEY' },
};
/** Servers of one's own, by the name of their program: LiteLLM knows no address of theirs, or that of this machine. */
const OWN_SERVERS = new Set('hosted_vllm litellm_proxy openai_like custom_openai databricks oobabooga vllm'.split(' '));

/** Variables LiteLLM looks at where ours is another, or where we have none. */
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  'azure-openai': ['AZURE_API_KEY', 'AZURE_OPENAI_API_KEY'],
  'azure-ai': ['AZURE_AI_API_KEY'],
  bedrock: ['AWS_BEARER_TOKEN_BEDROCK'],
  cohere: ['CO_API_KEY'],
  'fireworks-ai': ['FIREWORKS_AI_API_KEY'],
  google: ['GOOGLE_API_KEY'],
  huggingface: ['HUGGINGFACE_API_KEY'],
  jina: ['JINA_AI_API_KEY'],
  'perplexity-ai': ['PERPLEXITYAI_API_KEY'],
  replicate: ['REPLICATE_API_KEY'],
  'together-ai': ['TOGETHERAI_API_KEY', 'TOGETHER_AI_API_KEY'],
  'workers-ai': ['CLOUDFLARE_API_KEY'],
};

/** Model names without a provider in front that LiteLLM knows by heart. */
const KNOWN_MODELS: readonly [RegExp, string][] = [
  [/^((us|eu|apac|global)\.)?(anthropic|amazon|meta|mistral|cohere|ai21|deepseek)\./, 'bedrock'],
  [
    /^(gpt-|chatgpt|o\d|text-embedding-|text-moderation|omni-moderation|dall-e|whisper|tts-|ft:gpt|codex-|davinci|babbage|sora-)/,
    'openai',
  ],
  [/^claude-/, 'anthropic'],
  [/^(gemini|textembedding-gecko)/, 'vertex-ai'],
  [/^(command|rerank-)/, 'cohere'],
];

export interface Deployment {
  /** Ours. */
  readonly provider: string;
  /** What the provider calls the model. */
  readonly model: string;
  /** The address that LiteLLM knows by heart for a vendor that is none of our providers. */
  readonly hosted: Hosted | null;
  /** Whether it is a server that has an address only where the file gives one. */
  readonly isOwnServer: boolean;
  /** A part of Bedrock's path. */
  readonly region: string | null;
}

const plain = { hosted: null, isOwnServer: false, region: null };

/** `azure/gpt-4o` → our provider and the provider's model; a text says why that is not possible. */
export function deploymentOf(model: string, customProvider: string | undefined): Deployment | string {
  if (customProvider === undefined && !model.includes('/')) {
    const provider = KNOWN_MODELS.find(([pattern]) => pattern.test(model))?.[1];
    return provider
      ? { provider, model, ...plain }
      : `"${model}" does not say its provider; write it as provider/model`;
  }
  const slash = model.indexOf('/');
  const theirs = customProvider ?? model.slice(0, slash);
  const rest = model.startsWith(`${theirs}/`) ? model.slice(theirs.length + 1) : model;
  const hosted = Object.hasOwn(HOSTED, theirs) ? HOSTED[theirs]! : null;
  const provider = hosted || OWN_SERVERS.has(theirs) ? 'openai' : (NAMES[theirs] ?? theirs.replaceAll('_', '-'));
  if (!findProvider(provider)) return `provider "${theirs}" is not known here`;
  const isOwnServer = OWN_SERVERS.has(theirs) || (NAMES[theirs] === 'openai' && theirs !== 'text-completion-openai');
  return { provider, hosted, isOwnServer, ...named(provider, rest) };
}

/** How LiteLLM speaks to it and where, which is no part of the model's name: bedrock/converse/…, openai/responses/… */
function named(provider: string, rest: string): Pick<Deployment, 'model' | 'region'> {
  if (provider === 'bedrock') {
    const model = rest.replace(/^(converse|converse_like|invoke)\//, '');
    const [, region, inRegion] = /^([a-z]{2}(?:-[a-z]+)+-\d)\/(.+)$/s.exec(model) ?? [];
    return region ? { model: inRegion!, region } : { model, region: null };
  }
  const isOpenai = provider === 'openai' || provider === 'azure-openai';
  return { model: isOpenai ? rest.replace(/^(responses|o_series|gpt5_series)\//, '') : rest, region: null };
}

/** The variables in which LiteLLM finds a credential that the file does not name. */
export const variablesOf = (provider: string): string[] =>
  [...(VARIABLES[provider] ?? []), findProvider(provider)?.environment].filter((name) => name !== undefined);
