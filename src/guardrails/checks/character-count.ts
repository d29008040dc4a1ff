import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { bound, counted, inOrder } from './parameters/bounds.ts';
import { not } from './parameters/operator.ts';
import { saidIn } from './text/turns.ts';

export const characterCount = check({
  id: 'default.characterCount',
  passes: 'the texts have between `minCharacters` and `maxCharacters` characters (Unicode code points) together',
  on: ['input', 'output'],
  span: 'whole',
  tells: ['characterCount', 'minCharacters', 'maxCharacters', 'not', 'verdict', 'explanation'],
  effort: perCharacter(0.05),
  parameters: () =>
    z
      .strictObject({ minCharacters: bound(0), maxCharacters: bound(9_999_999), not: not() })
      .refine(...inOrder('minCharacters', 'maxCharacters')),
  run: ({ texts }, { minCharacters, maxCharacters, not }) => {
    const count = saidIn(texts).reduce((sum, { text }) => sum + charactersIn(text), 0);
    const { verdict, explanation } = counted(count, { min: minCharacters, max: maxCharacters, not });
    return { verdict, data: { characterCount: count, minCharacters, maxCharacters, not, verdict, explanation } };
  },
});

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/g;

function charactersIn(text: string): number {
  let pairs = 0;
  PAIR.lastIndex = 0;
  while (PAIR.test(text)) pairs++;
  return text.length - pairs;
}
