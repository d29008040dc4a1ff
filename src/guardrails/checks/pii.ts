import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { findPii, PII_CATEGORIES, PII_SPAN } from './detect/pii.ts';
import { judgeFindings } from './text/findings.ts';

export const pii = check({
  id: 'default.pii',
  passes:
    'no text holds personal data of the categories; with `redact`, always, after each was replaced by a placeholder such as `{{EMAIL_ADDRESS_1}}`. Numbers count where their check digits are right',
  on: ['input', 'output'],
  span: PII_SPAN,
  transforms: ({ redact }) => redact,
  tells: ['found', 'where', 'redacted'],
  effort: perCharacter(0.3),
  parameters: () =>
    z.strictObject({
      categories: z
        .array(z.enum(PII_CATEGORIES, { error: `give some of ${PII_CATEGORIES.join(', ')}` }), { error: 'give a list' })
        .min(1, 'give at least one')
        .default(PII_CATEGORIES),
      redact: z.boolean({ error: 'give true or false' }).default(false),
    }),
  run: (facts, { categories, redact }) => judgeFindings(facts, redact, (text) => findPii(text, categories)),
});
