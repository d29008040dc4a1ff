import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { Glob } from 'bun';

/** Which pages the site has, and what becomes of their text there. */

export interface Page {
  /** In the repository: `docs/keys.md`. */
  readonly source: string;
  /** In the site: `docs/keys.md`; what is called README there is the index of its folder. */
  readonly path: string;
  readonly title: string;
  /** Its first paragraph, for lists of pages. */
  readonly about: string;
  readonly text: string;
}

/** The order in which people look for things. A page of docs/ that no group names comes at the end. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  Start: ['README.md', 'docs/calling-models.md', 'docs/clients.md', 'docs/coding-agents.md', 'docs/console.md'],
  Models: ['docs/providers.md', 'docs/routing.md', 'docs/guardrails.md', 'docs/limits.md', 'docs/policies.md'],
  'What the API keeps': [
    ...['docs/files.md', 'docs/assistants.md', 'docs/vector-stores.md', 'docs/sync.md', 'docs/file-search.md'],
    ...['docs/code-interpreter.md', 'docs/batches.md', 'docs/fine-tuning.md', 'docs/webhooks.md'],
  ],
  Tools: ['docs/mcp.md'],
  'People and keys': ['docs/keys.md', 'docs/users.md', 'docs/audit.md', 'docs/security.md', 'SECURITY.md'],
  Watching: ['docs/logs.md', 'docs/analytics.md', 'docs/metrics.md', 'docs/tracing.md', 'docs/alerts.md'],
  Operating: [
    ...['docs/operating.md', 'docs/configuration.md', 'docs/kubernetes.md', 'docs/apply.md', 'docs/apply-http.md'],
    ...[
      'docs/secret-stores.md',
      'docs/upgrading.md',
      'docs/moving-in.md',
      'bench/README.md',
      'bench/results.md',
      'simulator/README.md',
    ],
  ],
  Reference: ['docs/routes.md', 'docs/errors.md', 'CHANGELOG.md'],
  'The code': ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/decisions/README.md'],
};

/** The groups with their pages, every page of docs/ in one of them. */
export function groupsOf<Any extends Pick<Page, 'source'>>(pages: readonly Any[]): [name: string, pages: Any[]][] {
  const bySource = new Map(pages.map((page) => [page.source, page]));
  const named = new Set(Object.values(GROUPS).flat());
  const rest = pages.filter(({ source }) => /^docs\/[^/]+$/.test(source) && !named.has(source));
  const groups = Object.entries(GROUPS).map(([name, sources]): [string, Any[]] => [
    name,
    sources.map((source) => bySource.get(source)!),
  ]);
  return rest.length === 0 ? groups : [...groups, ['More', rest]];
}

const FENCE = /^( *)(```|~~~)[\s\S]*?^\1\2.*$/gm;

/** Changes what stands outside of code. */
function outsideCode(text: string, change: (prose: string) => string): string {
  let result = '';
  let from = 0;
  for (const match of text.matchAll(FENCE)) {
    result += change(text.slice(from, match.index)) + match[0];
    from = match.index + match[0].length;
  }
  return result + change(text.slice(from));
}

const pathOf = (source: string): string => source.replace(/(^|\/)README\.md$/, '$1index.md');

const plain = (markdown: string): string =>
  markdown
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replace(/\s+/g, ' ')
    .trim();

function aboutOf(text: string): string {
  const prose = text.replace(FENCE, '').split(/\n{2,}/);
  const first = prose.map((each) => each.trim()).find((each) => each !== '' && !/^(?:[#|<!-]|\d+\.)/.test(each)) ?? '';
  const sentence = /^.*?[.:](?=\s|$)/s.exec(plain(first))?.[0] ?? plain(first);
  return sentence.replace(/:$/, '.');
}

export interface SiteOptions {
  readonly root: string;
  /** Where files lie that are no pages, such as sources: https://code.example.com/gateway/blob/main. Null: no links to them. */
  readonly repository: string | null;
}

export function readPages({ root, repository }: SiteOptions): Page[] {
  const sources = [
    ...new Set([...Object.values(GROUPS).flat(), ...new Glob('docs/**/*.md').scanSync(root), 'bench/analytics.md']),
  ];
  const known = new Set(sources);
  return sources.map((source) => {
    const original = readFileSync(join(root, source), 'utf8');
    const text = outsideCode(original, (prose) => linked(withoutComments(prose), source));
    const title = plain(/^# (.+)$/m.exec(original)?.[1] ?? source);
    return { source, path: pathOf(source), title, about: aboutOf(original), text };
  });

  function linked(prose: string, source: string): string {
    return prose.replace(
      /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g,
      (whole, image: string, words: string, to: string) => {
        if (image || /^(?:[a-z]+:|#)/i.test(to)) return whole;
        const [path = '', anchor] = to.split('#');
        const target = normalize(join(dirname(source), path)).replace(/\/$/, '');
        const page = known.has(target) ? target : known.has(`${target}/README.md`) ? `${target}/README.md` : null;
        if (page === null) return repository === null ? words : `[${words}](${repository}/${target})`;
        const near = relative(dirname(pathOf(source)), pathOf(page));
        return `[${words}](${near.startsWith('.') ? near : `./${near}`}${anchor === undefined ? '' : `#${anchor}`})`;
      },
    );
  }
}

const withoutComments = (prose: string): string => prose.replace(/<!--[\s\S]*?-->\n*/g, '');

/** What the templates of the site would take for an expression or an element. Code in a line is safe, unless a new line begins in it. */
export const escaped = (text: string): string =>
  outsideCode(text, (prose) =>
    prose.replace(/(`+)[\s\S]*?\1|<(?!https?:)|\{\{/g, (found) =>
      found.startsWith('`') ? found.replaceAll('\n', ' ') : found === '<' ? '&lt;' : '&#123;&#123;',
    ),
  );

/** A list of pages for programs that read: https://llmstxt.org. Each is there as plain Markdown. */
export function llmsText(pages: readonly Pick<Page, 'source' | 'path' | 'title' | 'about'>[], base: string): string {
  const start = pages.find(({ source }) => source === 'README.md')!;
  const line = ({ path, title, about }: Pick<Page, 'path' | 'title' | 'about'>) =>
    `- [${title}](${base}${path})${about ? `: ${about}` : ''}`;
  const groups = groupsOf(pages);
  const named = new Set(groups.flatMap(([, each]) => each));
  const sections = groups.map(([name, each]) => `## ${name}\n\n${each.map(line).join('\n')}`);
  const rest = pages.filter((page) => !named.has(page)).map(line);
  return `${[`# ${start.title}`, `> ${start.about}`, ...sections, `## Optional\n\n${rest.join('\n')}`].join('\n\n')}\n`;
}

/** Relative links of a page that lead to no page and no file of the site. */
export function deadLinks({ path, text }: Page, paths: ReadonlySet<string>, root: string): string[] {
  const found: string[] = [];
  outsideCode(text, (prose) => {
    for (const [, to] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(?:[a-z]+:|#)/i.test(to!)) continue;
      const target = normalize(join(dirname(path), to!.split('#')[0]!));
      if (!paths.has(target) && !existsSync(join(root, target))) found.push(`${path}: ${to}`);
    }
    return prose;
  });
  return found;
}
