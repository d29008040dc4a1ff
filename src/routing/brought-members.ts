import { isAddressName } from '../core/secret-names.ts';
import { type ConfigObject, OPTION_ALIASES } from './config.ts';

const GUARDRAILS = ['input_guardrails', 'output_guardrails', 'before_request_hooks', 'after_request_hooks'] as const;

/** What a config brings along, each with the first place where it stands, at any depth. For rules that forbid some of it. */
export function broughtBy(config: ConfigObject): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const note = (name: string, path: string) => void (found.has(name) || found.set(name, path));
  const walk = (each: ConfigObject, path: string) => {
    for (const [key, value] of Object.entries(each)) {
      if (value === undefined) continue;
      const names = key === 'provider' && each.provider?.startsWith('@') ? 'virtual_key' : (OPTION_ALIASES[key] ?? key);
      note(names, `${path}.${key}`);
    }
    for (const member of GUARDRAILS) inChecks(each[member], `${path}.${member}`, note);
    for (const [index, target] of (each.targets ?? []).entries()) walk(target, `${path}.targets[${index}]`);
  };
  walk(config, 'config');
  return found;
}

/** The models that a config gives to calls, at any depth; a star where it takes a prefix off: any name may come of it. */
export function chosenModels({ override_params, default_params, strip_model_prefix, targets }: ConfigObject): string[] {
  const given = [override_params?.model, default_params?.model].filter((name) => typeof name === 'string');
  const rest = (targets ?? []).flatMap(chosenModels);
  return strip_model_prefix === undefined ? [...given, ...rest] : ['*', ...given, ...rest];
}

/** A check that is written out may send to an address what it reads, and headers, or ask a model through a virtual key. */
function inChecks(value: unknown, path: string, note: (name: string, path: string) => void): void {
  if (value === null || typeof value !== 'object') return;
  for (const [key, item] of Object.entries(value)) {
    const where = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
    if (isAddressName(key)) note('check_address', where);
    if (key === 'virtualKey') note('virtual_key', where);
    if (key === 'forwardHeaders') note('forward_headers', where);
    inChecks(item, where, note);
  }
}
