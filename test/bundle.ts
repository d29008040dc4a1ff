import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dir, '..');
const dist = join(root, 'dist');
const HOUR_MS = 3_600_000;

/** Names the executable that test/run.ts has made for all tests of a run. */
export const executableVariable = 'GATEWAY_TEST_EXECUTABLE';

type Kind = 'bundle' | 'executable';
const made = new Map<Kind, string>();

/**
 * The program as `npm install` makes it, from the sources as they are now. It starts in a fraction of the time that the
 * sources take, and is what users run. Made once for all tests until a source changes.
 */
export const bundle = (): string => madeOnce('bundle', `test-${version()}`);

/**
 * The program as `npm run build` makes it, with its code translated ahead: it starts with half the work of the bundle. It
 * takes longer to make, so a test file that runs alone does without.
 */
export const executable = (): string => madeOnce('executable', `test-${version()}-executable`);

function madeOnce(kind: Kind, name: string): string {
  const place = made.get(kind) ?? madeOf(kind, join(dist, name));
  made.set(kind, place);
  return place;
}

/** Of all that goes into it. */
function version(): string {
  const sources = ['src', 'simulator', 'web'].flatMap((name) =>
    readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).map((file) => join(name, file)),
  );
  const hash = new Bun.CryptoHasher('sha256').update(Bun.version);
  for (const file of [...sources.sort(), 'package.json', 'package-lock.json', 'bin/build']) {
    const found = statSync(join(root, file));
    if (found.isFile() && !file.endsWith('.test.ts')) hash.update(`${file} ${found.size} ${found.mtimeMs}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}

function madeOf(kind: Kind, place: string): string {
  if (existsSync(place)) return place;
  mkdirSync(dist, { recursive: true });
  sweep();
  const draft = `${place}-${process.pid}`;
  const built = Bun.spawnSync([join(root, 'bin/build'), kind, draft], { stdout: 'ignore', stderr: 'pipe' });
  if (!built.success) throw new Error(`The ${kind} cannot be made: ${built.stderr.toString()}`);
  try {
    renameSync(draft, place);
  } catch (error) {
    // Another worker was first, with the same.
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(place)) throw error;
  }
  return place;
}

/** Removes those of sources that have changed. A young one may be of tests that are under way. */
function sweep(): void {
  for (const name of readdirSync(dist).filter((each) => each.startsWith('test-'))) {
    const place = join(dist, name);
    const madeAt = statSync(place, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (madeAt < Date.now() - HOUR_MS) rmSync(place, { recursive: true, force: true });
  }
}
