import { expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import { generatedFiles, generatedTables, withTable } from '../docs/generate.ts';
import { catalogue } from '../src/core/errors.ts';
import { providers } from '../src/providers/registry.ts';
import { variables } from '../src/settings/variables.ts';
import { readSettings } from '../src/settings.ts';

const root = join(import.meta.dir, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** The cells of every table row whose first cell is a name in code. */
const rowsOf = (markdown: string): string[][] =>
  markdown
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));

const plain = (cell: string | undefined) => (cell ?? '').replaceAll('`', '');
const sorted = <Item>(items: Iterable<Item>) => [...items].sort();

test('docs/errors.md names every code of the catalogue with its status, and no other', () => {
  const described = rowsOf(read('docs/errors.md')).map(([code, status]) => `${plain(code)} ${status}`);
  const known = Object.entries(catalogue).map(([code, { status }]) => `${code} ${status}`);

  expect(sorted(described)).toEqual(sorted(known));
});

test('docs/errors.md says of every code when it happens and what to do', () => {
  for (const cells of rowsOf(read('docs/errors.md'))) {
    expect(cells).toHaveLength(4);
    for (const cell of cells) expect(cell).not.toBe('');
  }
});

/** The page without the tables that are written from the source. */
const writtenByHand = (page: string) => read(page).replace(/<!-- ([\w ]+) -->[\s\S]*?<!-- \/\1 -->/g, '');

test('docs/configuration.md names every variable, and no other', () => {
  const described = rowsOf(writtenByHand('docs/configuration.md')).map(([name]) => plain(name));

  expect(sorted(described)).toEqual(sorted(Object.keys(variables)));
});

test('docs/configuration.md shows the defaults that are in force', () => {
  const settings = readSettings({});
  const { timeouts } = settings;
  const inForce: Partial<Record<keyof typeof variables, unknown>> = {
    HOST: settings.host,
    PORT: settings.port,
    GATEWAY_PROCESSES: settings.processes,
    GATEWAY_LOG_BODIES: settings.logBodies,
    GATEWAY_LOG_BODY_BYTES: settings.logBodyBytes,
    GATEWAY_LOG_RETENTION_DAYS: settings.logRetentionDays,
    GATEWAY_ANALYTICS_METADATA_KEYS: settings.analytics.metadataKeys.join(','),
    GATEWAY_ANALYTICS_MINUTES_KEPT_DAYS: settings.analytics.keepDays.minutes,
    GATEWAY_ANALYTICS_HOURS_KEPT_DAYS: settings.analytics.keepDays.hours,
    GATEWAY_ANALYTICS_DAYS_KEPT_DAYS: settings.analytics.keepDays.days,
    GATEWAY_METRICS_CALLERS: settings.metricsCallers,
    GATEWAY_ALERTS_SECONDS: settings.alertsSeconds,
    GATEWAY_MAX_BODY_BYTES: settings.maxBodyBytes,
    GATEWAY_RUN_SECONDS: settings.runSeconds,
    GATEWAY_SHUTDOWN_SECONDS: settings.shutdownSeconds,
    GATEWAY_CONNECT_TIMEOUT_MS: timeouts.connectMs,
    GATEWAY_FIRST_BYTE_TIMEOUT_MS: timeouts.firstByteMs,
    GATEWAY_IDLE_TIMEOUT_MS: timeouts.idleMs,
    GATEWAY_TOTAL_TIMEOUT_MS: timeouts.totalMs,
  };
  const shown = new Map(
    rowsOf(writtenByHand('docs/configuration.md')).map(([name, , fallback]) => [plain(name), plain(fallback)]),
  );

  for (const [name, value] of Object.entries(inForce)) expect(`${name}=${shown.get(name)}`).toBe(`${name}=${value}`);
  expect(settings.dataDir.endsWith(`/${shown.get('GATEWAY_DATA_DIR')}`)).toBe(true);
});

for (const { path, render } of generatedFiles)
  test(`${path} is what the source says (npm run docs writes it)`, async () => {
    expect(read(path)).toBe(await render());
  });

for (const generated of generatedTables) {
  test(`the table of ${generated.name} in ${generated.page} is what the source says (npm run docs writes it)`, async () => {
    const text = read(generated.page);

    expect(text).toBe(await withTable(text, generated));
  });
}

test('the README is short, holds the two commands and counts the providers right', () => {
  const readme = read('README.md');

  expect(readme.trimEnd().split('\n').length).toBeLessThan(100);
  expect(readme).toContain('npm install && npm start');
  expect(readme).toContain('npm install && npm test');
  expect(readme).toContain(`${providers.length} [providers]`);
});

const pages = [...new Glob('**/*.md').scanSync({ cwd: root })].filter(
  (page) => !/(^|\/)(node_modules|\.work|dist)\//.test(page),
);

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = (markdown: string): Set<string> =>
  new Set(
    [...markdown.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );

export function brokenLinks(page: string, markdown: string): string[] {
  const text = markdown.replace(/^```[\s\S]*?^```/gm, '');
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(root, file))) return true;
    return anchor !== undefined && !anchorsOf(path === '' ? markdown : read(file)).has(anchor);
  });
}

test('every relative link leads somewhere', () => {
  expect(pages).toContain('README.md');
  const broken = pages.flatMap((page) => brokenLinks(page, read(page)).map((target) => `${page}: ${target}`));

  expect(broken).toEqual([]);
});

test('a link to a missing file or heading is seen', () => {
  expect(
    brokenLinks('docs/keys.md', '[a](routes.md) [b](nowhere.md) [c](routes.md#lists) [d](routes.md#none)'),
  ).toEqual(['nowhere.md', 'routes.md#none']);
});

test('the lock file holds no download address, so any registry will do', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { resolved?: string }> };

  const addressed = Object.entries(packages).filter(([, { resolved }]) => /^[a-z+]+:/i.test(resolved ?? ''));

  expect(addressed.map(([name]) => name)).toEqual([]);
});

test('every decision is listed, under its title', () => {
  const folder = join(root, 'docs/decisions');
  const list = readFileSync(join(folder, 'README.md'), 'utf8');
  const unlisted = readdirSync(folder)
    .filter((name) => /^\d{4}-/.test(name))
    .filter((name) => {
      const title = readFileSync(join(folder, name), 'utf8').split('\n', 1)[0]!.replace('# ', '');
      return !list.includes(`- [${title}](${name})`);
    });
  expect(unlisted).toEqual([]);
});
