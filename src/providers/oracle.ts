import { ociSignature } from './oci-signature.ts';
import { label, required } from './options.ts';
import type { Provider } from './provider.ts';

export const oracle: Provider = {
  name: 'oracle',
  baseUrl: (options) => {
    const region = required('oracle', options, 'oracle_region', label).toLowerCase();
    return `https://inference.generativeai.${region}.oci.oraclecloud.com/20231130`;
  },
  dialect: 'none',
  serves: [],
  authorize: ociSignature,
  options: [
    'oracle_region',
    'oracle_tenancy',
    'oracle_user',
    'oracle_fingerprint',
    'oracle_private_key',
    'oracle_key_passphrase',
  ],
  signsBody: true,
};
