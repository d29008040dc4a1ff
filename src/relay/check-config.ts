import { fail } from '../core/errors.ts';
import type { Hook } from '../guardrails/check.ts';
import { DefinitionFault } from '../guardrails/guardrail.ts';
import { prepareInline } from '../guardrails/inline.ts';
import { address } from '../providers/options.ts';
import { findProvider } from '../providers/registry.ts';
import type { ConfigObject } from '../routing/config.ts';

/** What a config must be beside its form, found out when it is saved and not when it is called. */
export function checkConfigParts(config: ConfigObject): void {
  checkConfigProviders(config);
  checkConfigGuardrails(config);
}

const SIDES = [
  ['input_guardrails', 'input'],
  ['before_request_hooks', 'input'],
  ['output_guardrails', 'output'],
  ['after_request_hooks', 'output'],
] as const;

/** Those that are written out; a slug is looked up when it is used, like that of a virtual key. */
function checkConfigGuardrails(config: ConfigObject, path = 'config'): void {
  for (const [member, side] of SIDES) {
    for (const [index, reference] of (config[member] ?? []).entries()) {
      if (typeof reference !== 'string') checkWritten(reference, `${path}.${member}[${index}]`, side);
    }
  }
  for (const [index, target] of (config.targets ?? []).entries())
    checkConfigGuardrails(target, `${path}.targets[${index}]`);
}

function checkWritten(reference: Readonly<Record<string, unknown>>, path: string, side: Hook) {
  try {
    const { on, id } = prepareInline(reference);
    if (!on.has(side)) fail('guardrail_misplaced', id, side);
  } catch (error) {
    if (!(error instanceof DefinitionFault)) throw error;
    const [first, ...more] = error.faults.map(({ path: where, why }) => [`${path}.${where}`, why] as const);
    const also = more.slice(0, 9).map(([where, why]) => `${where}: ${why}`);
    fail('invalid_config', first![0], also.length > 0 ? `${first![1]} (also ${also.join('; ')})` : first![1]);
  }
}

/** Refuses a config that names a provider nobody knows or a host that cannot be one, when it is saved and not when it is called. */
function checkConfigProviders(config: ConfigObject, path = 'config'): void {
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
