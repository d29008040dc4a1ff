import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { not } from './parameters/operator.ts';
import { sayingsOf } from './text/turns.ts';

export const notNull = check({
  id: 'default.notNull',
  passes: 'the answer says something other than white space; an answer that calls tools passes as it is',
  on: ['input', 'output'],
  span: 'whole',
  tells: ['explanation'],
  effort: perCharacter(0.01),
  parameters: () => z.strictObject({ not: not() }),
  run: (facts, { not }) => {
    if (facts.texts.some(({ kind }) => kind === 'tool_call'))
      return { verdict: true, data: { not, explanation: 'It calls tools, so it needs no text.' } };
    const said = sayingsOf(facts);
    const isSaid = said.length > 0 && said.every((text) => text.trim() !== '');
    return { verdict: isSaid !== not, data: { not, explanation: isSaid ? 'There is text.' : 'There is no text.' } };
  },
});
