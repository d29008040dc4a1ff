import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dir, '..');
const dist = join(root, 'dist');
const build = join(root, 'bin/build');
const HOUR_MS = 3_600_000;

/** Names the executable that test/run.ts has made for all tests of a run. */
export const executableVariable = 'GATEWAY_TEST_EXECUTABLE';

let made: string | undefined;

/**
 * The program as `npm install` makes it, from the sources as they are now. It starts in a fraction of the time that the
 * sources take, and is what users run. Made once for all tests until a source changes.
 */
export function bundle(): string {
  made ??= bundleIn(join(dist, `test-${version()}`));
  return made;
}

/**
 * The program as `npm run build` makes it, with its code translated ahead: it starts with half the work of the bundle. It
 * takes longer to make, so a test file that runs alone does without.
 */
export async function executable(): Promise<string> {
  const place = join(dist, `test-${version()}-executable`);
  if (existsSync(place)) return place;
  const draft = `${place}-${process.pid}`;
  const child = Bun.spawn([build, 'executable', draft], {
    env: { ...process.env, CONSOLE_FILES: join(bundle(), 'console') },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const said = await child.stderr.text();
  if ((await child.exited) !== 0) throw new Error(`The executable cannot be made: ${said}`);
  settle(draft, place);
  return place;
}

/** All that goes into it, with the folders, which tell of files that came or went. */
const sources = (): string[] => [
  ...['src', 'simulator', 'web'].flatMap((name) => [
    name,
    ...readdirSync(join(root, name), { recursive: true, encoding: 'utf8' })
      .filter((file) => !file.endsWith('.test.ts'))
      .map((file) => join(name, file))
      .sort(),
  ]),
  ...['package.json', 'package-lock.json', 'bin/build'],
];

function version(): string {
  const hash = new Bun.CryptoHasher('sha256').update(Bun.version);
  for (const file of sources()) {
    const found = statSync(join(root, file));
    if (found.isFile()) hash.update(`${file} ${found.size} ${found.mtimeMs}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}

/** Whether `npm install` or `npm run bundle` has made one since the last source changed. */
function isNew(place: string): boolean {
  const madeAt = statSync(join(place, 'main.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return sources().every((file) => statSync(join(root, file)).mtimeMs < madeAt);
}

function bundleIn(place: string): string {
  if (existsSync(place)) return place;
  mkdirSync(dist, { recursive: true });
  sweep();
  const draft = `${place}-${process.pid}`;
  const installed = join(dist, 'bundle');
  if (isNew(installed)) cpSync(installed, draft, { recursive: true });
  else {
    const built = Bun.spawnSync([build, 'bundle', draft], { stdout: 'ignore', stderr: 'pipe' });
    if (!built.success) throw new Error(`The bundle cannot be made: ${built.stderr.toString()}`);
  }
  settle(draft, place);
  return place;
}

function settle(draft: string, place: string): void {
  try {
    renameSync(draft, place);
  } catch (error) {
    // Another worker was first, with the same.
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(place)) throw error;
  }
}

/** Removes those of sources that have changed. A young one may be of tests that are under way. */
function sweep(): void {
  for (const name of readdirSync(dist).filter((each) => each.startsWith('test-'))) {
    const place = join(dist, name);
    const madeAt = statSync(place, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (madeAt < Date.now() - HOUR_MS) rmSync(place, { recursive: true, force: true });
  }
}
