import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { findSecrets, SECRET_CATEGORIES, SECRETS_SPAN } from './detect/secrets.ts';
import { judgeFindings } from './text/findings.ts';

export const secrets = check({
  id: 'default.secrets',
  passes:
    'no text holds a secret of the categories: keys of known vendors, tokens, private keys, passwords in addresses and settings, random text; with `redact`, always, after each was replaced by a placeholder such as `{{API_KEY_1}}`',
  on: ['input', 'output'],
  span: SECRETS_SPAN,
  transforms: ({ redact }) => redact,
  tells: ['found', 'where', 'redacted'],
  effort: perCharacter(0.2),
  parameters: () =>
    z.strictObject({
      categories: z
        .array(z.enum(SECRET_CATEGORIES, { error: `give some of ${SECRET_CATEGORIES.join(', ')}` }), {
          error: 'give a list',
        })
        .min(1, 'give at least one')
        .default(SECRET_CATEGORIES),
      redact: z.boolean({ error: 'give true or false' }).default(false),
    }),
  run: (facts, { categories, redact }) => {
    // Ids and addresses are made by chance, too.
    const ofNames = categories.filter((category) => category !== 'HIGH_ENTROPY');
    return judgeFindings(facts, redact, (text, kind) => findSecrets(text, kind === 'name' ? ofNames : categories));
  },
});
