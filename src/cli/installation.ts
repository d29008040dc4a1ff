import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { doubtAbout, headsIn } from '../audit/chain-doubt.ts';
import { keptHeads } from '../audit/heads-file.ts';
import { bootstrap } from '../auth/bootstrap.ts';
import { DEFAULT_WORKSPACE } from '../auth/workspaces.ts';
import type { ApiKeyId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import { SCOPES } from '../core/scopes.ts';
import { createSealer, type Sealer } from '../crypto/seal.ts';
import { COMMAND_LINE } from '../desired/change-records.ts';
import type { Ground } from '../desired/ground.ts';
import type { Settings } from '../settings.ts';
import type { AnyDb } from '../storage/migrate.ts';
import { migrations } from '../storage/migrations.ts';
import { refuseHalfMoved, refuseMoved } from '../storage/move-mark.ts';
import { openSqlite, openStore, type Store } from '../storage/store.ts';
import { encryptionKeyIn, lockDataDir, openDataDir } from './data-dir.ts';

/** The database of an installation, for commands that change it without a running gateway. The operator may do everything. */
export interface Installation extends Ground {
  /** Null: the embedded store. */
  readonly databaseUrl: string | null;
  close(): Promise<void>;
}

/**
 * Opens the database, and makes it when there is none yet. To look only (`isDryRun`), it is neither made nor brought up
 * to date: an empty one in memory takes the place of a missing one.
 */
export async function openInstallation(settings: Settings, { isDryRun }: { isDryRun: boolean }): Promise<Installation> {
  const { dataDir } = settings;
  const databaseUrl = settings.databaseUrl?.reveal() ?? null;
  const isMissing = databaseUrl === null && !existsSync(join(dataDir, 'state.db'));
  if (isDryRun && isMissing) return installationOn(openSqlite(':memory:'), createSealer(randomBytes(32)), null);
  if (databaseUrl === null) openDataDir(dataDir);
  if (databaseUrl === null) refuseMoved(dataDir);
  const lock = databaseUrl === null ? lockForCommand(dataDir) : null;
  const sealer = createSealer(encryptionKeyIn(dataDir, settings.encryptionKey));
  const store = await openStore({ databaseUrl, dataDir });
  try {
    if (isDryRun) await refuseOldSchema(store);
    if (!isDryRun) await store.migrate();
    await refuseHalfMoved(store.db);
    const { close, ...rest } = await installationOn(store, sealer, databaseUrl);
    if (!isDryRun) await refuseLogInDoubt(store, sealer, dataDir);
    const release = async () => {
      await close();
      lock?.release();
    };
    return { ...rest, close: release };
  } catch (error) {
    await store.close().catch(() => {});
    lock?.release();
    throw error;
  }
}

/** An installation on a store that is open. */
export async function installationOn(store: Store, sealer: Sealer, databaseUrl: string | null): Promise<Installation> {
  await store.migrate();
  const { organisationId, workspaceId } = await bootstrap(store, sealer, { adminKey: null, now: Date.now() });
  const who: Principal = {
    organisationId,
    workspaceId,
    workspaceSlug: DEFAULT_WORKSPACE,
    keyId: 'operator' as ApiKeyId,
    keyName: 'operator',
    userId: null,
    scopes: new Set(SCOPES),
    defaults: {},
    limits: [],
  };
  const endWorkspace: Ground['endWorkspace'] =
    (inside) =>
    async (...workspace) => {
      // Loaded when a workspace is to be ended: it knows every area.
      const { endWorkspaceByCommand } = await import('./end-workspace.ts');
      await endWorkspaceByCommand(inside, sealer)(...workspace);
    };
  return { store, sealer, databaseUrl, who, author: COMMAND_LINE, endWorkspace, close: () => store.close() };
}

function lockForCommand(dataDir: string): { release(): void } {
  try {
    return lockDataDir(dataDir);
  } catch {
    throw new Error(
      `A gateway is running on ${dataDir}, and the embedded store has one process at a time. Stop it for this command, or make the change through its API.`,
    );
  }
}

/** What a command changes is recorded, like a call; and like a call it waits until an operator has decided about the log. */
async function refuseLogInDoubt(store: Store, sealer: Sealer, dataDir: string) {
  const heads = await headsIn(store.db);
  for (const kept of keptHeads(dataDir, store.engine)) {
    const doubt = await doubtAbout(kept, { db: store.db, sealer, heads });
    if (doubt !== null)
      throw new Error(
        `The audit log is in doubt: ${doubt}. Nothing was changed; see "gateway audit verify" and "gateway audit restart".`,
      );
  }
}

/** Looking at a database must not change it, and one of an older version cannot be compared. */
async function refuseOldSchema(store: Store) {
  const names = await (store.db as unknown as AnyDb)
    .selectFrom('gateway_migrations')
    .select('name')
    .execute()
    .catch(() => []);
  const applied = new Set(names.map(({ name }) => String(name)));
  if (migrations.some(({ name }) => !applied.has(name)))
    throw new Error('The database is of an older version. Run "gateway migrate" first, then look again.');
}
