import * as z from 'zod';
import { isPattern } from '../../auth/token-claims.ts';

const claimValue = () =>
  z.union([z.string(), z.number(), z.boolean()], { error: 'give a text, a number, true or false' });

/** What a claim of a user must say. */
export const claimRule = () =>
  z
    .strictObject({
      values: z.union([claimValue(), z.array(claimValue()).min(1).max(1_000)], {
        error: 'give a value or a list of values',
      }),
      matchType: z
        .enum(['exact', 'contains', 'containsAll', 'regex'], {
          error: 'give "exact", "contains", "containsAll" or "regex"',
        })
        .optional(),
    })
    .superRefine(({ values, matchType }, context) => {
      if (matchType !== 'regex' || [values].flat().every((pattern) => isPattern(String(pattern)))) return;
      context.addIssue({ code: 'custom', path: ['values'], message: 'holds a pattern that RE2 cannot read' });
    });
