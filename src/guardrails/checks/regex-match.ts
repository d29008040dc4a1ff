import * as z from 'zod';
import { isWithinReach, STEP } from '../../core/patterns.ts';
import { check, errored } from '../check.ts';
import { not } from './parameters/operator.ts';
import { longestMatch, pattern } from './parameters/pattern.ts';

export const regexMatch = check({
  id: 'default.regexMatch',
  passes: 'some text matches `rule`, a pattern of the RE2 kind; with `not`, when none does',
  on: ['input', 'output'],
  // That something is missing shows at the end only; that something is there, as soon as it is.
  span: ({ rule, not }) => (not ? longestMatch(rule) : 'whole'),
  tells: ['where'],
  effort: ({ rule }, characters) => characters * rule.programSize() * STEP,
  parameters: () => z.strictObject({ rule: pattern(), not: not() }),
  run: ({ texts }, { rule, not }) => {
    if (texts.some(({ text }) => !isWithinReach(rule, text))) return errored('a text is too long for this rule');
    const found = texts.find(({ text }) => rule.test(text));
    return { verdict: (found !== undefined) !== not, data: { rule: rule.pattern(), not, where: found?.where ?? null } };
  },
});
