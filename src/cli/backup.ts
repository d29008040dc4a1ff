import { Database } from 'bun:sqlite';
import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Settings } from '../settings.ts';
import { version } from '../version.ts';
import { readArguments } from './arguments.ts';
import { MANIFEST, manifestOf, pathsIn } from './backing-up/manifest.ts';
import { readSealingKey, sealFile } from './backing-up/sealed-file.ts';
import { ADMIN_KEY_FILE, ENCRYPTION_KEY_FILE } from './data-dir.ts';
import { showBar } from './progress.ts';

const USAGE = `gateway backup <folder> [--key-file <file>] [--without-log] [--without-keys]

Writes everything of the embedded store into a new folder, also while the gateway runs: its databases as they were in one moment
each, the bytes of files, and the keys that open them. gateway restore puts it into place again.

  --key-file       seal every file with the key in there: 32 bytes in base64 (openssl rand -base64 32)
  --without-log    leave the request log out
  --without-keys   leave encryption-key and admin-key out: keep them elsewhere, credentials cannot be opened without
`;

const options = {
  'key-file': { type: 'string' },
  'without-log': { type: 'boolean', default: false },
  'without-keys': { type: 'boolean', default: false },
} as const;

export async function backup(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values, positionals } = readArguments(rest, { options, positionals: 1, usage: USAGE, what: 'a folder' });
  const { dataDir } = settings;
  if (settings.databaseUrl)
    throw new Error(
      'This gateway keeps everything in PostgreSQL: back it up with pg_dump, and keep GATEWAY_ENCRYPTION_KEY.',
    );
  if (!existsSync(join(dataDir, 'state.db')))
    throw new Error(`There is no embedded store in ${dataDir}; GATEWAY_DATA_DIR says where it is.`);
  const folder = resolve(positionals[0]!);
  if (existsSync(folder)) throw new Error(`${folder} is there already; give a new folder for each backup.`);
  const keyFile = values['key-file'];
  const key = keyFile === undefined ? null : readSealingKey(keyFile);
  const aside = join(dirname(folder), `.${basename(folder)}.${process.pid}.unfinished`);
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  // What is to be sealed is read from the place where it lies unsealed already.
  const plain = key ? stageIn(dataDir) : aside;
  try {
    const files = copyInto(plain, dataDir, { withLog: !values['without-log'], withKeys: !values['without-keys'] });
    const bar = showBar({ what: 'files written', total: files });
    if (key) await sealInto(aside, plain, key);
    const manifest = await manifestOf(aside, { version, isSealed: key !== null, onFile: () => bar.add(1) });
    writeFileSync(join(aside, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { flush: true });
    renameSync(aside, folder);
    bar.end();
    const bytes = Object.values(manifest.files).reduce((sum, file) => sum + file.bytes, 0);
    console.log(
      `Wrote ${Object.keys(manifest.files).length} files, ${(bytes / 1_000_000).toFixed(1)} MB, to ${folder}.`,
    );
    if (key) console.log(`It is sealed: without the key in ${keyFile} nobody can restore it.`);
    if (settings.encryptionKey)
      console.log('GATEWAY_ENCRYPTION_KEY is not in it: keep it, credentials are sealed with it.');
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    throw error;
  } finally {
    if (key) rmSync(plain, { recursive: true, force: true });
  }
}

const STAGE = '.backup-';

/** A folder of its own beside the databases. What backups left there that were killed goes. */
function stageIn(dataDir: string): string {
  for (const name of readdirSync(dataDir))
    if (name.startsWith(STAGE) && !isRunning(Number(name.slice(STAGE.length))))
      rmSync(join(dataDir, name), { recursive: true, force: true });
  const stage = join(dataDir, `${STAGE}${process.pid}`);
  mkdirSync(stage, { mode: 0o700 });
  return stage;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}

async function sealInto(folder: string, plain: string, key: Uint8Array) {
  for (const path of pathsIn(plain)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
    await sealFile(join(plain, path), join(folder, path), key, path);
  }
}

/**
 * In an order in which what one file names is in the others: the audit log may be newer than its last known end, bytes
 * of files are taken before and after the database that names them, words of files after it.
 */
function copyInto(
  folder: string,
  dataDir: string,
  { withLog, withKeys }: { withLog: boolean; withKeys: boolean },
): number {
  const copy = (name: string) => {
    if (existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(folder, name));
  };
  copy('audit-heads.json');
  if (withKeys) for (const name of [ENCRYPTION_KEY_FILE, ADMIN_KEY_FILE]) copy(name);
  copyBlobs(dataDir, folder);
  snapshot(dataDir, folder, 'state.db');
  copyBlobs(dataDir, folder);
  snapshot(dataDir, folder, 'search.db');
  if (withLog) {
    snapshot(dataDir, folder, 'logs.db');
    copyTree(join(dataDir, 'bodies'), join(folder, 'bodies'), copyFileSync);
  }
  return pathsIn(folder).length;
}

/** One moment of a database that may be in use. */
function snapshot(dataDir: string, folder: string, name: string) {
  const from = join(dataDir, name);
  if (!existsSync(from)) return;
  const database = new Database(from, { readwrite: true });
  try {
    database.run('PRAGMA busy_timeout = 60000');
    database.run('VACUUM INTO ?', [join(folder, name)]);
  } finally {
    database.close();
  }
}

/** Without what is still being written. They never change, so a second name for the same bytes is a copy, where it can be had. */
function copyBlobs(dataDir: string, folder: string) {
  const blobs = join(dataDir, 'blobs');
  if (!existsSync(blobs)) return;
  for (const fan of readdirSync(blobs))
    if (fan !== 'drafts') copyTree(join(blobs, fan), join(folder, 'blobs', fan), linkOrCopy);
}

function copyTree(from: string, to: string, copy: (from: string, to: string) => void) {
  if (!existsSync(from)) return;
  for (const path of pathsIn(from)) {
    const target = join(to, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    if (existsSync(target)) continue;
    try {
      copy(join(from, path), target);
    } catch (error) {
      // Deleted a moment ago.
      if ((error as { code?: string }).code !== 'ENOENT') throw error;
    }
  }
}

function linkOrCopy(from: string, to: string) {
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') throw error;
    copyFileSync(from, to);
  }
}
