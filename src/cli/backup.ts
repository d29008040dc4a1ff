import { Database } from 'bun:sqlite';
import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { newBackupName } from '../backups/bucket.ts';
import { lockStage, MADE_BUT_NOT_TIDY, STAGE } from '../backups/stage.ts';
import type { S3Place } from '../files/s3.ts';
import type { Settings } from '../settings.ts';
import { version } from '../version.ts';
import { readArguments } from './arguments.ts';
import { bucketAt, inWordsOfBuckets, placeGiven } from './backing-up/bucket-at.ts';
import { MANIFEST, type Manifest, manifestOf, pathsIn } from './backing-up/manifest.ts';
import { readSealingKey, sealFile, sealingKeyOf } from './backing-up/sealed-file.ts';
import { ADMIN_KEY_FILE, ENCRYPTION_KEY_FILE } from './data-dir.ts';
import { showBar } from './progress.ts';

const USAGE = `gateway backup [<folder or s3://…>] [--key-file <file>] [--without-log] [--without-keys]

Writes everything of the embedded store into a new folder, also while the gateway runs: its databases as they were in one moment
each, the bytes of files, and the keys that open them. gateway restore puts it into place again.

With s3://bucket/prefix?endpoint=https://host&region=eu-west-1 it goes there under a name of its own, sealed; its credentials are
GATEWAY_BACKUP_ACCESS_KEY_ID and GATEWAY_BACKUP_SECRET_ACCESS_KEY. Without an address it goes to GATEWAY_BACKUP_URL, and of older
ones GATEWAY_BACKUP_KEEP stay.

  --key-file       seal every file with the key in there: 32 bytes in base64 (openssl rand -base64 32);
                   in a bucket, GATEWAY_BACKUP_KEY unless given
  --without-log    leave the request log out
  --without-keys   leave encryption-key and admin-key out: keep them elsewhere, credentials cannot be opened without
`;

const options = {
  'key-file': { type: 'string' },
  'without-log': { type: 'boolean', default: false },
  'without-keys': { type: 'boolean', default: false },
} as const;

interface Wanted {
  readonly dataDir: string;
  /** Null: it is not sealed. */
  readonly key: Uint8Array | null;
  readonly withLog: boolean;
  readonly withKeys: boolean;
}

export async function backup(settings: Settings, rest: readonly string[]): Promise<void> {
  const fewest = settings.backup.bucket ? 0 : 1;
  const what = 'a folder or an s3:// address';
  const { values, positionals } = readArguments(rest, { options, positionals: 1, fewest, usage: USAGE, what });
  const { dataDir } = settings;
  if (settings.databaseUrl)
    throw new Error(
      'This gateway keeps everything in PostgreSQL: back it up with pg_dump, and keep GATEWAY_ENCRYPTION_KEY.',
    );
  if (!existsSync(join(dataDir, 'state.db')))
    throw new Error(`There is no embedded store in ${dataDir}; GATEWAY_DATA_DIR says where it is.`);
  const place = placeGiven(settings, positionals[0]);
  const keyFile = values['key-file'];
  const given = keyFile === undefined ? null : readSealingKey(keyFile);
  const usual = place && settings.backup.key ? sealingKeyOf(settings.backup.key) : null;
  const key = given ?? usual;
  const wanted = { dataDir, key, withLog: !values['without-log'], withKeys: !values['without-keys'] };
  if (!place) await toFolder(resolve(positionals[0]!), wanted);
  else await toBucket(settings, place, wanted, { mayDelete: positionals.length === 0 });
  if (key) console.log(`It is sealed: without the key in ${keyFile ?? 'GATEWAY_BACKUP_KEY'} nobody can restore it.`);
  if (settings.encryptionKey)
    console.log('GATEWAY_ENCRYPTION_KEY is not in it: keep it, credentials are sealed with it.');
}

async function toFolder(folder: string, wanted: Wanted) {
  if (existsSync(folder)) throw new Error(`${folder} is there already; give a new folder for each backup.`);
  const aside = join(dirname(folder), `.${basename(folder)}.${process.pid}.unfinished`);
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  try {
    // What is to be sealed is read from the place where it lies unsealed already.
    const manifest = wanted.key
      ? await onStage(wanted.dataDir, (stage) => write(aside, stage, wanted))
      : await write(aside, aside, wanted);
    renameSync(aside, folder);
    tell(manifest, folder);
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    throw error;
  }
}

async function toBucket(settings: Settings, place: S3Place, wanted: Wanted, { mayDelete }: { mayDelete: boolean }) {
  if (!wanted.key && wanted.withKeys)
    throw new Error(
      'A backup with the keys in it opens every credential, and others can read a bucket: seal it with --key-file or GATEWAY_BACKUP_KEY, or leave the keys out with --without-keys. Nothing was sent.',
    );
  const bucket = bucketAt(settings, place);
  const name = newBackupName(Date.now());
  await onStage(wanted.dataDir, async (stage) => {
    const [plain, ready] = [join(stage, 'plain'), join(stage, 'ready')];
    for (const folder of [plain, ready]) mkdirSync(folder, { mode: 0o700 });
    const manifest = await write(ready, wanted.key ? plain : ready, wanted);
    rmSync(plain, { recursive: true });
    const paths = Object.keys(manifest.files);
    const bar = showBar({ what: 'files sent', total: paths.length });
    await inWordsOfBuckets(bucket.put(name, ready, paths, () => bar.add(1)));
    bar.end();
    tell(manifest, `s3://${place.bucket}/${place.prefix ? `${place.prefix}/` : ''}${name}`);
  });
  const { keep } = settings.backup;
  if (!mayDelete || keep === null) return;
  try {
    const removed = await inWordsOfBuckets(bucket.keep(keep, name));
    if (removed > 0) console.log(`Deleted ${removed} older ones: ${keep} are kept.`);
  } catch (error) {
    console.error(`gateway: The backup is made, but older ones could not be deleted: ${(error as Error).message}`);
    process.exitCode = MADE_BUT_NOT_TIDY;
  }
}

async function write(folder: string, plain: string, { dataDir, key, withLog, withKeys }: Wanted): Promise<Manifest> {
  const files = copyInto(plain, dataDir, { withLog, withKeys });
  const bar = showBar({ what: 'files written', total: files });
  if (key) await sealInto(folder, plain, key);
  const manifest = await manifestOf(folder, { version, isSealed: key !== null, onFile: () => bar.add(1) });
  writeFileSync(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { flush: true });
  bar.end();
  return manifest;
}

function tell({ files }: Manifest, where: string) {
  const bytes = Object.values(files).reduce((sum, file) => sum + file.bytes, 0);
  console.log(`Wrote ${Object.keys(files).length} files, ${(bytes / 1_000_000).toFixed(1)} MB, to ${where}.`);
}

/** A folder of its own beside the databases, for one backup at a time; what killed ones left there goes. */
async function onStage<Result>(dataDir: string, work: (stage: string) => Promise<Result>): Promise<Result> {
  const lock = lockStage(dataDir);
  if (!lock) throw new Error(`Another backup of ${dataDir} is being made. Try again when it has ended.`);
  const stage = join(dataDir, `${STAGE}${process.pid}`);
  try {
    mkdirSync(stage, { mode: 0o700 });
    return await work(stage);
  } finally {
    rmSync(stage, { recursive: true, force: true });
    lock.release();
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
  takeState(dataDir, folder);
  snapshot(dataDir, folder, 'search.db');
  if (withLog) {
    snapshot(dataDir, folder, 'logs.db');
    copyTree(join(dataDir, 'bodies'), join(folder, 'bodies'), copyFileSync);
  }
  return pathsIn(folder).length;
}

/** So often a file has to go at just that moment. */
const MOST_TIMES = 50;

/**
 * The database, and then the bytes that came since they were taken. A file or part that came since and went again before they are taken
 * once more would be named without its bytes: the database is taken anew then, as of a moment when it was gone.
 */
function takeState(dataDir: string, folder: string) {
  for (let time = 0; time < MOST_TIMES; time++) {
    rmSync(join(folder, 'state.db'), { force: true });
    snapshot(dataDir, folder, 'state.db');
    copyBlobs(dataDir, folder);
    const taken = new Set(pathsIn(folder).map((path) => basename(path)));
    const missing = [...blobsNamedIn(folder)].filter((blob) => !taken.has(blob));
    if (missing.length === 0) return;
    // What is named still lies elsewhere, or was lost before.
    const living = blobsNamedIn(dataDir);
    if (missing.every((blob) => living.has(blob))) return;
  }
  throw new Error('Files were deleted while they were copied, again and again. Try once more when fewer come and go.');
}

/** Of files that callers can read, and of parts that can still become one. */
function blobsNamedIn(folder: string): Set<string> {
  const database = new Database(join(folder, 'state.db'), { readwrite: true });
  try {
    database.run('PRAGMA busy_timeout = 60000');
    const rows = database.query<{ blob: string }, []>(`select segment.blob from file_segments as segment
      join files as file on file.id = segment.file_id where file.deleted_at is null
      union all select part.id from upload_parts as part
      join uploads as upload on upload.id = part.upload_id where upload.status = 'pending'`);
    return new Set(rows.all().map(({ blob }) => blob));
  } finally {
    database.close();
  }
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
