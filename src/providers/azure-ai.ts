import { cohereRerank } from '../dialects/endpoints/cohere.ts';
import { bearer, header, withOptionHeaders } from './authorize.ts';
import { apiVersion, withApiVersion } from './azure.ts';
import { azureKeyOrEntra, entraOptions } from './entra-token.ts';
import { address, optional, printable, required } from './options.ts';
import type { Authorize, Provider } from './provider.ts';

/** Foundry and OpenAI resources take `api-key`, serverless and managed endpoints take the key as bearer. */
const keyByHost: Authorize = (call) =>
  /\.(?:services\.ai|openai|cognitiveservices)\.azure\.com$/.test(new URL(call.url).hostname)
    ? header('api-key')(call)
    : bearer(call);

export const azureAi: Provider = {
  name: 'azure-ai',
  baseUrl: (options) => address('azure_foundry_url', required('azure-ai', options, 'azure_foundry_url', printable)),
  dialect: 'openai-chat',
  serves: [
    'complete',
    'embed',
    'imageGenerate',
    'imageEdit',
    'createSpeech',
    'createTranscription',
    'createTranslation',
  ],
  endpoints: { rerank: cohereRerank },
  machineIdentity: 'azure',
  authorize: withOptionHeaders(azureKeyOrEntra(keyByHost), {
    'azureml-model-deployment': 'azure_deployment_name',
    'extra-parameters': 'azure_extra_params',
  }),
  options: ['azure_foundry_url', 'azure_api_version', 'azure_deployment_name', 'azure_extra_params', ...entraOptions],
  rewrite: (path, options) => {
    const version = optional(options, 'azure_api_version', apiVersion);
    return version === undefined || version === 'v1' ? path : withApiVersion(path, version);
  },
};
