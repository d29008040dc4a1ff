import { apiVersion, withApiVersion } from './azure.ts';
import { azureKeyOrEntra, entraOptions } from './entra-token.ts';
import { label, optional, required, segment } from './options.ts';
import type { Provider, ProviderOptions } from './provider.ts';

/** Routes that older API versions keep below a deployment. */
const PER_DEPLOYMENT = /^\/(?:chat\/completions|completions|embeddings|images|audio)(?:[/?]|$)/;

/** What the options say of the deployment: set one by one, or as the default (or only) entry of a stored list. */
function deployment(options: ProviderOptions): ProviderOptions {
  const list = Array.isArray(options.azure_deployment_config) ? (options.azure_deployment_config as unknown[]) : [];
  const entries = list.filter((entry): entry is Record<string, unknown> => typeof entry === 'object' && entry !== null);
  const entry = entries.find(({ is_default }) => is_default) ?? (entries.length === 1 ? entries[0] : undefined);
  return {
    azure_deployment_id: options.azure_deployment_id ?? entry?.azure_deployment_name,
    azure_api_version: options.azure_api_version ?? entry?.azure_api_version,
  };
}

const REALTIME = /^\/realtime(?:\?|$)/;

/** Dated versions name the deployment of a realtime conversation in the query, and no model. */
function ofDeployment(path: string, id: string | null): string {
  const query = new URLSearchParams(path.slice('/realtime'.length));
  const deployment = id ?? query.get('model');
  query.delete('model');
  if (deployment !== null && !query.has('deployment')) query.set('deployment', deployment);
  return `/realtime?${query}`;
}

/** The first version that takes `stream_options`; older ones refuse it. */
const STREAM_OPTIONS_SINCE = '2024-09-01';

const isDated = (version: string | undefined) => version !== undefined && /^\d/.test(version);

export const azureOpenai: Provider = {
  name: 'azure-openai',
  baseUrl: (options, path) => {
    const resource = required('azure-openai', options, 'azure_resource_name', label);
    const origin = `https://${resource.toLowerCase()}.openai.azure.com`;
    // Azure's own SDKs write the whole path, which then decides.
    if (path.startsWith('/openai/')) return origin;
    const version = optional(deployment(options), 'azure_api_version', apiVersion);
    return isDated(version) || path.startsWith('/deployments/') ? `${origin}/openai` : `${origin}/openai/v1`;
  },
  dialect: 'openai-chat',
  quirks: (options) => {
    const version = optional(deployment(options), 'azure_api_version', apiVersion);
    return isDated(version) && version! < STREAM_OPTIONS_SINCE ? { refusesStreamOptions: true } : {};
  },
  serves: [
    'complete',
    'embed',
    'imageGenerate',
    'imageEdit',
    'imageVariation',
    'createSpeech',
    'createTranscription',
    'createTranslation',
    'createModelResponse',
    'realtime',
  ],
  machineIdentity: 'azure',
  authorize: azureKeyOrEntra(),
  options: [
    'azure_resource_name',
    'azure_deployment_id',
    'azure_api_version',
    'azure_deployment_config',
    ...entraOptions,
  ],
  rewrite: (path, options) => {
    const settings = deployment(options);
    const version = optional(settings, 'azure_api_version', apiVersion);
    if (version === undefined || version === 'v1') return path;
    const id = isDated(version) && optional(settings, 'azure_deployment_id', segment);
    if (isDated(version) && REALTIME.test(path)) return withApiVersion(ofDeployment(path, id || null), version!);
    return withApiVersion(id && PER_DEPLOYMENT.test(path) ? `/deployments/${id}${path}` : path, version);
  },
};
