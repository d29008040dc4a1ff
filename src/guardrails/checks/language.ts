import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { foundAs, LANGUAGES, loadLanguages } from './detect/language.ts';
import { not } from './parameters/operator.ts';

const error = `give some of ${LANGUAGES.join(', ')}`;
const one = () => z.enum(LANGUAGES as [string, ...string[]], { error });

export const language = check({
  id: 'default.language',
  passes:
    'each text of `roles` is in one of the languages (ISO 639-1), by its script and its groups of letters, as most of it is; with `not`, when none is. What says too little to tell passes where its script fits; with `strict`, not',
  on: ['input', 'output'],
  span: 'whole',
  tells: ['judged', 'faults'],
  effort: perCharacter(1),
  load: loadLanguages,
  parameters: () =>
    z.strictObject({
      language: z
        .union([one(), z.array(one()).min(1, 'give at least one')], { error })
        .transform((given) => [given].flat().map(foundAs)),
      roles: z
        .array(z.enum(['system', 'developer', 'user', 'assistant', 'tool']), { error: 'give a list of roles' })
        .min(1, 'give at least one')
        .default(['user', 'assistant']),
      strict: z.boolean({ error: 'give true or false' }).default(false),
      not: not(),
    }),
  run: async ({ texts }, { language: wanted, roles, strict, not }) => {
    const detectLanguage = await loadLanguages();
    const judged = texts
      .filter(({ role, kind }) => kind === 'text' && (roles as readonly string[]).includes(role))
      .map(({ text, where }) => ({ where, ...detectLanguage(text) }))
      .filter(({ possible }) => possible.length > 0);
    const faults = judged.filter(({ language, possible }) => {
      if (language !== null) return wanted.includes(language) === not;
      return strict || (!not && !possible.some((each) => wanted.includes(each)));
    });
    const shown = faults.slice(0, 20).map(({ where, language }) => ({ where, language }));
    return { verdict: faults.length === 0, data: { wanted, not, judged: judged.length, faults: shown } };
  },
});
