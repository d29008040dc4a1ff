import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { Glob } from 'bun';

const root = join(import.meta.dir, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const isTest = (file: string) => file.endsWith('.test.ts') || file.includes('/fixtures/');
const sources = [...new Glob('src/**/*.ts').scanSync(root)].filter((file) => !isTest(file) && !file.endsWith('.d.ts'));

const IMPORT = /(?:from\s+|import\s+|import\(\s*|new URL\(\s*)'(\.[^']+\.ts)'/g;

/** The programs that `bin/build` makes: the gateway and the workers of its threads. */
function entries(): string[] {
  const [, list = ''] = /^entries="([^"]+)"/m.exec(read('bin/build')) ?? [];
  return list.split(/\s+/).filter(Boolean);
}

function reachable(): Set<string> {
  const seen = new Set<string>();
  const open = entries();
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (seen.has(file) || !existsSync(join(root, file))) continue;
    seen.add(file);
    for (const [, target] of read(file).matchAll(IMPORT)) open.push(normalize(join(dirname(file), target!)));
  }
  return seen;
}

/** Framing that no call uses today: Gemini is always asked for server-sent events. Its recorded streams are read by it. */
const UNUSED = ['src/dialects/json-array.ts'];

test('src holds the program and its tests; what only tests use is in test/', () => {
  expect(entries()).toContain('src/main.ts');
  const used = reachable();

  expect(sources.filter((file) => !used.has(file) && !UNUSED.includes(file))).toEqual([]);
});

/** From so many lines on, a folder of src has a README; it is a page at most. */
const DOOR_FROM = 1_500;
const PAGE = 80;

const folders = [...new Set(sources.map((file) => file.split('/')[1]!))].filter((name) => !name.endsWith('.ts'));
const linesOf = (text: string): number => text.split('\n').length - 1;
const sizeOf = (folder: string): number =>
  sources
    .filter((file) => file.startsWith(`src/${folder}/`))
    .map((file) => linesOf(read(file)))
    .reduce((sum, lines) => sum + lines, 0);

/** Names of files in a README for which no file of its folder, of src or of the project is found. */
export function missingFiles(folder: string, readme: string): string[] {
  const named = [...readme.matchAll(/[\w.*/-]+\.ts\b/g)].map(([name]) => name.replace(/^src\//, ''));
  const exists = (name: string) =>
    [`src/${folder}/**/${name}`, `src/${name}`, name].some((pattern) => !new Glob(pattern).scanSync(root).next().done);
  return named.filter((name) => !exists(name));
}

for (const folder of folders) {
  if (sizeOf(folder) <= DOOR_FROM) continue;
  test(`src/${folder} has a README of a page, and the files it names are there`, () => {
    expect(existsSync(join(root, 'src', folder, 'README.md'))).toBe(true);
    const readme = read(`src/${folder}/README.md`);

    expect(linesOf(readme)).toBeLessThanOrEqual(PAGE);
    expect(missingFiles(folder, readme)).toEqual([]);
  });
}

test('a README that names a file which is not there is seen', () => {
  expect(missingFiles('core', 'errors.ts, errors/mcp.ts, `src/app.ts`, http/route.ts, nowhere.ts')).toEqual([
    'nowhere.ts',
  ]);
});

/** A reader has to guess who is meant. CONTRIBUTING.md shows what to write instead. */
const VAGUE = /\b(?:whoever|nobody|somebody|anybody)\b/i;
const COMMENT = /^\s*(?:\/\/|\/?\*)|\s\/\/ /;

/** The lines of comments that use such a word. */
export const vagueLines = (text: string): number[] =>
  text.split('\n').flatMap((line, index) => (COMMENT.test(line) && VAGUE.test(line) ? [index + 1] : []));

test('comments name who acts: client, caller, user, operator, provider, node', () => {
  const found = sources.flatMap((file) => vagueLines(read(file)).map((line) => `${file}:${line}`));

  expect(found).toEqual([]);
});

test('a comment that does not name who acts is seen, and a name in code is not', () => {
  expect(
    vagueLines("const nobody = 1;\n/** Nobody waits. */\n  // for whoever asks\n * somebody else's\nf('anybody');"),
  ).toEqual([2, 3, 4]);
});
