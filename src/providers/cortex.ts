import { bearer } from './authorize.ts';
import { required, segment } from './options.ts';
import type { Provider } from './provider.ts';

export const cortex: Provider = {
  name: 'cortex',
  baseUrl: (options) => {
    const account = required('cortex', options, 'snowflake_account', segment);
    // Snowflake's certificates do not cover the underscores that account names may have.
    return `https://${account.toLowerCase().replaceAll('_', '-')}.snowflakecomputing.com/api/v2/cortex/v1`;
  },
  dialect: 'openai-chat',
  serves: [],
  authorize: bearer,
  options: ['snowflake_account'],
};
