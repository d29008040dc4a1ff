import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { startConsole, type TestConsole } from './browser.ts';

/** Compressed, as gzip: what browsers take over plain http. */
const SIGN_IN_KB = 120;
const PAGE_KB = 300;
const ASSETS = '/console/assets/';

interface Loaded {
  readonly bytes: number;
  readonly text: string;
}

let console: TestConsole;
const loaded = new Map<string, Promise<Loaded>>();
beforeAll(async () => {
  console = await startConsole();
});
afterAll(() => console.stop());

/** A file as it is sent, and what is in it. */
const load = (path: string): Promise<Loaded> => {
  let found = loaded.get(path);
  if (!found) {
    found = fetch(console.gateway.url + path, {
      headers: { 'accept-encoding': 'gzip' },
      decompress: false,
    } as RequestInit).then(async (answer) => {
      const bytes = new Uint8Array(await answer.arrayBuffer());
      expect([path, answer.status]).toEqual([path, 200]);
      return { bytes: bytes.byteLength, text: new TextDecoder().decode(gunzipSync(bytes)) };
    });
    loaded.set(path, found);
  }
  return found;
};

const namesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => ASSETS + name!);
const neededBy = ({ text }: Loaded) => namesIn(text, /(?:\bfrom|\bimport)\s*["']\.\/([\w.-]+\.js)["']/g);
const openedBy = ({ text }: Loaded) => namesIn(text, /\bimport\(["']\.\/([\w.-]+\.js)["']\)/g);

/** These files and all that they cannot do without. */
async function closure(paths: readonly string[], seen = new Set<string>()): Promise<Set<string>> {
  for (const path of paths) {
    if (seen.has(path)) continue;
    seen.add(path);
    await closure(neededBy(await load(path)), seen);
  }
  return seen;
}

const isOf = (name: string) => (path: string) => path.startsWith(`${ASSETS}${name}-`);

/** The files that every visit begins with, and those of which the sign-in page or the shell is one. */
async function firstFiles() {
  const { text } = await load('/console');
  const named = namesIn(text, /(?:src|href)="\/console\/assets\/([^"]+)"/g).filter((path) => !path.endsWith('.svg'));
  const main = named.find((path) => isOf('main')(path) && text.includes(`<script type="module" src="${path}"`))!;
  const opened = openedBy(await load(main));
  const [app, doors] = [opened.find(isOf('app'))!, opened.find(isOf('doors'))!];
  return { first: ['/console', ...named, ...opened.filter((path) => path !== app && path !== doors)], app, doors };
}

async function kilobytes(paths: ReadonlySet<string>): Promise<number> {
  const sizes = await Promise.all([...paths].map(async (path) => (await load(path)).bytes));
  return sizes.reduce((sum, size) => sum + size, 0) / 1_000;
}

/** Every page of the console, and the script that it is. */
const PAGES = [
  ...readFileSync(join(import.meta.dir, '../../web/pages.ts'), 'utf8').matchAll(
    /path: '([^']+)'[^}]*?import\('([^']+)\.tsx'\)/g,
  ),
].map(([, path, file]) => ({ path: path!, script: basename(file!) }));

async function filesOfPage(script: string): Promise<Set<string>> {
  const { first, app } = await firstFiles();
  const shell = await closure([...first, app]);
  const opened = (await Promise.all([...shell].map(async (path) => openedBy(await load(path))))).flat();
  const page = opened.find(isOf(script));
  expect([script, typeof page]).toEqual([script, 'string']);
  return closure([page!], shell);
}

test(`signing in takes at most ${SIGN_IN_KB} KB, and any page at most ${PAGE_KB} KB`, async () => {
  const { first, doors } = await firstFiles();
  const signIn = await kilobytes(await closure([...first, doors]));
  expect(signIn).toBeGreaterThan(10);
  expect(signIn).toBeLessThanOrEqual(SIGN_IN_KB);
  expect(PAGES.length).toBeGreaterThan(20);
  const sizes = await Promise.all(
    PAGES.map(async ({ path, script }) => [path, await kilobytes(await filesOfPage(script))] as const),
  );
  expect(sizes.filter(([, size]) => !(size > signIn && size <= PAGE_KB))).toEqual([]);
});

test('a browser loads what was counted, and nothing else', async () => {
  const { tab, close } = await console.open('/console/logs');
  await tab.getByRole('heading', { name: 'Logs' }).waitFor();
  await tab.waitForLoadState('networkidle');
  const names = await tab.evaluate(() =>
    performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname),
  );
  await close();
  const scripts = new Set(names.filter((name) => name.startsWith(ASSETS) && name.endsWith('.js')));
  const counted = [...(await filesOfPage('logs'))].filter((path) => path.endsWith('.js'));
  expect([...scripts].sort()).toEqual(counted.sort());
});
