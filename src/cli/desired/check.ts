import { createEgressPolicy } from '../../http/egress.ts';
import { optionNames } from '../../providers/registry.ts';
import { checkConfigParts } from '../../relay/check-config.ts';
import { checkVirtualKey } from '../../relay/check-virtual-key.ts';
import { checkConfig, configSchema } from '../../routing/config.ts';
import { compilePlan } from '../../routing/plan.ts';
import type { Settings } from '../../settings.ts';
import { type Findings, heed } from '../reading/findings.ts';
import type { Desired } from './desired.ts';

/** The checks that the API makes when a virtual key is saved: provider, configurations, host; and when a config is saved. */
export async function checkWishes(desired: Desired, settings: Settings, findings: Findings): Promise<void> {
  const check = checkVirtualKey(createEgressPolicy({ trustedHosts: [...settings.trustedCustomHosts] }));
  for (const { place, slug, fields } of desired.virtualKeys) {
    const { provider, custom_host: customHost, configurations } = fields;
    await heed(findings, place, `virtual key ${slug}`, () => check({ provider, customHost, configurations }));
  }
  const schema = configSchema([...optionNames]);
  for (const { place, slug, config } of desired.configs) {
    await heed(findings, place, `config ${slug}`, async () => {
      const known = checkConfig(config, schema);
      checkConfigParts(known);
      compilePlan(known, slug, new Set(optionNames));
    });
  }
}
