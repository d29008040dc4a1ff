import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { not } from './parameters/operator.ts';
import { saidIn } from './text/turns.ts';

const UPPER_CASE = /[\p{Lu}\p{Lt}]/u;

export const allLowerCase = check({
  id: 'default.alllowercase',
  aliases: ['default.isAllLowerCase'],
  passes: 'no text has an upper-case letter, of any script',
  on: ['input', 'output'],
  span: ({ not }) => (not ? 'whole' : 2),
  tells: ['where'],
  effort: perCharacter(0.05),
  parameters: () => z.strictObject({ not: not() }),
  run: ({ texts }, { not }) => {
    const found = saidIn(texts).find(({ text }) => UPPER_CASE.test(text));
    return { verdict: (found === undefined) !== not, data: { not, where: found?.where ?? null } };
  },
});
