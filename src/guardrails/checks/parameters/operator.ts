import * as z from 'zod';

export type Operator = 'any' | 'all' | 'none';

export const operator = () => z.enum(['any', 'all', 'none'], { error: 'give "any", "all" or "none"' });

export const not = () => z.boolean({ error: 'give true or false' }).default(false).describe('Turns the verdict round.');

/** A list of names or words. */
export const texts = () =>
  z
    .array(z.string().min(1, 'must not be empty').max(4_096), { error: 'give a list of texts' })
    .min(1, 'give at least one')
    .max(1_000);

export function holds(operator: Operator, found: number, wanted: number): boolean {
  switch (operator) {
    case 'any':
      return found > 0;
    case 'all':
      return found === wanted;
    case 'none':
      return found === 0;
    default:
      return operator satisfies never;
  }
}
