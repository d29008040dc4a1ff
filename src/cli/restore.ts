import { Database } from 'bun:sqlite';
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Settings } from '../settings.ts';
import { readArguments } from './arguments.ts';
import { damageIn, readManifest } from './backing-up/manifest.ts';
import { showBar } from './progress.ts';

const USAGE = `gateway restore <folder> [--check]

Puts a backup that gateway backup has made into GATEWAY_DATA_DIR, which must be missing or empty. Every file is compared with
what the backup says of it, and the databases are looked through, before anything is in place.

  --check   compare and look only; write nothing
`;

const options = { check: { type: 'boolean', default: false } } as const;

export async function restore(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values, positionals } = readArguments(rest, { options, positionals: 1, usage: USAGE, what: 'a folder' });
  const folder = resolve(positionals[0]!);
  const dataDir = resolve(settings.dataDir);
  const manifest = readManifest(folder);
  const paths = Object.keys(manifest.files);
  if (!values.check && existsSync(dataDir) && readdirSync(dataDir).length > 0)
    throw new Error(`${dataDir} is not empty. Nothing was changed; give an empty folder as GATEWAY_DATA_DIR.`);
  const compared = showBar({ what: 'files compared', total: paths.length });
  const damage = await damageIn(folder, manifest, () => compared.add(1));
  compared.end();
  if (damage) throw new Error(`The backup is damaged: ${damage}. Nothing was changed.`);
  for (const path of paths.filter((each) => each.endsWith('.db'))) refuseBroken(join(folder, path), path);
  if (values.check) return void console.log(`The backup of ${manifest.made_at} is whole: ${paths.length} files.`);

  const aside = join(dirname(dataDir), `.${basename(dataDir)}.${process.pid}.unfinished`);
  try {
    for (const path of paths) {
      mkdirSync(dirname(join(aside, path)), { recursive: true, mode: 0o700 });
      copyFileSync(join(folder, path), join(aside, path));
    }
    // An empty folder gives way.
    rmSync(dataDir, { recursive: true, force: true });
    renameSync(aside, dataDir);
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    throw error;
  }
  console.log(`Restored ${paths.length} files of ${manifest.made_at} to ${dataDir}. Start the gateway.`);
  if (!manifest.files['encryption-key'])
    console.log('The encryption key is not in it: start with the one of before, as GATEWAY_ENCRYPTION_KEY.');
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
