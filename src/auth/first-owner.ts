import { randomBytes } from 'node:crypto';
import { fail } from '../core/errors.ts';
import { newId, type OrganisationId } from '../core/ids.ts';
import type { Witnessed } from '../core/principal.ts';
import type { Passwords } from '../crypto/password.ts';
import { sha256 } from '../crypto/seal.ts';
import { lockName } from '../storage/name-lock.ts';
import type { UserRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import type { NewSession, Sessions } from './sessions.ts';
import { insertUser, plainEmail } from './users.ts';

const LIVES_MS = 15 * 60_000;
/** In front of the hash of a token, as the name of a fact; its value is when the link ends. */
const FACT = 'first-owner-link ';

const hasOwner = async (db: Db): Promise<boolean> =>
  (await db.selectFrom('users').select('id').where('role', '=', 'owner').executeTakeFirst()) !== undefined;

/**
 * A token for whom the operator shows it to, while there is no owner; null: there is one. Only its hash is kept. Nodes that
 * start together make one each, and the first that is used ends all.
 */
export async function newOwnerToken(store: Store, now: number): Promise<string | null> {
  return store.transaction(async (db) => {
    if (await hasOwner(db)) return null;
    const token = randomBytes(32).toString('base64url');
    const old = await db.selectFrom('facts').selectAll().where('name', 'like', `${FACT}%`).execute();
    const ended = old.filter(({ value }) => Number(value) <= now).map(({ name }) => name);
    if (ended.length > 0) await db.deleteFrom('facts').where('name', 'in', ended).execute();
    await db
      .insertInto('facts')
      .values({ name: FACT + sha256(token), value: String(now + LIVES_MS) })
      .execute();
    return token;
  });
}

export interface FirstOwnerInput {
  readonly token: string;
  readonly email: string;
  readonly password: string;
  readonly first_name?: string | null;
  readonly last_name?: string | null;
}

export interface FirstOwnerDeps {
  readonly store: Store;
  readonly passwords: Passwords;
  readonly sessions: Pick<Sessions, 'open'>;
  readonly organisationId: OrganisationId;
  readonly now: () => number;
}

/** Makes the first owner by the link that a start printed. */
export function createFirstOwner({ store, passwords, sessions, organisationId, now }: FirstOwnerDeps) {
  const check = async (db: Db, token: string): Promise<void> => {
    const name = FACT + sha256(token);
    const link = await db.selectFrom('facts').select('value').where('name', '=', name).executeTakeFirst();
    if (!link || Number(link.value) <= now() || (await hasOwner(db))) fail('owner_link_ended');
  };
  return {
    async accept(
      input: FirstOwnerInput,
      from: Witnessed,
      /** Gets to know who it is before anything is stored. */
      made: (user: UserRow) => void,
    ): Promise<NewSession> {
      // Before the password is hashed, which takes long.
      await check(store.db, input.token);
      const password_hash = await passwords.hash(input.password);
      return store.transaction(async (db) => {
        // Of two who come at once, by the same link or by those of two nodes, the second finds that there is an owner.
        await lockName(db, store, 'first owner');
        await check(db, input.token);
        await db.deleteFrom('facts').where('name', 'like', `${FACT}%`).execute();
        const user: UserRow = {
          id: newId(),
          organisation_id: organisationId,
          email: plainEmail(input.email),
          username: null,
          first_name: input.first_name ?? null,
          last_name: input.last_name ?? null,
          role: 'owner',
          password_hash,
          external_id: null,
          created_at: now(),
          updated_at: now(),
        };
        made(user);
        await insertUser(db, user, undefined);
        return sessions.open(db, user);
      }, from);
    },
  };
}

export type FirstOwner = ReturnType<typeof createFirstOwner>;
