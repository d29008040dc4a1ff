import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { bound, counted, inOrder } from './parameters/bounds.ts';
import { not } from './parameters/operator.ts';
import { saidIn } from './text/turns.ts';

export const wordCount = check({
  id: 'default.wordCount',
  passes: 'the texts have between `minWords` and `maxWords` words together; words are parted by white space',
  on: ['input', 'output'],
  span: 'whole',
  tells: ['wordCount', 'minWords', 'maxWords', 'not', 'verdict', 'explanation'],
  effort: perCharacter(0.05),
  parameters: () =>
    z
      .strictObject({ minWords: bound(0), maxWords: bound(99_999), not: not() })
      .refine(...inOrder('minWords', 'maxWords')),
  run: ({ texts }, { minWords, maxWords, not }) => {
    const count = saidIn(texts).reduce((sum, { text }) => sum + wordsIn(text), 0);
    const { verdict, explanation } = counted(count, { min: minWords, max: maxWords, not });
    return { verdict, data: { wordCount: count, minWords, maxWords, not, verdict, explanation } };
  },
});

const OTHER_SPACE = /\s/;

/** A walk over the characters: on short texts a fraction of what a pattern costs. */
function wordsIn(text: string): number {
  let count = 0;
  let isInWord = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const isSpace = code < 0x80 ? code === 0x20 || (code >= 9 && code <= 13) : OTHER_SPACE.test(text[index]!);
    if (!isSpace && !isInWord) count++;
    isInWord = !isSpace;
  }
  return count;
}
