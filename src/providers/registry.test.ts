import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { upstreamUrl } from './address.ts';
import { OPTION_TEXTS } from './option-texts.ts';
import type { Provider, ProviderOptions } from './provider.ts';
import { findProvider, optionNames, providers } from './registry.ts';

/** What a provider with parts in its address is asked for. */
const OPTIONS: Record<string, ProviderOptions> = {
  'azure-ai': { azure_foundry_url: 'https://team.services.ai.azure.com/models/' },
  'azure-openai': { azure_resource_name: 'team-east' },
  bedrock: { aws_region: 'us-east-1' },
  cortex: { snowflake_account: 'Acme-Analytics_2' },
  oracle: { oracle_region: 'us-chicago-1' },
  predibase: { predibase_tenant_id: 'f00d', predibase_deployment: 'llama-3-8b' },
  sagemaker: { aws_region: 'eu-west-1' },
  'vertex-ai': { vertex_region: 'europe-west4', vertex_project_id: 'team-7' },
  'workers-ai': { workers_ai_account_id: 'abc123' },
};

const CHAT = '/chat/completions';

/** Provider, the client's path after /v1, and the address called. */
const ADDRESSES: [string, string, string][] = [
  ['302ai', CHAT, 'https://api.302.ai/v1/chat/completions'],
  ['ai21', CHAT, 'https://api.ai21.com/studio/v1/chat/completions'],
  ['aibadgr', CHAT, 'https://aibadgr.com/api/v1/chat/completions'],
  ['anthropic', '/messages', 'https://api.anthropic.com/v1/messages'],
  ['anyscale', CHAT, 'https://api.endpoints.anyscale.com/v1/chat/completions'],
  ['azure-ai', CHAT, 'https://team.services.ai.azure.com/models/chat/completions'],
  ['azure-openai', CHAT, 'https://team-east.openai.azure.com/openai/v1/chat/completions'],
  [
    'bedrock',
    '/model/amazon.nova-lite-v1:0/converse',
    'https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-lite-v1%3A0/converse',
  ],
  ['bedrock', '/model-invocation-jobs', 'https://bedrock.us-east-1.amazonaws.com/model-invocation-jobs'],
  [
    'bedrock',
    '/guardrail/g1/version/1/apply',
    'https://bedrock-runtime.us-east-1.amazonaws.com/guardrail/g1/version/1/apply',
  ],
  ['bytez', CHAT, 'https://api.bytez.com/models/v2/openai/v1/chat/completions'],
  ['cerebras', CHAT, 'https://api.cerebras.ai/v1/chat/completions'],
  ['cohere', '/chat', 'https://api.cohere.com/v2/chat'],
  ['cohere', '/v1/datasets', 'https://api.cohere.com/v1/datasets'],
  ['cometapi', CHAT, 'https://api.cometapi.com/v1/chat/completions'],
  ['cortex', CHAT, 'https://acme-analytics-2.snowflakecomputing.com/api/v2/cortex/v1/chat/completions'],
  ['dashscope', CHAT, 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions'],
  ['deepbricks', CHAT, 'https://api.deepbricks.ai/v1/chat/completions'],
  ['deepinfra', CHAT, 'https://api.deepinfra.com/v1/openai/chat/completions'],
  ['deepseek', CHAT, 'https://api.deepseek.com/v1/chat/completions'],
  ['featherless-ai', CHAT, 'https://api.featherless.ai/v1/chat/completions'],
  ['fireworks-ai', CHAT, 'https://api.fireworks.ai/inference/v1/chat/completions'],
  ['fireworks-ai', '/accounts/acme/datasets', 'https://api.fireworks.ai/v1/accounts/acme/datasets'],
  ['github', CHAT, 'https://models.github.ai/inference/chat/completions'],
  [
    'google',
    '/models/gemini-2.5-flash:generateContent',
    'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent',
  ],
  ['google', '/v1beta/models', 'https://generativelanguage.googleapis.com/v1beta/models'],
  ['google', '/v1alpha/models', 'https://generativelanguage.googleapis.com/v1alpha/models'],
  ['google', '/upload/v1beta/files', 'https://generativelanguage.googleapis.com/upload/v1beta/files'],
  ['groq', CHAT, 'https://api.groq.com/openai/v1/chat/completions'],
  ['huggingface', CHAT, 'https://router.huggingface.co/v1/chat/completions'],
  ['hyperbolic', CHAT, 'https://api.hyperbolic.xyz/v1/chat/completions'],
  ['inference-net', CHAT, 'https://api.inference.net/v1/chat/completions'],
  ['iointelligence', CHAT, 'https://api.intelligence.io.solutions/api/v1/chat/completions'],
  ['jina', '/embeddings', 'https://api.jina.ai/v1/embeddings'],
  ['kluster-ai', CHAT, 'https://api.kluster.ai/v1/chat/completions'],
  ['krutrim', CHAT, 'https://cloud.olakrutrim.com/v1/chat/completions'],
  ['lambda', CHAT, 'https://api.lambdalabs.com/v1/chat/completions'],
  ['lemonfox-ai', CHAT, 'https://api.lemonfox.ai/v1/chat/completions'],
  ['lepton', CHAT, 'https://api.lepton.ai/api/v1/chat/completions'],
  ['lingyi', CHAT, 'https://api.lingyiwanwu.com/v1/chat/completions'],
  ['matterai', CHAT, 'https://api.matterai.so/v1/chat/completions'],
  ['meshy', '/openapi/v2/text-to-3d', 'https://api.meshy.ai/openapi/v2/text-to-3d'],
  ['milvus', '/v2/vectordb/entities/search', 'https://own.example.com/base/v2/vectordb/entities/search'],
  ['mistral-ai', CHAT, 'https://api.mistral.ai/v1/chat/completions'],
  ['modal', CHAT, 'https://own.example.com/base/chat/completions'],
  ['monsterapi', CHAT, 'https://llm.monsterapi.ai/v1/chat/completions'],
  ['moonshot', CHAT, 'https://api.moonshot.cn/v1/chat/completions'],
  ['ncompass', CHAT, 'https://api.ncompass.tech/v1/chat/completions'],
  ['nebius', CHAT, 'https://api.studio.nebius.ai/v1/chat/completions'],
  ['nextbit', CHAT, 'https://api.nextbit256.com/v1/chat/completions'],
  ['nomic', '/embedding/text', 'https://api-atlas.nomic.ai/v1/embedding/text'],
  ['novita-ai', CHAT, 'https://api.novita.ai/openai/v1/chat/completions'],
  ['nscale', CHAT, 'https://inference.api.nscale.com/v1/chat/completions'],
  ['ollama', '/api/embeddings', 'https://own.example.com/base/api/embeddings'],
  ['openai', CHAT, 'https://api.openai.com/v1/chat/completions'],
  ['openai', '/v1/models', 'https://api.openai.com/v1/models'],
  ['openrouter', CHAT, 'https://openrouter.ai/api/v1/chat/completions'],
  ['oracle', '/actions/chat', 'https://inference.generativeai.us-chicago-1.oci.oraclecloud.com/20231130/actions/chat'],
  [
    'oracle',
    '/20231130/actions/chat',
    'https://inference.generativeai.us-chicago-1.oci.oraclecloud.com/20231130/actions/chat',
  ],
  ['ovhcloud', CHAT, 'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1/chat/completions'],
  [
    'palm',
    '/models/chat-bison:generateMessage',
    'https://generativelanguage.googleapis.com/v1beta3/models/chat-bison:generateMessage',
  ],
  ['perplexity-ai', CHAT, 'https://api.perplexity.ai/chat/completions'],
  ['predibase', CHAT, 'https://serving.app.predibase.com/f00d/deployments/v2/llms/llama-3-8b/v1/chat/completions'],
  ['qdrant', '/collections', 'https://own.example.com/base/collections'],
  ['recraft-ai', '/images/generations', 'https://external.api.recraft.ai/v1/images/generations'],
  ['reka-ai', CHAT, 'https://api.reka.ai/v1/chat/completions'],
  ['replicate', '/predictions', 'https://api.replicate.com/v1/predictions'],
  [
    'sagemaker',
    '/endpoints/e1/invocations',
    'https://runtime.sagemaker.eu-west-1.amazonaws.com/endpoints/e1/invocations',
  ],
  ['sambanova', CHAT, 'https://api.sambanova.ai/v1/chat/completions'],
  ['segmind', '/sdxl1.0-txt2img', 'https://api.segmind.com/v1/sdxl1.0-txt2img'],
  ['siliconflow', CHAT, 'https://api.siliconflow.cn/v1/chat/completions'],
  ['simulator', CHAT, 'http://simulator.invalid/v1/chat/completions'],
  ['stability-ai', '/v2beta/stable-image/generate/core', 'https://api.stability.ai/v2beta/stable-image/generate/core'],
  ['together-ai', CHAT, 'https://api.together.xyz/v1/chat/completions'],
  ['tripo3d', '/task', 'https://api.tripo3d.ai/v2/openapi/task'],
  ['triton', '/v2/models/m/generate', 'https://own.example.com/base/v2/models/m/generate'],
  ['upstage', CHAT, 'https://api.upstage.ai/v1/solar/chat/completions'],
  [
    'vertex-ai',
    '/publishers/google/models/m:generateContent',
    'https://europe-west4-aiplatform.googleapis.com/v1/projects/team-7/locations/europe-west4/publishers/google/models/m:generateContent',
  ],
  [
    'vertex-ai',
    '/v1beta1/endpoints/openapi/chat/completions',
    'https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/team-7/locations/europe-west4/endpoints/openapi/chat/completions',
  ],
  [
    'vertex-ai',
    '/projects/p/locations/l/tuningJobs',
    'https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/l/tuningJobs',
  ],
  ['voyage', '/embeddings', 'https://api.voyageai.com/v1/embeddings'],
  ['workers-ai', CHAT, 'https://api.cloudflare.com/client/v4/accounts/abc123/ai/v1/chat/completions'],
  [
    'workers-ai',
    '/run/@cf/meta/llama-3.1-8b-instruct',
    'https://api.cloudflare.com/client/v4/accounts/abc123/ai/run/@cf/meta/llama-3.1-8b-instruct',
  ],
  ['x-ai', CHAT, 'https://api.x.ai/v1/chat/completions'],
  ['z-ai', CHAT, 'https://api.z.ai/api/paas/v4/chat/completions'],
  ['zhipu', CHAT, 'https://open.bigmodel.cn/api/paas/v4/chat/completions'],
];

for (const [name, path, expected] of ADDRESSES) {
  test(`${name}: ${path} is called at its own address`, () => {
    const provider = findProvider(name)!;
    const customHost = provider.baseUrl === null ? 'https://own.example.com/base/' : null;

    expect(upstreamUrl(provider, OPTIONS[name] ?? {}, customHost, path, '')).toBe(expected);
    expect(new URL(expected).href).toBe(expected);
  });
}

test('every provider has an example address', () => {
  expect(providers.map(({ name }) => name)).toEqual([...new Set(ADDRESSES.map(([name]) => name))].sort());
});

test('every file that declares a provider is registered under its file name', async () => {
  const declared: string[] = [];
  for (const file of readdirSync(import.meta.dir)) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts') || file === 'registry.ts') continue;
    const exports: unknown[] = Object.values(await import(`./${file}`));
    for (const provider of exports.filter(isProvider)) {
      expect(`${provider.name}.ts`).toBe(file);
      expect(findProvider(provider.name)).toBe(provider);
      declared.push(provider.name);
    }
  }
  expect(declared.sort()).toEqual(providers.map(({ name }) => name));
});

test('names and environment variables are unique and well formed', () => {
  const names = providers.map(({ name }) => name);
  const variables = providers.flatMap(({ environment }) => environment ?? []);
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(variables).size).toBe(variables.length);
  for (const name of names) expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
  for (const variable of variables) expect(variable).toMatch(/^[A-Z][A-Z0-9_]+$/);
});

test('every base is https, without a closing slash, except the one that is never dialled', () => {
  for (const provider of providers) {
    if (provider.baseUrl === null) continue;
    const base =
      typeof provider.baseUrl === 'string' ? provider.baseUrl : provider.baseUrl(OPTIONS[provider.name] ?? {}, CHAT);
    expect(new URL(base).protocol).toBe(provider.inProcess ? 'http:' : 'https:');
    expect(base.endsWith('/')).toBe(false);
  }
});

test('a provider that becomes a virtual key by its environment variable needs nothing else', () => {
  for (const provider of providers) {
    if (provider.environment) expect(() => upstreamUrl(provider, {}, null, CHAT, '')).not.toThrow();
  }
});

test('every option is explained to those who fill in a form, and nothing else is', () => {
  expect(Object.keys(OPTION_TEXTS).sort()).toEqual([...optionNames].sort());
});

test('option names are collected over all providers', () => {
  expect(optionNames.has('aws_region')).toBe(true);
  expect(optionNames.has('azure_resource_name')).toBe(true);
  expect(findProvider('no-such-provider')).toBeUndefined();
});

function isProvider(value: unknown): value is Provider {
  return (
    typeof value === 'object' && value !== null && 'baseUrl' in value && 'authorize' in value && 'dialect' in value
  );
}
