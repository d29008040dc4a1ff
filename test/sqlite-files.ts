import { copyFileSync, existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '../src/storage/store.ts';
import { migrateSqliteLog } from '../src/telemetry/log-migrate.ts';

const FILES = ['state.db', 'logs.db'];
let made: Promise<string> | null = null;

/** Our tables with nothing in them, as files of the embedded store: copies of ones that were made once in this process. */
export async function layEmptyFiles(dataDir: string): Promise<void> {
  // Not kept for longer than the folder is: some tests empty the temporary one.
  if (made && !existsSync(join(await made, FILES[0]!))) made = null;
  made ??= makeFiles();
  const folder = await made;
  for (const file of FILES) copyFileSync(join(folder, file), join(dataDir, file));
}

async function makeFiles(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tables-'));
  const store = openSqlite(join(folder, 'state.db'));
  await store.migrate();
  await store.close();
  await migrateSqliteLog(join(folder, 'logs.db'));
  return folder;
}
