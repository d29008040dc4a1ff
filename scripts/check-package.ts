import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makePackage } from './package.ts';

/**
 * Makes the package, installs its tarball in empty folders as users do, starts it and carries out the call that it
 * prints: `npx bun scripts/check-package.ts`. Fails when it does not work, or when it is larger than it may be. It asks the
 * registry for Bun and Pyodide.
 */

const MOST_INSTALLED_MB = 200;
const MOST_PACKED_MB = 10;
const PATIENCE_MS = 60_000;

const place = mkdtempSync(join(tmpdir(), 'gateway-package-'));
const figures: Record<string, string> = {};
const faults: string[] = [];
const seconds = (since: number) => `${((performance.now() - since) / 1_000).toFixed(1)} s`;

/** Only what a user of another machine has, too: no Bun of ours in the path. */
const environment = (home: string): Record<string, string> => ({
  PATH: (process.env.PATH ?? '')
    .split(':')
    .filter((each) => !each.includes('node_modules'))
    .join(':'),
  HOME: process.env.HOME ?? home,
  PORT: '0',
  GATEWAY_DATA_DIR: join(home, 'data'),
});

async function run(command: readonly string[], cwd: string): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd,
    env: environment(cwd),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${errors}${output}`);
  return output;
}

/** As a disk counts it: a file with two names once. */
function bytesIn(folder: string, seen = new Set<number>()): number {
  return readdirSync(folder).reduce((sum, name) => {
    const path = join(folder, name);
    const { ino, size, nlink } = lstatSync(path);
    if (lstatSync(path).isDirectory()) return sum + bytesIn(path, seen);
    if (nlink > 1 && seen.has(ino)) return sum;
    seen.add(ino);
    return sum + size;
  }, 0);
}

async function installed(name: string, tarball: string, ...flags: string[]): Promise<string> {
  const home = join(place, name);
  mkdirSync(home);
  writeFileSync(join(home, 'package.json'), '{ "private": true }\n');
  await run(['npm', 'install', tarball, '--omit=dev', '--no-audit', '--no-fund', ...flags], home);
  return home;
}

/** Starts it and does what a newcomer does with what it prints. */
async function tried(home: string): Promise<{ started: string; called: string }> {
  const begun = performance.now();
  const child = Bun.spawn(['node_modules/.bin/gateway'], {
    ...{
      cwd: home,
      env: environment(home),
      stdin: 'ignore' as const,
      stdout: 'pipe' as const,
      stderr: 'pipe' as const,
    },
  });
  const late = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  try {
    const decoder = new TextDecoder();
    let said = '';
    for await (const bytes of child.stdout) {
      said += decoder.decode(bytes, { stream: true });
      if (said.includes('described at')) break;
    }
    const url = / on (http:\/\/\S+)/.exec(said)?.[1];
    if (!url) throw new Error(`It did not start:\n${said}${await child.stderr.text()}`);
    const started = seconds(begun);
    const curl = /^ {2}(curl [\s\S]*?)\n\n/m.exec(said)?.[1];
    if (!curl) throw new Error(`It printed no call to try:\n${said}`);
    const asked = performance.now();
    const answer = await run(['sh', '-c', curl.replace('curl ', 'curl -sS --fail-with-body ')], home);
    if (!JSON.parse(answer).choices?.[0]?.message?.content)
      throw new Error(`The first call was answered so: ${answer}`);
    const called = seconds(asked);
    for (const path of ['/console/', '/openapi.json', '/health']) {
      const { status } = await fetch(url + path);
      if (status !== 200) throw new Error(`${path} answered ${status}.`);
    }
    return { started, called };
  } finally {
    clearTimeout(late);
    child.kill('SIGTERM');
    if ((await child.exited) !== 0) faults.push('It did not end well when it was told to stop.');
  }
}

function bounded(what: string, bytes: number, most: number) {
  const megabytes = bytes / 1e6;
  figures[what] = `${megabytes.toFixed(1)} MB`;
  if (megabytes > most) faults.push(`${what}: ${megabytes.toFixed(1)} MB are more than ${most}.`);
}

try {
  const tarball = await makePackage();
  bounded('the tarball', statSync(tarball).size, MOST_PACKED_MB);
  const begun = performance.now();
  const home = await installed('usual', tarball);
  figures['npm install'] = seconds(begun);
  bounded('installed', bytesIn(join(home, 'node_modules')), MOST_INSTALLED_MB);
  const { started, called } = await tried(home);
  figures['ready after'] = started;
  figures['the printed call'] = called;
  const told = await run(['node_modules/.bin/gateway', 'doctor'], home).catch((error: Error) => error.message);
  if (/^\s*(?:fail|✗)/im.test(told)) faults.push(`gateway doctor finds:\n${told}`);

  await tried(await installed('without-scripts', tarball, '--ignore-scripts'));
  const npx = join(place, 'npx');
  mkdirSync(npx);
  const version = await run(['npx', '--yes', `--package=${tarball}`, 'gateway', 'version'], npx);
  if (!/^\d+\.\d+\.\d+/.test(version)) faults.push(`npx says ${version}.`);
} catch (error) {
  faults.push((error as Error).message);
} finally {
  rmSync(place, { recursive: true, force: true });
}
for (const [what, figure] of Object.entries(figures)) console.log(`${what.padEnd(20)}${figure}`);
for (const fault of faults) console.error(fault);
process.exit(faults.length === 0 ? 0 : 1);
