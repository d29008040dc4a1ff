import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { signIn } from '../people.ts';
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
let cookie: string;
const loaded = new Map<string, Promise<Loaded>>();
beforeAll(async () => {
  console = await startConsole();
  cookie = (await signIn(console.gateway, console.people.owner.email)).headers.cookie!;
});
afterAll(() => console.stop());

/** A file as it is sent, and what is in it. */
const load = (path: string, headers: Record<string, string> = {}): Promise<Loaded> => {
  const key = `${path} ${JSON.stringify(headers)}`;
  let found = loaded.get(key);
  if (!found) {
    found = fetch(console.gateway.url + path, {
      headers: { 'accept-encoding': 'gzip', ...headers },
      decompress: false,
    } as RequestInit).then(async (answer) => {
      const bytes = new Uint8Array(await answer.arrayBuffer());
      expect([path, answer.status]).toEqual([path, 200]);
      return { bytes: bytes.byteLength, text: new TextDecoder().decode(gunzipSync(bytes)) };
    });
    loaded.set(key, found);
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

/** What a page of the server says that it will need, and the first of its scripts. */
async function named(path: string, headers: Record<string, string> = {}) {
  const page = await load(path, headers);
  const files = namesIn(page.text, /(?:src|href)="\/console\/assets\/([^"]+)"/g).filter(
    (each) => !each.endsWith('.svg'),
  );
  const main = files.find((each) => page.text.includes(`<script type="module" src="${each}"`))!;
  return { page, files, main };
}

/** All that a first script opens at once: the shell or the doors, and what both need. */
async function opened(main: string, kind: 'app' | 'doors') {
  const files = openedBy(await load(main));
  expect(files.some(isOf('app')) && files.some(isOf('doors'))).toBe(true);
  return files.filter((path) => !isOf(kind === 'app' ? 'doors' : 'app')(path));
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

interface Visit {
  readonly files: ReadonlySet<string>;
  readonly kilobytes: number;
}

async function visited(path: string, headers: Record<string, string>, kind: 'app' | 'doors', script: string | null) {
  const { page, files, main } = await named(path, headers);
  const first = files.filter((each) => !each.endsWith('.js') || each === main || isOf('first')(each));
  const begun = await closure([...first, ...(await opened(main, kind))]);
  const later = (await Promise.all([...begun].map(async (each) => openedBy(await load(each))))).flat();
  const found = script === null ? [] : later.filter(isOf(script)).slice(0, 1);
  expect([path, found.length]).toEqual([path, script === null ? 0 : 1]);
  const all = await closure(found, begun);
  // A browser that learned of a script from another one would wait for both.
  expect([path, files.toSorted()]).toEqual([path, [...all].toSorted()]);
  return { files: all, kilobytes: (await kilobytes(all)) + page.bytes / 1_000 } satisfies Visit;
}

const asVisitor = () => visited('/console', {}, 'doors', null);
const asOwner = ({ path, script }: (typeof PAGES)[number]) =>
  visited(`/console${path.replace(/\$\w+/, 'some')}`, { cookie }, 'app', script);

test(`signing in takes at most ${SIGN_IN_KB} KB, and any page at most ${PAGE_KB} KB, all of it named by the first answer`, async () => {
  const least = (await asVisitor()).kilobytes;
  expect(least).toBeGreaterThan(10);
  expect(least).toBeLessThanOrEqual(SIGN_IN_KB);
  expect(PAGES.length).toBeGreaterThan(20);
  const sizes = await Promise.all(PAGES.map(async (page) => [page.path, (await asOwner(page)).kilobytes] as const));
  expect(sizes.filter(([, size]) => !(size > least && size <= PAGE_KB))).toEqual([]);
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
  const { files } = await asOwner(PAGES.find(({ path }) => path === '/logs')!);
  const counted = [...files].filter((path) => path.endsWith('.js'));
  expect([...scripts].sort()).toEqual(counted.sort());
});
