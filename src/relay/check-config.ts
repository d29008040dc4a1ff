import { fail } from '../core/errors.ts';
import { address } from '../providers/options.ts';
import { findProvider } from '../providers/registry.ts';
import type { ConfigObject } from '../routing/config.ts';

/** Refuses a config that names a provider nobody knows or a host that cannot be one, when it is saved and not when it is called. */
export function checkConfigProviders(config: ConfigObject, path = 'config'): void {
  const { provider, custom_host, targets = [] } = config;
  if (provider && !provider.startsWith('@') && !findProvider(provider)) {
    fail(
      'invalid_config',
      `${path}.provider`,
      `there is no provider "${provider.slice(0, 80)}"; GET /v1/providers lists them`,
    );
  }
  if (custom_host) address(`${path}.custom_host`, custom_host);
  for (const [index, target] of targets.entries()) checkConfigProviders(target, `${path}.targets[${index}]`);
}
