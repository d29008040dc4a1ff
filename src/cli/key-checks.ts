import { noSecrets } from '../core/secret-reference.ts';
import type { KeyChecks } from '../desired/check.ts';
import { createEgressPolicy } from '../http/egress.ts';
import { identityRules } from '../identities/identities.ts';
import { checkVirtualKey } from '../relay/check-virtual-key.ts';
import { secretRules } from '../secrets/stores.ts';
import type { Settings } from '../settings.ts';

type CheckSettings = Pick<Settings, 'trustedCustomHosts'> &
  Partial<Pick<Settings, 'secretStores' | 'machineIdentities'>>;

/** The checks that the gateway with these settings makes when a virtual key is saved. */
export const keyChecksOf = ({
  trustedCustomHosts,
  secretStores,
  machineIdentities = [],
}: CheckSettings): KeyChecks => ({
  check: checkVirtualKey(createEgressPolicy({ trustedHosts: [...trustedCustomHosts] })),
  secrets: secretStores ? secretRules(secretStores) : noSecrets,
  identities: identityRules(machineIdentities),
});
