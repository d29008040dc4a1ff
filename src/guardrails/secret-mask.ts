import { MASKED, maskedAddress } from '../core/masked-address.ts';
import { isAddressName } from '../core/secret-names.ts';
import { mask } from '../crypto/seal.ts';
import { checks } from './checks/index.ts';
import type { CheckInput, Fault } from './guardrail.ts';

const secretsOf = (id: string): readonly string[] => checks.get(id)?.secrets ?? [];

/** Parameters that are addresses, in which receivers hide secrets. */
const addressesIn = ({ parameters }: CheckInput): string[] =>
  Object.keys(parameters).filter((name) => isAddressName(name) && typeof parameters[name] === 'string');

/** Checks as they are read back: what their secrets are is not shown. */
export const masked = (given: readonly CheckInput[]): CheckInput[] =>
  given.map((each) => {
    const parameters = { ...each.parameters };
    for (const name of secretsOf(each.id)) if (name in parameters) parameters[name] = maskedValue(parameters[name]);
    for (const name of addressesIn(each)) parameters[name] = maskedAddress(parameters[name] as string);
    return { ...each, parameters };
  });

function maskedValue(value: unknown): unknown {
  if (typeof value === 'string') return mask(value);
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return MASKED;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, maskedValue(inner)]));
}

/** What was read back masked must not be stored like that. */
export function maskedFaults(given: readonly CheckInput[]): Fault[] {
  return given.flatMap((each, index) => {
    const fault = (why: string) => (name: string) => ({ path: `checks[${index}].parameters.${name}`, why });
    const isMasked = (name: string) => JSON.stringify(each.parameters[name] ?? null).includes(MASKED);
    return [
      ...secretsOf(each.id).filter(isMasked).map(fault('is masked; send the secret itself')),
      ...addressesIn(each).filter(isMasked).map(fault('is masked; send the whole address')),
    ];
  });
}
