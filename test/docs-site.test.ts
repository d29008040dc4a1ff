import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import { apiPages, plainText } from '../docs/site/api-pages.ts';
import { deadLinks, escaped, groupsOf, llmsText, type Page, readPages } from '../docs/site/pages.ts';

const root = join(import.meta.dir, '..');
const pages = readPages({ root, repository: null });
const paths = new Set(pages.map(({ path }) => path));

test('every page of docs/ is in the site, in one group, with a title and a sentence about it', () => {
  const grouped = groupsOf(pages).flatMap(([, each]) => each.map(({ source }) => source));
  expect(new Set(grouped).size).toBe(grouped.length);
  for (const page of new Glob('docs/*.md').scanSync(root)) expect(grouped).toContain(page);
  for (const { source, title, about } of pages) expect([source, title, about]).not.toContain('');
});

test('no link of a page leads nowhere, and none leads out of the site', () => {
  expect(pages.flatMap((page) => deadLinks(page, paths, root))).toEqual([]);
  for (const { text } of pages) expect(text).not.toMatch(/\]\([^)]*README\.md/);
  const broken: Page = { source: 'docs/x.md', path: 'docs/x.md', title: 'x', about: '', text: '[a](./nowhere.md)' };
  expect(deadLinks(broken, paths, root)).toEqual(['docs/x.md: ./nowhere.md']);
});

test('llms.txt names every page by an address that the site has', () => {
  const text = llmsText(pages, '/docs-of-gateway/');
  expect(text).toStartWith('# Gateway\n\n> ');
  const named = [...text.matchAll(/^- \[.+?\]\(\/docs-of-gateway\/(\S+?)\)/gm)].map(([, path]) => path!);
  expect(named.toSorted()).toEqual([...paths].toSorted());
});

test('a link to a source goes to the repository where it is known, and is text where it is not', () => {
  const architecture = (all: readonly Page[]) => all.find(({ source }) => source === 'ARCHITECTURE.md')!.text;
  expect(architecture(pages)).not.toContain('](src/');
  const linked = architecture(readPages({ root, repository: 'https://code.example.com/main' }));
  expect(linked).toContain('](https://code.example.com/main/src/');
});

test('what a template would take for its own is text, and code stays as it is', () => {
  const text = 'A <id> and {{ x }}, `<b> {{ y }}`, `over\n<lines>`.\n\n```sh\ncat <file> {{ z }}\n```\n';
  expect(escaped(text)).toBe(
    'A &lt;id> and &#123;&#123; x }}, `<b> {{ y }}`, `over <lines>`.\n\n```sh\ncat <file> {{ z }}\n```\n',
  );
});

test('the reference of the API names each route with its scopes and fields', () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string', description: 'What <it> is.' } },
    required: ['name'],
  };
  const operation = {
    ...{ summary: 'Make one', tags: ['things'], 'x-scopes': ['things.create'], parameters: [] },
    requestBody: { content: { 'application/json': { schema } } },
    responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } } },
  };
  const made = apiPages({ paths: { '/v1/things': { post: operation } }, components: { schemas: { Thing: schema } } });
  expect(made.map(({ path }) => path)).toEqual(['api/index.md', 'api/things.md', 'api/objects.md']);
  const text = plainText(made[1]!.text);
  expect(text).toContain('## POST `/v1/things`');
  expect(text).toContain('Scopes: `things.create`');
  expect(text).toContain('| `name`, required | `string` | What &lt;it> is. |');
  expect(text).toContain('[Thing](./objects.md#thing)');
});

test('the generator is fixed by a lock without addresses, and is no dependency of the gateway', () => {
  const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
  const { packages } = read('docs/site/package-lock.json') as { packages: Record<string, { resolved?: string }> };
  expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
  const { dependencies, devDependencies } = read('package.json');
  expect({ ...dependencies, ...devDependencies }).not.toHaveProperty('vitepress');
});
