import { Database } from 'bun:sqlite';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { newApiKey } from '../core/ids.ts';
import { Secret } from '../core/secret.ts';

/** The folder of the embedded database, the spool and the generated secrets. Only its owner may look inside. */
export function openDataDir(dataDir: string) {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Error(
      `GATEWAY_DATA_DIR ${dataDir} cannot be created (${(error as Error).message}); give a folder this user may write.`,
    );
  }
  if (!statSync(dataDir).isDirectory()) throw new Error(`GATEWAY_DATA_DIR ${dataDir} is not a folder.`);
}

/**
 * Two processes on one embedded store would each believe their own caches. The kernel frees this lock when the process
 * ends, however it ends.
 */
export function lockDataDir(dataDir: string): { release(): void } {
  const lock = new Database(join(dataDir, 'lock'), { create: true });
  try {
    lock.run('PRAGMA busy_timeout = 0');
    lock.run('BEGIN EXCLUSIVE');
  } catch {
    lock.close();
    throw new Error(
      `Another gateway process is using ${dataDir}. Stop it, or give this one its own GATEWAY_DATA_DIR; several processes share a store through DATABASE_URL.`,
    );
  }
  return { release: () => lock.close() };
}

export const ENCRYPTION_KEY_FILE = 'encryption-key';
export const ADMIN_KEY_FILE = 'admin-key';

/** The master secret: the operator's, or one that is made once and kept. */
export function encryptionKeyIn(dataDir: string, given: Secret | null): Uint8Array {
  const file = join(dataDir, ENCRYPTION_KEY_FILE);
  const text = given?.reveal() ?? readSecret(file) ?? writeSecret(file, randomBytes(32).toString('base64'));
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== 32)
    throw new Error(`${file} is damaged: it should hold 32 bytes in base64. Restore it from a backup.`);
  return bytes;
}

export interface AdminKey {
  readonly key: Secret;
  /** Made just now, and therefore to be shown. */
  readonly isNew: boolean;
  /** How a shell gets at it. */
  readonly shell: string;
}

/** The bootstrap key: the operator's, or one that is made once and kept. Null: the store has one that we do not know. */
export function adminKeyIn(
  dataDir: string,
  given: Secret | null,
  { mayGenerate }: { mayGenerate: boolean },
): AdminKey | null {
  if (given) return { key: given, isNew: false, shell: '$GATEWAY_ADMIN_KEY' };
  const file = join(dataDir, ADMIN_KEY_FILE);
  const kept = readSecret(file);
  if (kept) return { key: new Secret(kept), isNew: false, shell: `$(cat '${file}')` };
  if (!mayGenerate) return null;
  const key = writeSecret(file, newApiKey());
  return { key: new Secret(key), isNew: true, shell: key };
}

function readSecret(file: string): string | null {
  if (!existsSync(file)) return null;
  // A copy or a restore may have opened it to others.
  if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  return readFileSync(file, 'utf8').trim() || null;
}

/** Complete or absent, also after a crash: written aside, flushed, then renamed. */
function writeSecret(file: string, text: string): string {
  const aside = `${file}.${process.pid}.new`;
  const handle = openSync(aside, 'w', 0o600);
  writeSync(handle, `${text}\n`);
  fsyncSync(handle);
  closeSync(handle);
  renameSync(aside, file);
  return text;
}
