import * as z from 'zod';
import { check } from '../check.ts';
import { holds, operator, texts } from './parameters/operator.ts';

export const contains = check({
  id: 'default.contains',
  passes: '`any` or `all` of the words occur in the texts, as parts of words, too; with `none`, when no word does',
  on: ['input', 'output'],
  span: ({ operator, words }) => (operator === 'none' ? Math.max(...words.map(({ length }) => length)) : 'whole'),
  tells: ['where'],
  effort: ({ words }, characters) => characters * (0.01 + words.length * 0.002),
  parameters: () =>
    z.strictObject({
      words: texts(),
      operator: operator().default('any'),
      caseSensitive: z.boolean({ error: 'give true or false' }).default(true),
    }),
  run: (facts, { words, operator, caseSensitive }) => {
    const cased = (text: string) => (caseSensitive ? text : text.toLowerCase());
    const said = facts.texts.map(({ text }) => cased(text));
    const found = words.filter((word) => said.some((text) => text.includes(cased(word))));
    const first = said.findIndex((text) => found.some((word) => text.includes(cased(word))));
    return {
      verdict: holds(operator, found.length, words.length),
      data: {
        operator,
        found,
        missing: words.filter((word) => !found.includes(word)),
        where: operator === 'none' ? (facts.texts[first]?.where ?? null) : null,
      },
    };
  },
});
