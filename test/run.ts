import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, constants, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { findAssets } from '../src/console/assets.ts';
import { warmUp, warmVariable } from './assistants/sandbox.ts';
import { bundle, executable, executableVariable } from './bundle.ts';
import { countsIn, testsIn, worthAnotherTry } from './outcome.ts';
import { createDatabase, sharedUrlVariable, startPostgres } from './postgres.ts';
import { shortLivedVariable } from './process.ts';
import slowFiles from './slow-files.json';

/**
 * `npm test`: types, lint, then every test on SQLite and PostgreSQL; `--long` runs the soaks instead. Ends with one line,
 * `N passed, N failed`, and a failing exit code when anything failed.
 */
const isLong = process.argv.includes('--long');
/** They measure processor time, of which a neighbour on the same core takes half. */
const MEASURING = ['test/attack/loop/'];
/** Many nodes under load at once, which answer in time only on a machine that has time for them: all others come after. */
const LOADED = ['test/front-door/chaos.test.ts', 'test/front-door/rolling.test.ts'];
/** They watch how often the whole process wakes up, and other files of a worker would keep it awake. */
const ALONE = ['src/core/runtime/seconds.test.ts', 'src/storage/quiet-changes.test.ts'];
/** What a worker may come to need, with the processes and browsers of its tests. */
const WORKER_BYTES = 2 * 2 ** 30;
/** More than there are cores, where there is memory for them: four on two cores waited for half of their time. */
const WORKERS = Math.max(4, Math.min(6, Math.round(totalmem() / WORKER_BYTES)));
/** Only ends what hangs; as in test/setup.ts, which a worker reads once. */
const LIMIT_MS = isLong ? 600_000 : 300_000;
const root = new URL('..', import.meta.url).pathname;
const bun = process.execPath;
let passed = 0;
let failed = 0;
/** What failed beside others and held alone. */
const wavering: string[] = [];

interface Step {
  readonly isGood: boolean;
  readonly output: string;
}

async function step(name: string, command: string[], environment: Record<string, string> = {}): Promise<Step> {
  const started = Date.now();
  console.log(`\n── ${name}`);
  const child = Bun.spawn(command, {
    cwd: root,
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, ...environment },
  });
  const texts = await Promise.all([collect(child.stdout), collect(child.stderr)]);
  const isGood = (await child.exited) === 0;
  console.log(`── ${name}: ${isGood ? 'ok' : 'FAILED'} in ${((Date.now() - started) / 1000).toFixed(1)} s`);
  return { isGood, output: texts.join('') };
}

function count({ isGood, output }: Step): void {
  const counts = countsIn(output);
  passed += counts?.passed ?? (isGood ? 1 : 0);
  if (!isGood) failed += counts ? Math.max(1, counts.failed + counts.errors) : 1;
}

/** Types or lint: one that passed or failed. */
const check = async (name: string, command: string[]) => count(await step(name, command));

/**
 * What a few tests failed by beside all others, on a machine that had no time for them, they are asked again alone. Those
 * that hold then do not fail the run; they are named at its end, because each is a fault to mend.
 */
async function tests(
  name: string,
  args: readonly string[],
  environment: Record<string, string>,
  { priority = [], others }: { readonly priority?: readonly string[]; readonly others?: Promise<unknown> } = {},
): Promise<string> {
  const command = (more: readonly string[]) => [...priority, bun, 'test', `--timeout=${LIMIT_MS}`, ...more];
  const first = await step(name, command(args), environment);
  const again = first.isGood || isLong ? [] : worthAnotherTry(first.output);
  if (again.length === 0) {
    count(first);
    return first.output;
  }
  await others;
  const files = [...new Set(again.map(({ file }) => file))];
  const alone = await step(`${name} that failed, alone`, command(files), environment);
  if (alone.isGood) {
    passed += countsIn(first.output)!.passed + again.length;
    wavering.push(...again.map((each) => `${each.file}: ${each.name}`));
  } else count(first);
  return first.output;
}

async function collect(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
    process.stdout.write(chunk);
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

/** The tests that took longest. */
const slowest = (output: string, most: number): string[] =>
  testsIn(output)
    .toSorted((one, other) => other.ms - one.ms)
    .slice(0, most)
    .map(({ file, name, ms }) => `${(ms / 1_000).toFixed(1).padStart(6)} s  ${file}: ${name}`);

/** From so many seconds on, a file stands in slow-files.json. */
const SLOW_SECONDS = 30;

/**
 * How long each file takes, as the runner reads it. Those that take long begin first: one that began last would keep one
 * worker busy while the others have nothing left to do.
 */
function writeTimings(path: string): void {
  const known: Readonly<Record<string, number>> = slowFiles;
  const files = [...new Bun.Glob('{src,simulator,bench,test}/**/*.test.ts').scanSync(root)];
  writeFileSync(
    path,
    JSON.stringify({ version: 1, files: Object.fromEntries(files.map((file) => [file, (known[file] ?? 1) * 1_000])) }),
  );
}

/** Files that turned out to be slow and are not known to be: `"test/front-door/x.test.ts": 31`. */
function unknownSlow(path: string): string[] {
  const { files } = JSON.parse(readFileSync(path, 'utf8')) as { files: Readonly<Record<string, number>> };
  return Object.entries(files)
    .filter(([file, ms]) => ms >= SLOW_SECONDS * 1_000 && !(file in slowFiles))
    .map(([file, ms]) => `"${file}": ${Math.round(ms / 1_000)}`);
}

/** One test runs the printed curl as a user would. */
async function ensureCurl() {
  if (Bun.which('curl')) return;
  if (process.getuid?.() !== 0) throw new Error('The tests need curl: install it, or run them as root on Debian.');
  const install = 'apt-get update -qq && apt-get install -y -qq --no-install-recommends curl';
  const child = Bun.spawn(['sh', '-c', install], { stdout: 'ignore', stderr: 'inherit' });
  if ((await child.exited) !== 0) throw new Error('curl could not be installed.');
}

/** Servers of databases enter as others. Not in `/dev/shm`: Deno keeps the code interpreter out of everything below `/dev`. */
function newTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tests-'));
  chmodSync(folder, 0o755);
  return folder;
}

const tool = (name: string) => [bun, 'x', '--bun', '--no-install', name];

/** Each checker reads much that others read, too: on two cores four take a third more of the processor than one. */
const CHECKERS = Math.max(1, Math.min(4, availableParallelism() - 1));

async function checks(): Promise<void> {
  const types = check('types', [...tool('tsc'), '--noEmit', '--checkers', String(CHECKERS)]);
  await check('types of the console', [...tool('tsc'), '--noEmit', '-p', 'web']);
  await check('lint and format', [...tool('biome'), 'check', '.']);
  await types;
}

/**
 * A gateway starts sandboxes at a lower priority than its own; below the lowest there is none, so here they have the same
 * as the tests, and do not wait until all others have nothing to do. And what runs beside these tests with the usual one
 * hardly notices them.
 */
const LAST = ['nice', '-n', String(constants.priority.PRIORITY_LOW)];
// What tests need is made beside them, and the first tests begin beside them: hardly any of it keeps two cores busy.
const checked = isLong ? null : checks();
await ensureCurl();
const postgres = await startPostgres();
const temporary = newTemporaryFolder();
const removeTemporary = () => rmSync(temporary, { recursive: true, force: true });
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    removeTemporary();
    process.exit(1);
  });
try {
  // What all workers would make at once.
  process.env[sharedUrlVariable] = postgres.url;
  const [program] = await Promise.all([isLong ? bundle() : executable(), createDatabase(), findAssets()()]);
  const environment: Record<string, string> = {
    [sharedUrlVariable]: postgres.url,
    BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
    // Long tests fill more than memory has room for.
    ...(!isLong && { TMPDIR: temporary, [executableVariable]: program }),
  };
  // The snapshot of Python, which beside busy tests is not made in its time. A machine without a sandbox is for the tests of
  // it to tell.
  await warmUp().then(
    () => {
      environment[warmVariable] = '1';
    },
    () => {},
  );
  const timings = join(temporary, 'timings.json');
  if (!isLong) writeTimings(timings);
  const where = isLong ? ['test/long/'] : ['src/', 'simulator/', 'bench/', 'test/'];
  const options = isLong
    ? []
    : [
        // Files of a worker share what they import: to load it anew for each took a third of the time.
        ...[`--parallel=${WORKERS}`, '--no-isolate', `--timings=${timings}`, '--update-timings'],
        ...[...MEASURING, ...LOADED, ...ALONE, 'test/long/'].map((each) => `--path-ignore-patterns=${each}**`),
      ];
  // Much code runs for a short time: the last and slowest translation of it (FTL) is worth its while for very little.
  const thrift = { BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: '300000', [shortLivedVariable]: '1' };
  const surroundings = isLong ? environment : { ...environment, ...thrift };
  const running = tests(isLong ? 'long tests' : 'tests', [...options, ...where], surroundings, {
    priority: isLong ? [] : LAST,
  });
  // Those under load wait half of their time, and a process that is quiet takes nothing from others.
  const beside = (name: string, files: string[]) =>
    isLong ? '' : tests(name, files, environment, { others: running });
  await Promise.all([beside('tests under load', LOADED), beside('tests of a quiet process', ALONE)]);
  await checked;
  const output = await running;
  if (!isLong) await tests('tests that measure', MEASURING, environment);
  console.log(`\nThe slowest tests:\n${slowest(output, 20).join('\n')}`);
  const unknown = isLong ? [] : unknownSlow(timings);
  if (unknown.length > 0)
    console.log(`\nTo begin sooner, these belong into test/slow-files.json:\n${unknown.join(',\n')}`);
  if (wavering.length > 0)
    console.log(`\nFailed beside others and held alone; each is a fault to mend:\n${wavering.join('\n')}`);
} finally {
  await postgres.remove();
  removeTemporary();
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
