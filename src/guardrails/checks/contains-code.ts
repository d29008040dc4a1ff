import * as z from 'zod';
import { check, perCharacter } from '../check.ts';
import { not } from './parameters/operator.ts';

/** The languages a guardrail can ask for, each with the tags that fences of it carry. */
const TAGS = {
  SQL: ['sql', 'mysql', 'postgresql', 'pgsql', 'plsql', 'tsql', 'sqlite'],
  Python: ['python', 'py', 'python3', 'py3'],
  TypeScript: ['typescript', 'ts', 'tsx'],
  JavaScript: ['javascript', 'js', 'jsx', 'mjs', 'cjs', 'node'],
  Java: ['java'],
  'C#': ['c#', 'cs', 'csharp'],
  'C++': ['c++', 'cpp', 'cxx', 'hpp'],
  C: ['c', 'h'],
  Ruby: ['ruby', 'rb'],
  PHP: ['php'],
  Swift: ['swift'],
  Kotlin: ['kotlin', 'kt', 'kts'],
  Go: ['go', 'golang'],
  Rust: ['rust', 'rs'],
  Scala: ['scala'],
  R: ['r'],
  Perl: ['perl', 'pl'],
  Shell: ['shell', 'sh', 'bash', 'zsh', 'shellscript', 'shell-session', 'console', 'powershell', 'ps1'],
  HTML: ['html', 'htm', 'xhtml'],
  CSS: ['css', 'scss', 'less'],
  XML: ['xml', 'svg', 'xsd', 'xslt'],
  JSON: ['json', 'json5', 'jsonc', 'jsonl'],
  YAML: ['yaml', 'yml'],
  Markdown: ['markdown', 'md', 'mdx'],
  Dockerfile: ['dockerfile', 'docker'],
} as const;

type Language = keyof typeof TAGS;
const LANGUAGES = Object.keys(TAGS) as [Language, ...Language[]];
const BY_TAG = new Map(
  LANGUAGES.flatMap((language) => TAGS[language].map((tag): [string, Language] => [tag, language])),
);

export const containsCode = check({
  id: 'default.containsCode',
  passes: 'some text has a fenced block with a tag of `format`',
  on: ['input', 'output'],
  span: 'whole',
  tells: ['found'],
  effort: perCharacter(0.05),
  parameters: () =>
    z.strictObject({
      format: z.enum(LANGUAGES, { error: `give one of ${LANGUAGES.join(', ')}` }),
      not: not(),
    }),
  run: ({ texts }, { format, not }) => {
    const found = new Set(texts.flatMap(({ text }) => languagesIn(text)));
    return { verdict: found.has(format) !== not, data: { format, not, found: [...found] } };
  },
});

const FENCE = /^[ \t>]{0,20}(?:`{3,}|~{3,})[ \t]*([^\s`~{]{0,40})/gm;

/** Fences open and close in turns, so every other one has the tag. */
function languagesIn(text: string): Language[] {
  const found: Language[] = [];
  let isOpen = false;
  for (const [, tag] of text.matchAll(FENCE)) {
    isOpen = !isOpen || tag !== '';
    const language = isOpen && BY_TAG.get(tag!.toLowerCase());
    if (language) found.push(language);
  }
  return found;
}
