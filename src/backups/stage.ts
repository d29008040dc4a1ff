import { Database } from 'bun:sqlite';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Folders of the data dir in which backups are made ready begin so. */
export const STAGE = '.backup-';
/** How the command ends when the backup is whole and older ones could not be deleted. */
export const MADE_BUT_NOT_TIDY = 3;

/**
 * For one backup at a time, until its process ends, however it ends. Whatever lies on the stage by then was left by
 * backups that were killed, and goes. Null: a backup is being made.
 */
export function lockStage(dataDir: string): { release(): void } | null {
  const lock = new Database(join(dataDir, 'backup-lock'), { create: true });
  try {
    lock.run('PRAGMA busy_timeout = 0');
    lock.run('BEGIN EXCLUSIVE');
  } catch {
    lock.close();
    return null;
  }
  for (const name of readdirSync(dataDir))
    if (name.startsWith(STAGE)) rmSync(join(dataDir, name), { recursive: true, force: true });
  return { release: () => lock.close() };
}
