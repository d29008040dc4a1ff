import { encodeReserved } from '../crypto/sigv4.ts';
import { bedrockCountTokens, bedrockEmbed, bedrockImages, bedrockRerank } from '../dialects/endpoints/bedrock.ts';
import { bedrockModels } from '../dialects/endpoints/models.ts';
import { awsOptions, awsOrigin, awsSignature } from './aws.ts';
import type { Provider } from './provider.ts';

/** Jobs and catalogues live on the control plane, everything else on the runtime. */
const CONTROL_PLANE = new Set([
  'custom-models',
  'evaluation-jobs',
  'foundation-models',
  'guardrails',
  'imported-models',
  'inference-profiles',
  'model-copy-jobs',
  'model-customization-jobs',
  'model-import-jobs',
  'model-invocation-job',
  'model-invocation-jobs',
  'prompt-routers',
  'provisioned-model-throughput',
  'provisioned-model-throughputs',
]);

export const bedrock: Provider = {
  name: 'bedrock',
  baseUrl: (options, path) => {
    const isControl = CONTROL_PLANE.has(path.split('/')[1] ?? '');
    return awsOrigin('bedrock', isControl ? 'bedrock' : 'bedrock-runtime', options);
  },
  dialect: 'converse',
  serves: [],
  endpoints: {
    complete: 'chat',
    embed: bedrockEmbed,
    rerank: bedrockRerank,
    imageGenerate: bedrockImages,
    countTokens: bedrockCountTokens,
  },
  models: bedrockModels,
  machineIdentity: 'aws',
  authorize: awsSignature('bedrock', { takesApiKey: true }),
  options: awsOptions,
  signsBody: true,
  rewrite: encodeReserved,
};
