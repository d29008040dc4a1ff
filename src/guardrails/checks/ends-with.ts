import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { not } from './parameters/operator.ts';
import { formOf } from './text/turns.ts';

export const endsWith = check({
  id: 'default.endsWith',
  passes:
    'the last message of a request, or every choice of an answer, ends with `suffix` or with `suffix` and a full stop',
  on: ['input', 'output'],
  span: 'whole',
  effort: perCharacter(0.01),
  parameters: () => z.strictObject({ suffix: z.string().min(1, 'must not be empty').max(4_096), not: not() }),
  run: (facts, { suffix, not }) => {
    const said = formOf(facts);
    const does = said.length > 0 && said.every((text) => text.endsWith(suffix) || text.endsWith(`${suffix}.`));
    return { verdict: does !== not, data: { suffix, not } };
  },
});
