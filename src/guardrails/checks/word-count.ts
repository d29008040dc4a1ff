import { z } from 'zod';
import { check } from '../check.ts';
import { bound, counted, inOrder } from './parameters/bounds.ts';
import { not } from './parameters/operator.ts';

export const wordCount = check({
  id: 'default.wordCount',
  passes: 'the texts have between `minWords` and `maxWords` words together; words are parted by white space',
  on: ['input', 'output'],
  span: 'whole',
  parameters: z
    .strictObject({ minWords: bound(0), maxWords: bound(99_999), not })
    .refine(...inOrder('minWords', 'maxWords')),
  run: ({ texts }, { minWords, maxWords, not }) => {
    const count = texts.reduce((sum, { text }) => sum + wordsIn(text), 0);
    const { verdict, explanation } = counted(count, { min: minWords, max: maxWords, not });
    return { verdict, data: { wordCount: count, minWords, maxWords, not, verdict, explanation } };
  },
});

const WORD = /\S+/g;

function wordsIn(text: string): number {
  let count = 0;
  WORD.lastIndex = 0;
  while (WORD.test(text)) count++;
  return count;
}
