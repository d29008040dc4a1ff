import { bearer } from './authorize.ts';
import { required, segment } from './options.ts';
import type { Provider } from './provider.ts';

export const predibase: Provider = {
  name: 'predibase',
  baseUrl: (options) => {
    const tenant = required('predibase', options, 'predibase_tenant_id', segment);
    const deployment = required('predibase', options, 'predibase_deployment', segment);
    return `https://serving.app.predibase.com/${tenant}/deployments/v2/llms/${deployment}/v1`;
  },
  dialect: 'openai-chat',
  serves: ['complete'],
  authorize: bearer,
  options: ['predibase_tenant_id', 'predibase_deployment'],
};
