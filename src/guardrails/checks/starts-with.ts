import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { not } from './parameters/operator.ts';
import { formOf } from './text/turns.ts';

export const startsWith = check({
  id: 'default.startsWith',
  passes: 'the last message of a request, or every choice of an answer, begins with `prefix`',
  on: ['input', 'output'],
  span: 'whole',
  effort: perCharacter(0.01),
  parameters: () => z.strictObject({ prefix: z.string().min(1, 'must not be empty').max(4_096), not: not() }),
  run: (facts, { prefix, not }) => {
    const said = formOf(facts);
    const does = said.length > 0 && said.every((text) => text.startsWith(prefix));
    return { verdict: does !== not, data: { prefix, not } };
  },
});
