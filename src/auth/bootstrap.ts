import { newId, type OrganisationId, type WorkspaceId } from '../core/ids.ts';
import { SCOPES } from '../core/scopes.ts';
import { mask, type Sealer, sha256 } from '../crypto/seal.ts';
import { announceChange } from '../storage/changes.ts';
import { type Db, isUniqueViolation, type Store } from '../storage/store.ts';
import { DEFAULT_WORKSPACE } from './workspaces.ts';

const PROOF = 'encryption-key-proof';

/** Whether this store was sealed under another master secret; it would answer, but no credential would open. */
async function proveEncryptionKey(db: Db, sealer: Sealer) {
  const fact = await db.selectFrom('facts').select('value').where('name', '=', PROOF).executeTakeFirst();
  if (!fact) {
    await db
      .insertInto('facts')
      .values({ name: PROOF, value: sealer.seal('proof', PROOF, 'proof') })
      .execute();
    return;
  }
  try {
    sealer.open('proof', PROOF, fact.value);
  } catch {
    throw new Error('GATEWAY_ENCRYPTION_KEY is not the key this database was sealed with; give the old one back.');
  }
}

async function ensureOrganisation(
  db: Db,
  now: number,
): Promise<{ organisationId: OrganisationId; workspaceId: WorkspaceId; isNew: boolean }> {
  const existing = await db.selectFrom('organisations').select('id').orderBy('created_at').executeTakeFirst();
  if (existing) {
    const workspace = await db
      .selectFrom('workspaces')
      .select('id')
      .where('organisation_id', '=', existing.id)
      .where('slug', '=', DEFAULT_WORKSPACE)
      .executeTakeFirstOrThrow();
    return { organisationId: existing.id as OrganisationId, workspaceId: workspace.id as WorkspaceId, isNew: false };
  }
  const organisationId = newId<OrganisationId>();
  const workspaceId = newId<WorkspaceId>();
  await db.insertInto('organisations').values({ id: organisationId, name: 'default', created_at: now }).execute();
  await db
    .insertInto('workspaces')
    .values({
      id: workspaceId,
      organisation_id: organisationId,
      slug: DEFAULT_WORKSPACE,
      name: 'Default',
      description: null,
      defaults: '{}',
      created_at: now,
      updated_at: now,
    })
    .execute();
  return { organisationId, workspaceId, isNew: true };
}

/** Makes the given key the one that may do everything; an earlier one stops working. Answers whether there was one. */
async function ensureAdminKey(
  db: Db,
  place: { organisationId: string; workspaceId: string },
  adminKey: string,
  now: number,
): Promise<boolean> {
  const hash = sha256(adminKey);
  const scopes = JSON.stringify(SCOPES);
  const holder = await db
    .selectFrom('api_key_secrets')
    .innerJoin('api_keys', 'api_keys.id', 'api_key_secrets.api_key_id')
    .where('hash', '=', hash)
    .select(['api_keys.id', 'api_keys.origin'])
    .executeTakeFirst();
  if (holder && holder.origin !== 'bootstrap') {
    throw new Error('GATEWAY_ADMIN_KEY is already the secret of another API key; choose one of its own.');
  }
  if (holder) {
    await db.updateTable('api_keys').set({ scopes }).where('id', '=', holder.id).execute();
    return false;
  }
  const old = await db.selectFrom('api_keys').select('id').where('origin', '=', 'bootstrap').executeTakeFirst();
  const id = old?.id ?? newId();
  if (old) {
    await db.deleteFrom('api_key_secrets').where('api_key_id', '=', id).execute();
    await db
      .updateTable('api_keys')
      .set({ scopes, masked: mask(adminKey), updated_at: now })
      .where('id', '=', id)
      .execute();
  } else {
    await db
      .insertInto('api_keys')
      .values({
        id,
        organisation_id: place.organisationId,
        workspace_id: place.workspaceId,
        user_id: null,
        name: 'admin',
        description: 'The bootstrap key: every scope on the organisation.',
        scopes,
        defaults: '{}',
        masked: mask(adminKey),
        origin: 'bootstrap',
        expires_at: null,
        created_at: now,
        updated_at: now,
      })
      .execute();
  }
  await db.insertInto('api_key_secrets').values({ hash, api_key_id: id, valid_until: null, created_at: now }).execute();
  return old !== undefined;
}

export const hasAdminKey = async (db: Db): Promise<boolean> =>
  (await db.selectFrom('api_keys').select('id').where('origin', '=', 'bootstrap').executeTakeFirst()) !== undefined;

/** What the first start creates and every start makes sure of, in one transaction. */
export async function bootstrap(
  store: Store,
  sealer: Sealer,
  { adminKey, now }: { adminKey: string | null; now: number },
) {
  const run = () =>
    store.transaction(async (db) => {
      await proveEncryptionKey(db, sealer);
      const place = await ensureOrganisation(db, now);
      const isReplaced = adminKey !== null && (await ensureAdminKey(db, place, adminKey, now));
      if (place.isNew) await createDemoKey(db, sealer, place, now);
      if (isReplaced) await announceChange(db, store.engine, 'keys');
      return place;
    });
  try {
    return await run();
  } catch (error) {
    // Two nodes that start together on an empty database: the second finds what the first has made.
    if (!isUniqueViolation(error)) throw error;
    return run();
  }
}

async function createDemoKey(
  db: Db,
  sealer: Sealer,
  place: { organisationId: string; workspaceId: string },
  now: number,
) {
  const id = newId<string>();
  await db
    .insertInto('virtual_keys')
    .values({
      id,
      organisation_id: place.organisationId,
      workspace_id: place.workspaceId,
      slug: 'demo',
      name: 'Demo (simulated)',
      note: 'Answers from the built-in simulator, offline. Delete it when it is not wanted.',
      provider: 'simulator',
      custom_host: null,
      sealed: sealer.seal('virtual-key', id, JSON.stringify({ key: null, configurations: {} })),
      masked: '',
      source_id: null,
      link: null,
      expires_at: null,
      created_at: now,
      updated_at: now,
    })
    .execute();
}
