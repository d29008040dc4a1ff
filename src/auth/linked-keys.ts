import { fail } from '../core/errors.ts';
import type { VirtualKeyRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import type { VirtualKeyInput } from './virtual-key.ts';

/**
 * A virtual key may use the credential of another one of the organisation, its source: then it has a name, limits and an
 * end of its own and no credential. A link of the kind `access` lets a workspace in; one of the kind `provider` is a
 * further name in that workspace, and what holds for the access holds for it, too.
 */

/** What a linked key hangs on. */
export interface Held {
  readonly source: VirtualKeyRow;
  /** That of its workspace; null: the workspace was not let in as a whole. */
  readonly access: VirtualKeyRow | null;
}

/** By the id of the linked key. A key that has a credential of its own is not in it, nor one whose source is gone. */
export async function heldKeys(db: Db, rows: readonly VirtualKeyRow[]): Promise<ReadonlyMap<string, Held>> {
  const ids = [...new Set(rows.flatMap(({ source_id }) => source_id ?? []))];
  if (ids.length === 0) return new Map();
  const sources = await db.selectFrom('virtual_keys').selectAll().where('id', 'in', ids).execute();
  const accesses = await db
    .selectFrom('virtual_keys')
    .selectAll()
    .where('source_id', 'in', ids)
    .where('link', '=', 'access')
    .where('workspace_id', 'in', [...new Set(rows.map(({ workspace_id }) => workspace_id))])
    .execute();
  const held = new Map<string, Held>();
  for (const row of rows) {
    const source = sources.find(({ id }) => id === row.source_id);
    const access = accesses.find((each) => each.source_id === row.source_id && each.workspace_id === row.workspace_id);
    if (source) held.set(row.id, { source, access: access ?? null });
  }
  return held;
}

/** Everything whose limits and end hold for a key: itself, the access of its workspace, and its source. */
export function chainOf(row: VirtualKeyRow, held: Held | undefined): readonly VirtualKeyRow[] {
  if (!held) return [row];
  const { source, access } = held;
  return access && access.id !== row.id ? [row, access, source] : [row, source];
}

/** When the first of a chain ends; null: none does. */
export const endOf = (chain: readonly VirtualKeyRow[]): number | null =>
  chain.reduce<number | null>(
    (end, { expires_at }) => (expires_at === null ? end : Math.min(end ?? expires_at, expires_at)),
    null,
  );

const OF_THE_SOURCE = ['provider', 'key', 'custom_host', 'configurations'] as const;

/** A linked key has a name and limits of its own; everything else is its source's. */
export function refuseChangeOfSource(input: Partial<VirtualKeyInput>): void {
  for (const member of OF_THE_SOURCE)
    if (input[member] !== undefined)
      fail('invalid_request', member, 'belongs to the virtual key that this one is linked to; change it there');
}

/** Lets a workspace in no more once it was closed, however late what was asked for before is done. */
export async function requireOpen(db: Db, source: VirtualKeyRow, workspaceId: string, now: number): Promise<void> {
  if (source.workspace_id === workspaceId) return;
  const open = await db
    .selectFrom('virtual_keys')
    .select('id')
    .where('source_id', '=', source.id)
    .where('workspace_id', '=', workspaceId)
    .where('link', '=', 'access')
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .executeTakeFirst();
  if (!open) fail('integration_not_found', source.slug);
}

/**
 * A credential that others use is not taken away under them, nor an access with its limits: the providers of the workspace
 * would go on without.
 */
export async function refuseInUse(db: Db, { id, slug, link, source_id, workspace_id }: VirtualKeyRow): Promise<void> {
  const all = db
    .selectFrom('virtual_keys')
    .innerJoin('workspaces', 'workspaces.id', 'virtual_keys.workspace_id')
    .select(['virtual_keys.slug', 'workspaces.slug as workspace']);
  const using =
    link === 'access'
      ? all
          .where('virtual_keys.source_id', '=', source_id)
          .where('virtual_keys.workspace_id', '=', workspace_id)
          .where('virtual_keys.link', '=', 'provider')
      : all.where('virtual_keys.source_id', '=', id);
  const links = await using.orderBy('virtual_keys.id').limit(5).execute();
  if (links.length > 0)
    fail(
      'virtual_key_linked',
      slug,
      links.map((link) => `${link.slug} in workspace ${link.workspace}`),
    );
}
