import { checkLastOwner, checkOwners, endLogins, insertUser, isDeactivated, plainEmail } from '../auth/users.ts';
import { fail, GatewayError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import type { Changes } from '../storage/changes.ts';
import type { UserRow } from '../storage/schema.ts';
import { type Db, isUniqueViolation, type Store } from '../storage/store.ts';
import { OF_GROUPS } from './align.ts';
import { emailOf, readUser, readUserChange, type UserAttributes } from './attributes.ts';
import { type Condition, readFilter } from './filter.ts';
import { type Operation, readOperations } from './patch.ts';
import { isShown, listOf, metaOf, pageWish, type Shown, shownOf, USER } from './resource.ts';

export interface ScimDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'transaction'>;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

export interface ListWish extends Shown {
  readonly filter?: string;
  readonly startIndex?: number;
  readonly count?: number;
}

export const USER_FILTERS = ['id', 'userName', 'externalId', 'emails.value', 'emails[type eq "work"].value', 'active'];
type Body = Readonly<Record<string, unknown>>;

/** The directory's name for a user: the one that it gave, else the address. */
const userNameOf = ({ scim_user_name, email }: UserRow): string => scim_user_name ?? email;

/** One change of users at a time, which the topic sees to: what a user may do follows from all groups together. */
export const changing =
  ({ changes }: Pick<ScimDeps, 'changes'>) =>
  <Result>(who: Principal, work: (db: Db) => Promise<Result>): Promise<Result> =>
    changes.transaction('users', work, who);

export function createScimUsers(deps: ScimDeps) {
  const { store, publicUrl, now } = deps;
  const change = changing(deps);

  const shown = (row: UserRow, groups: readonly Group[]) => ({
    schemas: [USER],
    id: row.id,
    ...(row.scim_external_id && { externalId: row.scim_external_id }),
    userName: userNameOf(row),
    name: {
      ...(row.first_name && { givenName: row.first_name }),
      ...(row.last_name && { familyName: row.last_name }),
      formatted: [row.first_name, row.last_name].filter(Boolean).join(' ') || userNameOf(row),
    },
    displayName:
      row.scim_display_name ?? ([row.first_name, row.last_name].filter(Boolean).join(' ') || userNameOf(row)),
    emails: [{ value: row.email, type: 'work', primary: true }],
    active: !isDeactivated(row),
    groups: groups.map(({ id, display_name }) => ({ value: id, display: display_name, type: 'direct' })),
    meta: metaOf('User', row, publicUrl()),
  });
  const withGroups = async (db: Db, rows: readonly UserRow[], wish: Shown = {}) => {
    const ids = rows.map(({ id }) => id);
    const groups = isShown(wish, 'groups') ? await groupsOf(db, ids) : new Map<string, Group[]>();
    return rows.map((row) => shownOf(shown(row, groups.get(row.id) ?? []), wish));
  };

  const find = async (db: Db, who: Principal, id: string): Promise<UserRow> =>
    (await visible(db, who).selectAll().where('id', '=', id).executeTakeFirst()) ??
    fail('user_not_found', id.slice(0, 80));

  /** Throws where another user has the name or the address. */
  const refuseTaken = async (db: Db, who: Principal, { id, userName, email }: Taken) => {
    const others = await visible(db, who)
      .select(['email', 'scim_user_name'])
      .where('id', '!=', id)
      .where((where) =>
        where.or([where('scim_user_name', '=', userName), where('email', '=', email), where('email', '=', userName)]),
      )
      .execute();
    for (const other of others) {
      if (other.email === email) fail('scim_uniqueness', 'emails', email);
      if ((other.scim_user_name ?? other.email) === userName) fail('scim_uniqueness', 'userName', userName);
    }
  };

  /** Throws where a directory alone would say who comes in with rights that an administrator gave. */
  const checkTrusted = async (db: Db, who: Principal, { id, role, role_origin }: UserRow) => {
    if (who.scopes.has('users.update')) return;
    const above = await db
      .selectFrom('workspace_members')
      .select('role')
      .where('user_id', '=', id)
      .where('role', '!=', 'member')
      .where('origin', 'is', null)
      .executeTakeFirst();
    if (above || (role !== 'member' && role_origin !== OF_GROUPS)) fail('insufficient_scope', 'users.update');
  };

  /** The row with the change, and what goes along with it. */
  const write = async (db: Db, who: Principal, old: UserRow, wish: UserAttributes): Promise<UserRow> => {
    const at = now();
    const userName = wish.userName === undefined ? userNameOf(old) : plainEmail(wish.userName);
    const email = wish.email ? plainEmail(wish.email) : addressFrom(wish.userName, old.email);
    const wasActive = !isDeactivated(old);
    const isActive = wish.active ?? wasActive;
    const next: UserRow = {
      ...old,
      email,
      first_name: wish.givenName === undefined ? old.first_name : wish.givenName,
      last_name: wish.familyName === undefined ? old.last_name : wish.familyName,
      scim_user_name: userName,
      scim_external_id: wish.externalId === undefined ? old.scim_external_id : wish.externalId,
      scim_display_name: wish.displayName === undefined ? old.scim_display_name : wish.displayName,
      deactivated_at: isActive ? null : (old.deactivated_at ?? at),
      updated_at: at,
    };
    // By the address an identity provider's account finds its user, so a change of it is one of who comes in.
    if (email !== old.email || isActive !== wasActive) checkOwners(who, old.role);
    if (email !== old.email) await checkTrusted(db, who, old);
    if (wasActive && !isActive && old.role === 'owner') await checkLastOwner(db, store.engine, old);
    await refuseTaken(db, who, { id: old.id, userName, email });
    await db
      .updateTable('users')
      .set(next)
      .where('id', '=', old.id)
      .execute()
      .catch((error) =>
        isUniqueViolation(error) ? fail('scim_uniqueness', 'userName', userName) : Promise.reject(error),
      );
    if (wasActive && !isActive) await endLogins(db, old.id);
    return next;
  };

  return {
    async list(who: Principal, wish: ListWish) {
      const { startIndex, count } = pageWish(wish);
      const conditions = readFilter(wish.filter, USER_FILTERS);
      const matching = () => conditions.reduce(narrowed, visible(store.db, who));
      const { total } = await matching()
        .select((select) => select.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      const rows =
        count === 0
          ? []
          : await matching()
              .selectAll()
              .orderBy('id')
              .limit(count)
              .offset(startIndex - 1)
              .execute();
      return listOf(await withGroups(store.db, rows, wish), Number(total), startIndex);
    },

    async read(who: Principal, id: string, wish: Shown) {
      return (await withGroups(store.db, [await find(store.db, who, id)], wish))[0];
    },

    /** A user without a password, in no workspace but those that groups mean. */
    async create(who: Principal, body: Body) {
      const wish = readUser(body);
      const at = now();
      const userName = plainEmail(wish.userName);
      const email = plainEmail(wish.email ?? emailOf(wish.userName, 'emails'));
      const row: UserRow = {
        id: newId(),
        organisation_id: who.organisationId,
        email,
        username: null,
        first_name: wish.givenName ?? null,
        last_name: wish.familyName ?? null,
        role: 'member',
        password_hash: null,
        external_id: null,
        scim_user_name: userName,
        scim_external_id: wish.externalId ?? null,
        scim_display_name: wish.displayName ?? null,
        deactivated_at: wish.active === false ? at : null,
        created_at: at,
        updated_at: at,
      };
      return change(who, async (db) => {
        await refuseTaken(db, who, { id: row.id, userName, email });
        // An administrator may have made a user of that address in between, and directories wait for a 409.
        await insertUser(db, row, []).catch((error) =>
          error instanceof GatewayError && error.code === 'email_taken'
            ? fail('scim_uniqueness', 'emails', email)
            : Promise.reject(error),
        );
        return shown(row, []);
      });
    },

    async replace(who: Principal, id: string, body: Body) {
      const wish = readUser(body);
      return change(who, async (db) => {
        const next = await write(db, who, await find(db, who, id), wish);
        return (await withGroups(db, [next]))[0];
      });
    },

    async patch(who: Principal, id: string, operations: readonly Operation[]) {
      const wish = readUserChange(readOperations(operations));
      return change(who, async (db) => {
        const next = await write(db, who, await find(db, who, id), wish);
        return (await withGroups(db, [next]))[0];
      });
    },

    /** The user's API keys and sessions end with them. */
    async delete(who: Principal, id: string): Promise<void> {
      await change(who, async (db) => {
        const row = await find(db, who, id);
        checkOwners(who, row.role);
        if (row.role === 'owner') await checkLastOwner(db, store.engine, row);
        await db.deleteFrom('api_keys').where('user_id', '=', id).execute();
        await db.deleteFrom('users').where('id', '=', id).execute();
      });
    },
  };
}

export type ScimUsers = ReturnType<typeof createScimUsers>;

interface Taken {
  readonly id: string;
  readonly userName: string;
  readonly email: string;
}

interface Group {
  readonly id: string;
  readonly display_name: string;
}

/** Every user of the organisation: a directory looks for those that are here before it makes others. */
const visible = (db: Db, { organisationId }: Principal) =>
  db.selectFrom('users').where('organisation_id', '=', organisationId);

/** A name that is an address is one, where no address stands beside it. */
const addressFrom = (userName: string | undefined, before: string): string =>
  userName?.includes('@') ? plainEmail(emailOf(userName, 'userName')) : before;

function narrowed(query: ReturnType<typeof visible>, { attribute, value }: Condition): ReturnType<typeof visible> {
  const name = plainEmail(value);
  if (attribute === 'id') return query.where('id', '=', value);
  if (attribute === 'externalid') return query.where('scim_external_id', '=', value);
  if (attribute === 'active') return query.where('deactivated_at', name === 'true' ? 'is' : 'is not', null);
  if (attribute === 'username')
    return query.where((where) =>
      where.or([
        where('scim_user_name', '=', name),
        where.and([where('scim_user_name', 'is', null), where('email', '=', name)]),
      ]),
    );
  return query.where('email', '=', name);
}

async function groupsOf(db: Db, userIds: readonly string[]): Promise<Map<string, Group[]>> {
  const found = new Map<string, Group[]>();
  if (userIds.length === 0) return found;
  const rows = await db
    .selectFrom('scim_group_members')
    .innerJoin('scim_groups', 'scim_groups.id', 'scim_group_members.group_id')
    .where('user_id', 'in', userIds)
    .select(['user_id', 'scim_groups.id', 'display_name'])
    .orderBy('scim_groups.id')
    .execute();
  for (const { user_id, ...group } of rows) found.set(user_id, [...(found.get(user_id) ?? []), group]);
  return found;
}
