import * as z from 'zod';
import type { CheckVirtualKey } from '../auth/virtual-keys.ts';
import { fail } from '../core/errors.ts';
import { IDENTITY_OPTION } from '../core/machine-identity.ts';
import { schemaOf } from '../core/schema.ts';
import type { EgressPolicy } from '../http/egress.ts';
import { checked } from '../http/input.ts';
import { checkStoredAddress } from '../http/stored-address.ts';
import { readOptions, upstreamUrl } from '../providers/address.ts';
import { batchStorage } from '../providers/batch-storage.ts';
import { fineTuningOptions } from '../providers/fine-tuning-options.ts';
import { findProvider, providers } from '../providers/registry.ts';
import { checkClientTls, TLS_OPTIONS } from './client-certificate.ts';
import { checkPaidByCaller } from './paid-by-caller.ts';

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;
/** Headers a virtual key may not set, because the connection or another rule owns them. */
const RESERVED_HEADER =
  /^(host|content-length|transfer-encoding|connection|upgrade|te|trailer|keep-alive|proxy-.*|x-gateway-.*)$/i;

const OF_EVERY_PROVIDER = [
  'custom_headers',
  'prices',
  'batches',
  'batch_storage',
  'fine_tuning',
  'assistants',
  'paid_by',
  IDENTITY_OPTION,
  ...Object.values(TLS_OPTIONS),
];

/** With its place in the body, so that faults name it. */
const fineTuning = () => z.object({ configurations: z.object({ fine_tuning: fineTuningOptions() }) });
const storage = () => z.object({ configurations: z.object({ batch_storage: batchStorage() }) });

/** Refuses a virtual key that could not be used, when it is saved and not when it is first called. */
export const checkVirtualKey =
  (egress: EgressPolicy): CheckVirtualKey =>
  async ({ provider: name, customHost, key, configurations }) => {
    const provider = findProvider(name);
    if (!provider) {
      fail(
        'invalid_request',
        'provider',
        `there is no provider "${name.slice(0, 80)}"; known are ${providers.map((each) => each.name).join(', ')}`,
      );
    }
    const known = new Set([...(provider.options ?? []), ...OF_EVERY_PROVIDER]);
    for (const option of Object.keys(configurations)) {
      if (!known.has(option)) {
        fail('invalid_request', `configurations.${option}`, `provider ${name} knows ${[...known].join(', ')}`);
      }
    }
    checkHeaders(configurations.custom_headers);
    checkPaidByCaller(provider, configurations, Boolean(key));
    checkMode('batches', configurations.batches, BATCH_MODES);
    checkMode('assistants', configurations.assistants, ASSISTANT_MODES);
    if (configurations.batch_storage !== undefined)
      checked(schemaOf(storage), { configurations: { batch_storage: configurations.batch_storage } }, 'body');
    if (configurations.fine_tuning !== undefined)
      checked(schemaOf(fineTuning), { configurations: { fine_tuning: configurations.fine_tuning } }, 'body');
    const url = upstreamUrl(provider, readOptions(provider, { stored: configurations }), customHost, '/models', '');
    checkClientTls(configurations, url, { inProcess: provider.inProcess === true, now: Date.now() });
    if (!provider.inProcess) await checkStoredAddress(egress, url, 'custom_host');
  };

const BATCH_MODES = ['managed', 'native', 'auto'];
const ASSISTANT_MODES = ['managed', 'native'];

function checkMode(name: string, mode: unknown, modes: readonly string[]) {
  if (mode !== undefined && !modes.includes(mode as string))
    fail('invalid_request', `configurations.${name}`, `must be one of ${modes.join(', ')}`);
}

function checkHeaders(headers: unknown) {
  if (headers === undefined) return;
  const field = 'configurations.custom_headers';
  if (headers === null || typeof headers !== 'object' || Array.isArray(headers))
    fail('invalid_request', field, 'must be an object of strings');
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) fail('invalid_request', field, `"${name}" is not a header name`);
    if (RESERVED_HEADER.test(name)) fail('invalid_request', field, `${name} cannot be set`);
    if (typeof value !== 'string' || !HEADER_VALUE.test(value))
      fail('invalid_request', field, `the value of ${name} must be a string of printable ASCII characters`);
  }
}
