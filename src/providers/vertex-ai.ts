import { fail } from '../core/errors.ts';
import { vertexCountTokens, vertexEmbed, vertexImages, vertexRerank } from '../dialects/endpoints/google.ts';
import { accountProject, googleToken } from './google-token.ts';
import { label, optional, required } from './options.ts';
import type { ChatCall, ChatEndpoint, Provider, ProviderOptions } from './provider.ts';

const region = (options: ProviderOptions) => required('vertex-ai', options, 'vertex_region', label).toLowerCase();

const project = (options: ProviderOptions) =>
  optional(
    { vertex_project_id: options.vertex_project_id ?? accountProject(options) },
    'vertex_project_id',
    projectId,
  ) ?? required('vertex-ai', options, 'vertex_project_id', projectId);

/** Old projects carry their domain: `example.com:project`. */
const projectId = {
  pattern: /^[a-z0-9](?:[a-z0-9.:-]{0,126}[a-z0-9])?$/,
  says: 'takes lower-case letters, digits and inner dashes',
};

/** Documents are ranked by a service of their own, which has no regions. */
const isRanking = (path: string) => path.startsWith('/rankingConfigs/');

/** Vertex wants Anthropic's version in the body, and the model in the address alone. */
const claudeOnVertex = { defaults: { anthropic_version: 'vertex-2023-10-16' }, drops: ['model'] };

/** `anthropic.claude-…`, `mistralai.…`, `meta.…`; Google's own may stand without a prefix. */
function chat({ model, stream }: ChatCall): ChatEndpoint {
  const [, publisher = 'google', name = model] =
    /^(google|anthropic|meta|mistralai|endpoints)\.(.+)$/.exec(model) ?? [];
  const models = `/publishers/${publisher}/models/${encodeURIComponent(name)}`;
  switch (publisher) {
    case 'anthropic':
      return {
        dialect: 'anthropic',
        path: `${models}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
        edits: claudeOnVertex,
      };
    case 'mistralai':
      return {
        dialect: 'openai-chat',
        path: `${models}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
        quirks: { maxTokensField: 'max_tokens', refusesStreamOptions: true },
        edits: { overrides: { model: name } },
      };
    case 'meta':
      return {
        dialect: 'openai-chat',
        path: '/endpoints/openapi/chat/completions',
        quirks: { maxTokensField: 'max_tokens' },
        edits: { overrides: { model: `meta/${name}` } },
      };
    case 'endpoints':
      return { dialect: 'openai-chat', path: `/endpoints/${encodeURIComponent(name)}/chat/completions` };
    default:
      return { dialect: 'gemini', path: `${models}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}` };
  }
}

/** Google's own models, in this project alone, whichever project a client names. */
function liveModel(model: string, options: ProviderOptions): string {
  const { dialect, path } = chat({ model, stream: true } as ChatCall);
  if (dialect !== 'gemini') fail('unsupported_by_provider', 'vertex-ai', `conversations in real time with ${model}`);
  return `projects/${project(options)}/locations/${region(options)}${path.slice(0, path.lastIndexOf(':'))}`;
}

export const vertexAi: Provider = {
  name: 'vertex-ai',
  baseUrl: (options, path) => {
    if (isRanking(path)) return 'https://discoveryengine.googleapis.com/v1';
    const place = region(options);
    const host = place === 'global' ? 'aiplatform.googleapis.com' : `${place}-aiplatform.googleapis.com`;
    return `https://${host}/${path.startsWith('/v1beta1/') ? 'v1beta1' : 'v1'}`;
  },
  dialect: 'gemini',
  chat,
  live: {
    path: (version) =>
      `/ws/google.cloud.aiplatform.${version === 'v1' ? 'v1' : 'v1beta1'}.LlmBidiService/BidiGenerateContent`,
    model: liveModel,
  },
  serves: [],
  endpoints: { embed: vertexEmbed, rerank: vertexRerank, imageGenerate: vertexImages, countTokens: vertexCountTokens },
  machineIdentity: 'google',
  authorize: googleToken,
  options: ['vertex_region', 'vertex_project_id', 'vertex_auth_type', 'vertex_service_account_json'],
  rewrite: (path, options) => {
    if (isRanking(path)) return `/projects/${project(options)}/locations/global${path}`;
    return /^\/(?:publishers|endpoints)\//.test(path)
      ? `/projects/${project(options)}/locations/${region(options)}${path}`
      : path;
  },
};
