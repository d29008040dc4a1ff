import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { Glob } from 'bun';
import { description } from '../docs/generate.ts';
import { apiPages, plainText } from '../docs/site/api-pages.ts';
import { escaped, groupsOf, llmsText, readPages } from '../docs/site/pages.ts';

/**
 * `npm run docs:site` makes the pages of the docs, of the API and of the decisions into a site in `dist/site`, with a search
 * that needs no server, `llms.txt`, every page as Markdown beside itself, and no link that leads nowhere. The generator,
 * VitePress, is installed aside from `docs/site/package-lock.json`.
 *
 *     DOCS_BASE=/gateway/ DOCS_REPOSITORY=https://code.example.com/gateway/blob/main npm run docs:site
 */

const root = join(import.meta.dir, '..');
const work = join(root, 'dist/site-work');
const out = join(root, 'dist/site');
const base = `/${(process.env.DOCS_BASE ?? '/').replace(/^\/+|\/+$/g, '')}/`.replace('//', '/');
const repository = process.env.DOCS_REPOSITORY?.replace(/\/+$/, '') || null;

function put(path: string, text: string) {
  mkdirSync(dirname(join(work, path)), { recursive: true });
  writeFileSync(join(work, path), text);
}

async function run(command: readonly string[], cwd: string): Promise<void> {
  const child = Bun.spawn([...command], { cwd, stdout: 'pipe', stderr: 'pipe' });
  const [output, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${output}${errors}`);
}

const route = (path: string): string =>
  `/${path.replace(/(?:^|\/)index\.md$/, '/').replace(/\.md$/, '')}`.replace('//', '/');

/** The headings' anchors are those of the repository, so that links hold in both. */
const configText = (config: object): string => `export default {
  ...${JSON.stringify(config, null, 2)},
  markdown: {
    anchor: {
      slugify: (text) => text.toLowerCase().replace(/[^\\p{L}\\p{N}\\s_-]/gu, '').trim().replaceAll(' ', '-'),
    },
  },
};
`;

/** Links and anchors of the site as it was made. */
async function brokenIn(folder: string): Promise<string[]> {
  const files = [...new Glob('**/*.html').scanSync(folder)];
  const ids = new Map<string, Set<string>>();
  const links: { from: string; to: string }[] = [];
  for (const file of files) {
    const text = readFileSync(join(folder, file), 'utf8');
    ids.set(file, new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id!)));
    for (const [, to] of text.matchAll(/<a\s[^>]*href="([^"]+)"/g)) links.push({ from: file, to: to! });
  }
  return links.flatMap(({ from, to }) => {
    if (/^(?:[a-z]+:|\/\/)/i.test(to)) return [];
    const [path = '', anchor] = to.replaceAll('&amp;', '&').split('#');
    const inside = path.startsWith(base)
      ? path.slice(base.length)
      : path === ''
        ? from
        : normalize(join(dirname(from), path));
    const file = [inside, `${inside}.html`, join(inside, 'index.html')].find(
      (each) => existsSync(join(folder, each)) && /\.\w+$/.test(each),
    );
    if (!file) return [`${from}: ${to}`];
    const isThere = !anchor || !ids.has(file) || ids.get(file)!.has(decodeURIComponent(anchor));
    return isThere ? [] : [`${from}: ${to}`];
  });
}

rmSync(work, { recursive: true, force: true });
const pages = readPages({ root, repository });
const api = apiPages(await description());
for (const page of [...pages, ...api]) {
  put(page.path, 'source' in page ? escaped(page.text) : page.text);
  // The same as plain text, for programs that read.
  put(join('public', page.path), plainText(page.text));
}
put('public/openapi.json', JSON.stringify(await description()));
put(
  'public/llms.txt',
  `${llmsText(pages, base)}\n## API\n\n${api.map(({ path, title }) => `- [${title}](${base}${path})`).join('\n')}\n`,
);
put('public/llms-full.txt', pages.map((page) => page.text).join('\n\n'));
cpSync(join(root, 'docs/images'), join(work, 'docs/images'), { recursive: true });
const sidebar = [
  ...groupsOf(pages).map(([name, each]) => ({
    text: name,
    items: each.map(({ title, path }) => ({ text: title, link: route(path) })),
  })),
  { text: 'API', collapsed: true, items: api.map(({ path, title }) => ({ text: title, link: route(path) })) },
];
put(
  '.vitepress/config.mjs',
  configText({
    title: 'Gateway',
    description: pages[0]!.about,
    base,
    outDir: out,
    srcExclude: ['public/**', 'node_modules/**'],
    cleanUrls: false,
    lastUpdated: false,
    themeConfig: { search: { provider: 'local' }, sidebar, outline: [2, 3], docFooter: { prev: false, next: false } },
  }),
);
for (const file of ['package.json', 'package-lock.json']) cpSync(join(root, 'docs/site', file), join(work, file));
cpSync(join(root, '.npmrc'), join(work, '.npmrc'));
await run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], work);
rmSync(out, { recursive: true, force: true });
await run(['node', 'node_modules/vitepress/bin/vitepress.js', 'build', '.'], work);
const broken = [...new Set(await brokenIn(out))];
for (const link of broken) console.error(`leads nowhere: ${link}`);
console.log(`${pages.length + api.length} pages in ${out}`);
process.exit(broken.length === 0 ? 0 : 1);
