import * as z from 'zod';
import { compilePattern, isWithinReach } from '../../../core/patterns.ts';
import type { Checked } from '../../../core/schema.ts';

type Scalar = string | number | boolean;
const scalar = () => z.union([z.string(), z.number(), z.boolean()], { error: 'give a text, a number or a boolean' });

export const matchType = () =>
  z.enum(['exact', 'contains', 'containsAll', 'regex'], {
    error: 'give "exact", "contains", "containsAll" or "regex"',
  });
export const wantedValues = () =>
  z.union([scalar(), z.array(scalar()).min(1, 'give at least one').max(1_000)], {
    error: 'give a value or a list of values',
  });

export type MatchType = Checked<typeof matchType>;
export type ValueTest = (found: unknown) => boolean;

const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

/** A test of one value, or of a list of values. Throws on a pattern that RE2 cannot read. */
export function valueTest(type: MatchType, values: Checked<typeof wantedValues>): ValueTest {
  const wanted = [values].flat().map(String);
  const patterns = type === 'regex' ? wanted.map((rule) => compilePattern(rule)) : [];
  return (value) => {
    const found = (Array.isArray(value) ? value : [value]).filter(isScalar).map(String);
    if (found.length === 0) return false;
    const has = (each: string) => (Array.isArray(value) ? found.includes(each) : found[0]!.includes(each));
    switch (type) {
      case 'exact':
        // Of a list, all: one that holds more than was allowed is another one.
        return found.every((each) => wanted.includes(each));
      case 'contains':
        return wanted.some(has);
      case 'containsAll':
        return wanted.every(has);
      case 'regex':
        return patterns.some((rule) =>
          found.some((each) => {
            if (!isWithinReach(rule, each)) throw new Error('the value is too long for a pattern');
            return rule.test(each);
          }),
        );
      default:
        return type satisfies never;
    }
  };
}

/** Adds the fault to the schema's instead of throwing it. */
export function checkedTest(
  type: MatchType,
  values: Checked<typeof wantedValues>,
  context: z.RefinementCtx,
  path: (string | number)[],
): ValueTest {
  try {
    return valueTest(type, values);
  } catch (error) {
    context.addIssue({ code: 'custom', path, message: `holds what ${(error as Error).message}` });
    return () => false;
  }
}
