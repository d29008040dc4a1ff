import type { UserId } from '../core/ids.ts';
import { StaleCache } from '../core/stale-cache.ts';
import type { Store } from '../storage/store.ts';

/** What a server may be told of the user behind a key. */
export interface KnownUser {
  readonly email: string;
  readonly username: string | null;
}
export type FindUser = (id: UserId) => KnownUser | null | Promise<KnownUser | null>;

export function createFindUser({ store, now }: { store: Store; now: () => number }): FindUser {
  const cache = new StaleCache<KnownUser>({ capacity: 10_000, freshMs: 10_000, staleMs: 3_600_000, now });
  const load = async (id: UserId): Promise<KnownUser | null> =>
    (await store.db.selectFrom('users').select(['email', 'username']).where('id', '=', id).executeTakeFirst()) ?? null;
  return (id) => cache.peek(id) ?? cache.get(id, () => load(id));
}
