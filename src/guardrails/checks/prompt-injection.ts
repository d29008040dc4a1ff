import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { injectionSignals } from './detect/injection.ts';

export const promptInjection = check({
  id: 'default.promptInjection',
  passes:
    'no text of `roles` reaches `threshold` by its signs of an attempt to command the model: overriding its instructions, false turns, roles without rules, extraction of the system prompt, text hidden from people. Signs weigh 0.3 to 1. A heuristic: it stops what is known, not what is new',
  on: ['input', 'output'],
  span: 'whole',
  tells: ['where'],
  effort: perCharacter(0.2),
  parameters: () =>
    z.strictObject({
      threshold: z.number({ error: 'give a number' }).min(0.3, 'give at least 0.3').max(3, 'give at most 3').default(1),
      roles: z
        .array(z.enum(['system', 'developer', 'user', 'assistant', 'tool']), { error: 'give a list of roles' })
        .min(1, 'give at least one')
        .default(['user', 'assistant', 'tool']),
    }),
  run: ({ texts }, { threshold, roles }) => {
    const isJudged = (role: string) => (roles as readonly string[]).includes(role) || !KNOWN_ROLES.has(role);
    const judged = texts
      .filter(({ role }) => isJudged(role))
      .map(({ text, where }) => {
        const signals = injectionSignals(text);
        return {
          where,
          score: rounded(signals.reduce((sum, { weight }) => sum + weight, 0)),
          signals: signals.map(({ name }) => name),
        };
      });
    const faults = judged.filter(({ score }) => score >= threshold);
    const score = judged.reduce((most, each) => Math.max(most, each.score), 0);
    return {
      verdict: faults.length === 0,
      data: { threshold, score, faults: faults.slice(0, 20), where: faults.slice(0, 20).map(({ where }) => where) },
    };
  },
});

/** An unknown role is judged: it may stand for any of these. */
const KNOWN_ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

const rounded = (score: number): number => Math.round(score * 10) / 10;
