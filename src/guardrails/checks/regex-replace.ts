import type { RE2JS } from 're2js';
import * as z from 'zod';
import { isWithinReach, STEP } from '../../core/patterns.ts';
import { check, errored } from '../check.ts';
import { longestMatch, patternWithFlags } from './parameters/pattern.ts';

/** One look is linear, but a pattern may look through the rest of the text for each of very many hits. */
const MOST_MS = 1_000;

export const regexReplace = check({
  id: 'default.regexReplace',
  passes:
    'always, after every hit of `rule` (also `/rule/flags`) in every text became `redactText`; with `failOnDetection`, when there was none',
  on: ['input', 'output'],
  span: ({ rule }) => longestMatch(rule),
  transforms: true,
  tells: ['where'],
  effort: replaceEffort,
  parameters: () =>
    z.strictObject({
      rule: patternWithFlags(),
      redactText: z.string().max(1_000).default('[REDACTED]'),
      failOnDetection: z.boolean({ error: 'give true or false' }).default(false),
    }),
  run: ({ texts }, { rule, redactText, failOnDetection }, { now }) => {
    const deadline = now() + MOST_MS;
    const changed: { part: number; text: string }[] = [];
    for (const [part, { text }] of texts.entries()) {
      if (!isWithinReach(rule, text)) return errored('a text is too long for this rule');
      if (!rule.test(text)) continue;
      const replaced = replaceHits(rule, text, redactText, () => now() > deadline);
      if (replaced === null) return errored(`the rule took more than ${MOST_MS} ms`);
      if (replaced !== text) changed.push({ part, text: replaced });
    }
    return {
      verdict: !failOnDetection || changed.length === 0,
      data: { rule: rule.pattern(), failOnDetection, where: changed.map(({ part }) => texts[part]!.where) },
      ...(changed.length > 0 && { transformed: { texts: changed } }),
    };
  },
});

/** Each of very many hits may be one look through the rest of the text, unless the pattern has an end. */
function replaceEffort({ rule }: { readonly rule: RE2JS }, characters: number): number {
  const span = longestMatch(rule);
  return characters * rule.programSize() * STEP * (span === 'whole' ? characters : Math.min(span, characters));
}

/** Null when it took too long. A hit of nothing is none. */
function replaceHits(rule: RE2JS, text: string, replacement: string, isLate: () => boolean): string | null {
  const matcher = rule.matcher(text);
  let result = '';
  let at = 0;
  while (matcher.find()) {
    if (isLate()) return null;
    if (matcher.end() === matcher.start()) continue;
    result += text.slice(at, matcher.start()) + replacement;
    at = matcher.end();
  }
  return result + text.slice(at);
}
