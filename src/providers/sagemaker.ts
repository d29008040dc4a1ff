import { encodeReserved } from '../crypto/sigv4.ts';
import { withOptionHeaders } from './authorize.ts';
import { awsOptions, awsOrigin, awsSignature } from './aws.ts';
import type { Provider } from './provider.ts';

const HEADERS = {
  'x-amzn-sagemaker-custom-attributes': 'amzn_sagemaker_custom_attributes',
  'x-amzn-sagemaker-enable-explanations': 'amzn_sagemaker_enable_explanations',
  'x-amzn-sagemaker-inference-component': 'amzn_sagemaker_inference_component',
  'x-amzn-sagemaker-inference-id': 'amzn_sagemaker_inference_id',
  'x-amzn-sagemaker-session-id': 'amzn_sagemaker_session_id',
  'x-amzn-sagemaker-target-container-hostname': 'amzn_sagemaker_target_container_hostname',
  'x-amzn-sagemaker-target-model': 'amzn_sagemaker_target_model',
  'x-amzn-sagemaker-target-variant': 'amzn_sagemaker_target_variant',
};

export const sagemaker: Provider = {
  name: 'sagemaker',
  baseUrl: (options) => awsOrigin('sagemaker', 'runtime.sagemaker', options),
  dialect: 'none',
  serves: [],
  machineIdentity: 'aws',
  authorize: withOptionHeaders(awsSignature('sagemaker'), HEADERS),
  options: [...awsOptions, ...Object.values(HEADERS)],
  signsBody: true,
  rewrite: encodeReserved,
};
