import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { not } from './parameters/operator.ts';
import { saidIn } from './text/turns.ts';

const LOWER_CASE = /\p{Ll}/u;

export const allUpperCase = check({
  id: 'default.alluppercase',
  aliases: ['default.isAllUpperCase'],
  passes: 'no text has a lower-case letter, of any script',
  on: ['input', 'output'],
  span: ({ not }) => (not ? 'whole' : 2),
  tells: ['where'],
  effort: perCharacter(0.05),
  parameters: () => z.strictObject({ not: not() }),
  run: ({ texts }, { not }) => {
    const found = saidIn(texts).find(({ text }) => LOWER_CASE.test(text));
    return { verdict: (found === undefined) !== not, data: { not, where: found?.where ?? null } };
  },
});
