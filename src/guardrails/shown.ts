import { mask } from '../crypto/seal.ts';
import { checks } from './checks/index.ts';
import type { CheckInput, Fault } from './guardrail.ts';

const MASKED = '***';

const secretsOf = (id: string): readonly string[] => checks.get(id)?.secrets ?? [];

/** Checks as they are read back: what their secrets are is not shown. */
export const masked = (given: readonly CheckInput[]): CheckInput[] =>
  given.map((each) => {
    const parameters = { ...each.parameters };
    for (const name of secretsOf(each.id)) if (name in parameters) parameters[name] = maskedValue(parameters[name]);
    return { ...each, parameters };
  });

function maskedValue(value: unknown): unknown {
  if (typeof value === 'string') return mask(value);
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return MASKED;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, maskedValue(inner)]));
}

/** What was read back masked must not be stored like that. */
export function maskedFaults(given: readonly CheckInput[]): Fault[] {
  return given.flatMap(({ id, parameters }, index) =>
    secretsOf(id)
      .filter((name) => JSON.stringify(parameters[name] ?? null).includes(MASKED))
      .map((name) => ({ path: `checks[${index}].parameters.${name}`, why: 'is masked; send the secret itself' })),
  );
}
