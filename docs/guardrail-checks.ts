import * as z from 'zod';
import { allChecks } from '../src/guardrails/checks/index.ts';

/** The rows of the table of checks: id, hooks, parameters with their defaults, when it passes. */
export const checkRows = (): string[][] =>
  allChecks.map(({ id, aliases = [], on, parameters, passes }) => [
    [id, ...aliases].map(code).join(', '),
    on.join(', '),
    parametersOf(parameters()),
    passes,
  ]);

const code = (text: string) => `\`${text}\``;
const LONGEST_DEFAULT = 70;

function parametersOf(schema: z.ZodType): string {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const described = Object.entries(properties).map(([name, property]) => {
    if (required.includes(name)) return `**${code(name)}**`;
    const { default: value } = property as { default?: unknown };
    if (value === undefined) return code(name);
    const text = JSON.stringify(value);
    return `${code(name)} (${text.length > LONGEST_DEFAULT ? 'all' : code(text)})`;
  });
  return described.join(', ');
}
