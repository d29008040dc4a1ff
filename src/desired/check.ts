import { refuseIdentity } from '../auth/lent-identity.ts';
import { refuseReferences, withoutReferences } from '../auth/referenced-secrets.ts';
import type { CheckVirtualKey } from '../auth/virtual-keys.ts';
import { GatewayError } from '../core/errors.ts';
import type { MachineIdentities } from '../core/machine-identity.ts';
import type { SecretSource } from '../core/secret-reference.ts';
import { optionNames } from '../providers/registry.ts';
import { checkConfigParts } from '../relay/check-config.ts';
import { checkConfig, configSchema } from '../routing/config.ts';
import { compilePlan } from '../routing/plan.ts';
import type { ConfigWish, Desired, VirtualKeyWish } from './desired.ts';
import { type Findings, heed } from './reading/findings.ts';

/** What a virtual key has to pass. */
export interface KeyChecks {
  readonly check: CheckVirtualKey;
  /** Which references to secret stores may be used; they are not asked. */
  readonly secrets: Pick<SecretSource, 'refusal'>;
  /** Which identities of the machine may be used. */
  readonly identities: Pick<MachineIdentities, 'refusal'>;
}

/** The checks that the API makes when a virtual key is saved: provider, configurations, host; and when a config is saved. */
export async function checkWishes(desired: Desired, checks: KeyChecks, findings: Findings): Promise<void> {
  await usableVirtualKeys(desired.virtualKeys, checks, findings);
  await usableConfigs(desired.configs, findings);
}

/**
 * Those without a fault. `trustsLater`: a host that the operator has yet to trust is no fault but said; no call goes there
 * before.
 */
export async function usableVirtualKeys(
  wishes: readonly VirtualKeyWish[],
  { check, secrets, identities }: KeyChecks,
  findings: Findings,
  { trustsLater = false }: { trustsLater?: boolean } = {},
): Promise<VirtualKeyWish[]> {
  const usable: VirtualKeyWish[] = [];
  for (const wish of wishes) {
    const { place, slug, workspace, key, fields } = wish;
    const { provider, custom_host: customHost, configurations } = fields;
    const before = findings.count;
    await heed(findings, place, `virtual key ${slug}`, async () => {
      try {
        refuseReferences({ key, customHost, configurations }, workspace, secrets);
        const plain = { provider, customHost, ...withoutReferences({ key, configurations }) };
        await check(plain);
        refuseIdentity(plain, workspace, identities);
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
