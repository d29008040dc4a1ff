import { Database } from 'bun:sqlite';
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { BackupBucket } from '../backups/bucket.ts';
import type { Settings } from '../settings.ts';
import { readArguments } from './arguments.ts';
import { bucketAt, inWordsOfBuckets, placeGiven } from './backing-up/bucket-at.ts';
import { damageIn, MANIFEST, type Manifest, readManifest } from './backing-up/manifest.ts';
import { NotOpened, openSealed, readSealingKey, sealingKeyOf } from './backing-up/sealed-file.ts';
import { showBar } from './progress.ts';

const LARGEST_MANIFEST = 256 << 20;
const MOST_NAMED = 20;

const USAGE = `gateway restore <folder or s3://…> [--key-file <file>] [--check]

Puts a backup that gateway backup has made into GATEWAY_DATA_DIR, which must be missing or empty. Every file is compared with
what the backup says of it, and the databases are looked through, before anything is in place.

From a bucket it is fetched first: s3://bucket/prefix/name?endpoint=https://host&region=eu-west-1, with GATEWAY_BACKUP_ACCESS_KEY_ID
and GATEWAY_BACKUP_SECRET_ACCESS_KEY. An address without a name says which ones there are.

  --key-file   the key that a sealed backup was made with; from a bucket, GATEWAY_BACKUP_KEY unless given
  --check      compare and look only; nothing is put into place
`;

const options = { 'key-file': { type: 'string' }, check: { type: 'boolean', default: false } } as const;

export async function restore(settings: Settings, rest: readonly string[]): Promise<void> {
  const what = 'a folder or an s3:// address';
  const { values, positionals } = readArguments(rest, { options, positionals: 1, usage: USAGE, what });
  const dataDir = resolve(settings.dataDir);
  const place = placeGiven(settings, positionals[0]);
  const keyFile = values['key-file'];
  const given = keyFile === undefined ? null : readSealingKey(keyFile);
  const usual = place && settings.backup.key ? sealingKeyOf(settings.backup.key) : null;
  const key = given ?? usual;
  if (!values.check && existsSync(dataDir) && readdirSync(dataDir).length > 0)
    throw new Error(`${dataDir} is not empty. Nothing was changed; give an empty folder as GATEWAY_DATA_DIR.`);
  const wanted = { dataDir, key, isCheck: values.check };
  if (!place) return fromFolder(resolve(positionals[0]!), wanted);
  const fetched = join(dirname(dataDir), `.${basename(dataDir)}.${process.pid}.fetched`);
  mkdirSync(fetched, { recursive: true, mode: 0o700 });
  try {
    await inWordsOfBuckets(fetchInto(fetched, bucketAt(settings, place), key));
    await fromFolder(fetched, wanted);
  } finally {
    rmSync(fetched, { recursive: true, force: true });
  }
}

/** The manifest comes first: what cannot be opened is not fetched. */
async function fetchInto(folder: string, bucket: BackupBucket, key: Uint8Array | null) {
  if (!(await bucket.fetch(MANIFEST, join(folder, MANIFEST), LARGEST_MANIFEST))) {
    const names = await bucket.whole(MOST_NAMED);
    const found = names.length > 0 ? `Add one of: ${names.join(', ')}.` : 'There is none below it, either.';
    throw new Error(
      `There is no ${MANIFEST} at this address: it is no backup, or one that did not come to its end. ${found}`,
    );
  }
  const manifest = readManifest(folder);
  refuseOtherSeal(manifest, key);
  const bar = showBar({ what: 'files fetched', total: Object.keys(manifest.files).length });
  for (const [path, { bytes }] of Object.entries(manifest.files)) {
    // What is missing is said when everything is compared.
    await bucket.fetch(path, inside(folder, path), bytes);
    bar.add(1);
  }
  bar.end();
}

function refuseOtherSeal(manifest: Manifest, key: Uint8Array | null) {
  if (manifest.sealed && !key)
    throw new Error('The backup is sealed: give the key it was made with, --key-file <file>. Nothing was changed.');
  if (!manifest.sealed && key)
    throw new Error(
      'The backup is not sealed: leave --key-file and GATEWAY_BACKUP_KEY out if you trust it. Nothing was changed.',
    );
}

async function fromFolder(
  folder: string,
  { dataDir, key, isCheck }: { dataDir: string; key: Uint8Array | null; isCheck: boolean },
) {
  const manifest = readManifest(folder);
  const paths = Object.keys(manifest.files);
  refuseOtherSeal(manifest, key);
  const compared = showBar({ what: 'files compared', total: paths.length });
  const damage = await damageIn(folder, manifest, () => compared.add(1));
  compared.end();
  if (damage) throw new Error(`The backup is damaged: ${damage}. Nothing was changed.`);

  const aside = join(dirname(dataDir), `.${basename(dataDir)}.${process.pid}.unfinished`);
  try {
    if (key) for (const path of paths) await unseal(join(folder, path), inside(aside, path), key, path);
    for (const path of paths.filter((each) => each.endsWith('.db')))
      refuseBroken(join(key ? aside : folder, path), path);
    if (isCheck) return void console.log(`The backup of ${manifest.made_at} is whole: ${paths.length} files.`);
    if (!key) for (const path of paths) copyFileSync(join(folder, path), inside(aside, path));
    // An empty folder gives way.
    rmSync(dataDir, { recursive: true, force: true });
    renameSync(aside, dataDir);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  console.log(`Restored ${paths.length} files of ${manifest.made_at} to ${dataDir}. Start the gateway.`);
  if (!manifest.files['encryption-key'])
    console.log('The encryption key is not in it: start with the one of before, as GATEWAY_ENCRYPTION_KEY.');
}

/** The file's place below a folder, which is made. */
function inside(folder: string, path: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return file;
}

async function unseal(from: string, to: string, key: Uint8Array, path: string) {
  try {
    await openSealed(from, to, key, path);
  } catch (error) {
    if (!(error instanceof NotOpened)) throw error;
    throw new Error(
      `The key does not open ${path}: it is another one, or the backup was changed. Nothing was changed.`,
    );
  }
}

/** A copy of which every byte is right may be one of a database that was broken before. */
function refuseBroken(file: string, path: string) {
  const database = new Database(file, { readonly: true });
  try {
    const found = database.query<{ integrity_check: string }, []>('pragma integrity_check(1)').get();
    if (found?.integrity_check !== 'ok')
      throw new Error(`${path} is broken: ${found?.integrity_check}. Nothing was changed.`);
  } finally {
    database.close();
  }
}
