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

/**
 * A cache that no change empties keeps a revoked key working, a map that no code bounds fills the memory, and a schema that
 * is made for each value takes longer to make than to use.
 */
const BY_HAND = {
  'listens to changes': /\bchanges\.subscribe\(/,
  'bounds a map': /\.keys\(\)\.next\(\)|\bof \w+\.keys\(\)\) \{\s*if \(|\.size >=? [\w.]+\)\s+[\w.#]+\.clear\(\)/,
  'makes a schema for each value':
    /\w\(\)\s*\.(?:safeP|p)arse\(|\b(?:checked|readQuery|readJson)\((?:[\w.]+, )?\w+\(\)/,
} as const;
/** Files that do it by themselves, and why. All others use `cachedBy`, `BoundedMap` and `schemaOf`. */
const MAY: Readonly<Record<string, string>> = {
  'src/storage/cached-by.ts': 'it is the cache of what is stored',
  'src/mcp/aggregate/lists.ts': 'keeps what MCP servers say, not what is stored',
  'src/mcp/aggregate/streams.ts': 'tells clients that servers came or went',
  'src/mcp/mcp.ts': 'ends programs of servers that are gone',
  'src/audit/area.ts': 'seals what a command has recorded',
  'src/mcp/relay/open-streams.ts': 'cuts streams',
  'src/start.ts': 'takes over a list of prices that another node has synced',
  'src/http/headers.ts': 'names of headers, several looks for each: thrown away whole',
  'src/http/client/head.ts': 'the same',
  'src/core/json-bytes.ts': 'names of members, the same',
  'src/limits/journal/ledger.ts': 'a file, not a map',
  'src/limits/policies/entities.ts': 'a set of a hundred thousand ids, without an order',
};

/** What of that a text does by hand. */
export const byHand = (text: string): string[] =>
  Object.entries(BY_HAND).flatMap(([what, pattern]) => (pattern.test(text) ? [what] : []));

test('what is stored is cached by cachedBy, what is bounded is a BoundedMap, and schemas are kept by schemaOf', () => {
  const found = sources.filter((file) => byHand(read(file)).length > 0);

  expect(found.sort()).toEqual(Object.keys(MAY).sort());
});

test('a cache, a bound or a schema that is made by hand is seen', () => {
  expect(byHand("  changes.subscribe('keys', () => cache.clear());")).toEqual(['listens to changes']);
  for (const line of [
    'if (known.size >= MOST) known.delete(known.keys().next().value!);',
    'for (const oldest of kept.keys()) {\n  if (bytes <= MOST) break;',
    'if (this.#names.size > 1_000) this.#names.clear();',
  ])
    expect(byHand(line)).toEqual(['bounds a map']);
  for (const line of [
    'const { data } = reply().safeParse(value);',
    "checked(storage(), value, 'body')",
    'readQuery(search, page())',
  ])
    expect(byHand(line)).toEqual(['makes a schema for each value']);
  expect(
    byHand(
      "const cache = cachedBy(changes, ['keys'], load, { most: 10, now });\nfor (const key of map.keys()) schemaOf(reply).parse(key);",
    ),
  ).toEqual([]);
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
