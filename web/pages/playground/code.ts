/** The call as code, to be taken along. The key comes from the environment. */
export const LANGUAGES = ['curl', 'TypeScript', 'Python'] as const;
export type Language = (typeof LANGUAGES)[number];

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

type Headers = Readonly<Record<string, string>>;

export function codeOf(language: Language, body: Readonly<Record<string, unknown>>, headers: Headers): string {
  const base = `${location.origin}/v1`;
  if (language === 'curl') return curl(base, body, headers);
  return language === 'TypeScript' ? typescript(base, body, headers) : python(base, body, headers);
}

function curl(base: string, body: object, headers: Headers): string {
  return [
    `curl ${base}/chat/completions`,
    '-H "authorization: Bearer $GATEWAY_KEY"',
    '-H "content-type: application/json"',
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    `-d ${quoted(JSON.stringify(body, null, 2))}`,
  ].join(' \\\n  ');
}

const indented = (value: unknown, by: number): string =>
  JSON.stringify(value, null, 2).replaceAll('\n', `\n${' '.repeat(by)}`);

function typescript(base: string, body: Readonly<Record<string, unknown>>, headers: Headers): string {
  const given = Object.keys(headers).length > 0 ? `\n  defaultHeaders: ${indented(headers, 2)},` : '';
  const shown = body.stream
    ? `for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta.content ?? '');`
    : 'console.log(answer.choices[0].message);';
  return `import OpenAI from 'openai';

const openai = new OpenAI({
  baseURL: '${base}',
  apiKey: process.env.GATEWAY_KEY,${given}
});
const answer = await openai.chat.completions.create(${indented(body, 0)});
${shown}
`;
}

/** Python writes some words of JSON otherwise; inside of strings they stay. */
const pythonic = (json: string): string =>
  json.replace(/"(?:[^"\\]|\\.)*"|\b(true|false|null)\b/g, (text, word: string | undefined) =>
    word === 'true' ? 'True' : word === 'false' ? 'False' : word === 'null' ? 'None' : text,
  );

function python(base: string, body: Readonly<Record<string, unknown>>, headers: Headers): string {
  const given = Object.keys(headers).length > 0 ? `\n    default_headers=${indented(headers, 4)},` : '';
  const args = Object.entries(body)
    .map(([name, value]) => `    ${name}=${pythonic(indented(value, 4))},`)
    .join('\n');
  const shown = body.stream
    ? 'for chunk in answer:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="")'
    : 'print(answer.choices[0].message)';
  return `import os
from openai import OpenAI

client = OpenAI(
    base_url="${base}",
    api_key=os.environ["GATEWAY_KEY"],${given}
)
answer = client.chat.completions.create(
${args}
)
${shown}
`;
}
