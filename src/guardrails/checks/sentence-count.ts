import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { bound, counted, inOrder } from './parameters/bounds.ts';
import { not } from './parameters/operator.ts';
import { saidIn } from './text/turns.ts';

export const sentenceCount = check({
  id: 'default.sentenceCount',
  passes:
    'the texts have between `minSentences` and `maxSentences` sentences together; a sentence ends with `.`, `!`, `?` or their kin before white space, or with the text',
  on: ['input', 'output'],
  span: 'whole',
  tells: ['sentenceCount', 'minCount', 'maxCount', 'not', 'verdict', 'explanation'],
  effort: perCharacter(0.1),
  parameters: () =>
    z
      .strictObject({ minSentences: bound(0), maxSentences: bound(99_999), not: not() })
      .refine(...inOrder('minSentences', 'maxSentences')),
  run: ({ texts }, { minSentences, maxSentences, not }) => {
    const count = saidIn(texts).reduce((sum, { text }) => sum + sentencesIn(text), 0);
    const { verdict, explanation } = counted(count, { min: minSentences, max: maxSentences, not });
    const data = { sentenceCount: count, minCount: minSentences, maxCount: maxSentences, not, verdict, explanation };
    return { verdict, data };
  },
});

/** Stops of scripts without spaces end a sentence wherever they stand; Latin ones also occur within numbers and names. */
const END = /[.!?]["'”’)\]]*(?=\s|$)|[。！？।؟]/g;
const SAYS_SOMETHING = /[\p{L}\p{N}]/u;

function sentencesIn(text: string): number {
  return text.split(END).filter((part) => SAYS_SOMETHING.test(part)).length;
}
