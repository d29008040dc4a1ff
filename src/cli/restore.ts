import { Database } from 'bun:sqlite';
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Settings } from '../settings.ts';
import { readArguments } from './arguments.ts';
import { damageIn, readManifest } from './backing-up/manifest.ts';
import { NotOpened, openSealed, readSealingKey } from './backing-up/sealed-file.ts';
import { showBar } from './progress.ts';

const USAGE = `gateway restore <folder> [--key-file <file>] [--check]

Puts a backup that gateway backup has made into GATEWAY_DATA_DIR, which must be missing or empty. Every file is compared with
what the backup says of it, and the databases are looked through, before anything is in place.

  --key-file   the key that a sealed backup was made with
  --check      compare and look only; nothing is put into place
`;

const options = { 'key-file': { type: 'string' }, check: { type: 'boolean', default: false } } as const;

export async function restore(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values, positionals } = readArguments(rest, { options, positionals: 1, usage: USAGE, what: 'a folder' });
  const folder = resolve(positionals[0]!);
  const dataDir = resolve(settings.dataDir);
  const manifest = readManifest(folder);
  const paths = Object.keys(manifest.files);
  const keyFile = values['key-file'];
  if (manifest.sealed && keyFile === undefined)
    throw new Error('The backup is sealed: give the key it was made with, --key-file <file>. Nothing was changed.');
  if (!manifest.sealed && keyFile !== undefined)
    throw new Error('The backup is not sealed: leave --key-file out. Nothing was changed.');
  const key = keyFile === undefined ? null : readSealingKey(keyFile);
  if (!values.check && existsSync(dataDir) && readdirSync(dataDir).length > 0)
    throw new Error(`${dataDir} is not empty. Nothing was changed; give an empty folder as GATEWAY_DATA_DIR.`);
  const compared = showBar({ what: 'files compared', total: paths.length });
  const damage = await damageIn(folder, manifest, () => compared.add(1));
  compared.end();
  if (damage) throw new Error(`The backup is damaged: ${damage}. Nothing was changed.`);

  const aside = join(dirname(dataDir), `.${basename(dataDir)}.${process.pid}.unfinished`);
  try {
    if (key) for (const path of paths) await unseal(join(folder, path), inside(aside, path), key, path);
    for (const path of paths.filter((each) => each.endsWith('.db')))
      refuseBroken(join(key ? aside : folder, path), path);
    if (values.check) return void console.log(`The backup of ${manifest.made_at} is whole: ${paths.length} files.`);
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
