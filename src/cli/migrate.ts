import type { Settings } from '../settings.ts';
import { openStore } from '../storage/store.ts';
import { lockDataDir, openDataDir } from './data-dir.ts';

/** Brings the state database up to date and ends, for deployments that migrate before they start nodes. */
export async function migrateOnly(settings: Settings): Promise<void> {
  openDataDir(settings.dataDir);
  const lock = settings.databaseUrl ? null : lockDataDir(settings.dataDir);
  const store = await openStore({ databaseUrl: settings.databaseUrl?.reveal() ?? null, dataDir: settings.dataDir });
  try {
    const applied = await store.migrate();
    console.log(applied.length > 0 ? `Applied ${applied.join(', ')}.` : 'The database is up to date.');
  } finally {
    await store.close();
    lock?.release();
  }
}
