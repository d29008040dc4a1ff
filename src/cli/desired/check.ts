import { refuseReferences, withoutReferences } from '../../auth/referenced-secrets.ts';
import { GatewayError } from '../../core/errors.ts';
import { noSecrets } from '../../core/secret-reference.ts';
import { createEgressPolicy } from '../../http/egress.ts';
import { optionNames } from '../../providers/registry.ts';
import { checkConfigParts } from '../../relay/check-config.ts';
import { checkVirtualKey } from '../../relay/check-virtual-key.ts';
import { checkConfig, configSchema } from '../../routing/config.ts';
import { compilePlan } from '../../routing/plan.ts';
import { secretRules } from '../../secrets/stores.ts';
import type { Settings } from '../../settings.ts';
import { type Findings, heed } from '../reading/findings.ts';
import type { ConfigWish, Desired, VirtualKeyWish } from './desired.ts';

/** The checks that the API makes when a virtual key is saved: provider, configurations, host; and when a config is saved. */
export async function checkWishes(desired: Desired, settings: Settings, findings: Findings): Promise<void> {
  await usableVirtualKeys(desired.virtualKeys, settings, findings);
  await usableConfigs(desired.configs, findings);
}

/**
 * Those without a fault. `trustsLater`: a host that the operator has yet to trust is no fault but said; no call goes there
 * before.
 */
export async function usableVirtualKeys(
  wishes: readonly VirtualKeyWish[],
  settings: Pick<Settings, 'trustedCustomHosts'> & Partial<Pick<Settings, 'secretStores'>>,
  findings: Findings,
  { trustsLater = false }: { trustsLater?: boolean } = {},
): Promise<VirtualKeyWish[]> {
  const check = checkVirtualKey(createEgressPolicy({ trustedHosts: [...settings.trustedCustomHosts] }));
  const rules = settings.secretStores ? secretRules(settings.secretStores) : noSecrets;
  const usable: VirtualKeyWish[] = [];
  for (const wish of wishes) {
    const { place, slug, workspace, key, fields } = wish;
    const { provider, custom_host: customHost, configurations } = fields;
    const before = findings.count;
    await heed(findings, place, `virtual key ${slug}`, async () => {
      try {
        refuseReferences({ key, customHost, configurations }, workspace, rules);
        await check({ provider, customHost, ...withoutReferences({ key, configurations }) });
      } catch (error) {
        if (!trustsLater || !(error instanceof GatewayError) || error.code !== 'egress_refused') throw error;
        const { host } = new URL(customHost ?? String(configurations.azure_foundry_url));
        findings.note(place, `virtual key ${slug}: calls are refused until TRUSTED_CUSTOM_HOSTS names ${host}`);
      }
    });
    if (findings.count === before) usable.push(wish);
  }
  return usable;
}

/** Those without a fault. */
export async function usableConfigs(wishes: readonly ConfigWish[], findings: Findings): Promise<ConfigWish[]> {
  const schema = configSchema([...optionNames]);
  const usable: ConfigWish[] = [];
  for (const wish of wishes) {
    const { place, slug, config } = wish;
    const before = findings.count;
    await heed(findings, place, `config ${slug}`, async () => {
      const known = checkConfig(config, schema);
      checkConfigParts(known);
      compilePlan(known, slug, new Set(optionNames));
    });
    if (findings.count === before) usable.push(wish);
  }
  return usable;
}
