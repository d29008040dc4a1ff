import type { ConfigObject } from './config.ts';

/** A config that names a guardrail. */
export interface NamingConfig {
  readonly kind: 'config';
  readonly id: string;
  readonly name: string;
  readonly on: ('input' | 'output')[];
}

export const sidesNaming = (config: ConfigObject, names: ReadonlySet<string>): ('input' | 'output')[] =>
  (['input', 'output'] as const).filter((side) => isNamedIn(config, `${side}_guardrails`, names));

const isNamedIn = (
  { targets = [], ...own }: ConfigObject,
  member: 'input_guardrails' | 'output_guardrails',
  names: ReadonlySet<string>,
): boolean =>
  (own[member] ?? []).some((each) => typeof each === 'string' && names.has(each)) ||
  targets.some((target) => isNamedIn(target, member, names));
