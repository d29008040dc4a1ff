import { fail } from '../core/errors.ts';
import type { GuardrailUse } from '../core/guardrails.ts';
import type { Hook } from '../guardrails/check.ts';
import { DefinitionFault } from '../guardrails/guardrail.ts';
import { prepareInline } from '../guardrails/inline.ts';
import { address } from '../providers/options.ts';
import { findProvider } from '../providers/registry.ts';
import type { ConfigObject, ConfigOrigin } from '../routing/config.ts';

/** What a config must be beside its form, found out when it is saved and not when it is called. */
export function checkConfigParts(config: ConfigObject, origin: ConfigOrigin = 'stored'): void {
  checkConfigProviders(config);
  checkConfigGuardrails(config);
  if (origin === 'inline') refuseManyChecks(config);
}

/** Checks and guardrails that a caller may have run on one call, over all targets. */
const MOST_INLINE_CHECKS = 20;

/** A slug counts as one, each time that it is given: a caller does not choose how many checks stand behind it. */
function refuseManyChecks(config: ConfigObject): void {
  const count = checksIn(config);
  if (count > MOST_INLINE_CHECKS)
    fail(
      'invalid_config',
      'config',
      `holds ${count} checks of guardrails; at most ${MOST_INLINE_CHECKS} unless the config is stored`,
    );
}

const checksIn = (config: ConfigObject): number =>
  SIDES.flatMap(([member]) => config[member] ?? []).reduce(
    (sum, reference) => sum + (typeof reference === 'string' ? 1 : writtenChecks(reference)),
    0,
  ) + (config.targets ?? []).reduce((sum, target) => sum + checksIn(target), 0);

/** What all checks that a caller wrote may read of one request together. */
const MOST_READ_BYTES = 8 << 20;

/** Refuses a request that is too long for the checks that its caller wrote into the config: each of them reads all of it. */
export function refuseCostlyChecks(guardrails: GuardrailUse, bytes: number): void {
  let checks = 0;
  for (const reference of [...guardrails.input, ...guardrails.output])
    if (typeof reference !== 'string') checks += writtenChecks(reference);
  if (checks * bytes > MOST_READ_BYTES)
    fail(
      'invalid_config',
      'config',
      `its ${checks} checks would read ${checks * bytes} bytes of this request; at most ${MOST_READ_BYTES} unless the config is stored`,
    );
}

/** How many checks a guardrail has that is written out where it is used. */
export function writtenChecks(reference: Readonly<Record<string, unknown>>): number {
  const { input, output } = prepareInline(reference).checks;
  return Math.max(input.length, output.length, 1);
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

/** Refuses a config with an unknown provider or an impossible host when it is saved, and not when it is called. */
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
