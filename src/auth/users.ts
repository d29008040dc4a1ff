import { fail } from '../core/errors.ts';
import { newId, type UserId } from '../core/ids.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { Passwords } from '../crypto/password.ts';
import type { Changes } from '../storage/changes.ts';
import type { Person } from '../storage/ending.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { UserRow, WorkspaceMemberRow } from '../storage/schema.ts';
import { type Db, isUniqueViolation, type Store } from '../storage/store.ts';
import { isRaise, type Role, type WorkspaceRole } from './roles.ts';
import { DEFAULT_WORKSPACE } from './workspaces.ts';

export interface User {
  readonly id: UserId;
  readonly object: 'user';
  readonly email: string;
  readonly username: string | null;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly role: Role;
  /** `deactivated`: a directory has shut the user out. */
  readonly status: 'active' | 'deactivated';
  readonly workspace_ids: readonly string[];
  readonly created_at: string;
  readonly last_updated_at: string;
}

export interface Membership {
  /** The id or slug of a workspace. */
  readonly id: string;
  readonly role: WorkspaceRole;
}

export interface UserInput {
  readonly email: string;
  readonly username?: string | null;
  readonly first_name?: string | null;
  readonly last_name?: string | null;
  readonly password?: string;
  readonly role: Role;
  /** Left out: a member of `default`. */
  readonly workspaces?: readonly Membership[];
}
export type UserChange = Partial<Omit<UserInput, 'workspaces' | 'password'>> & { readonly password?: string | null };

export const plainEmail = (email: string): string => email.trim().toLowerCase();

/** Whether a directory has shut the user out. */
export const isDeactivated = ({ deactivated_at }: Pick<UserRow, 'deactivated_at'>): boolean =>
  deactivated_at !== null && deactivated_at !== undefined;

export const shownUser = (row: UserRow, workspaceIds: readonly string[]): User => ({
  id: row.id as UserId,
  object: 'user',
  email: row.email,
  username: row.username,
  first_name: row.first_name,
  last_name: row.last_name,
  role: row.role,
  status: isDeactivated(row) ? 'deactivated' : 'active',
  workspace_ids: workspaceIds,
  created_at: new Date(Number(row.created_at)).toISOString(),
  last_updated_at: new Date(Number(row.updated_at)).toISOString(),
});

/** Users the caller may see: all of its organisation, or the members of its workspace. */
const visible = (db: Db, who: Principal) => {
  const query = db.selectFrom('users').where('organisation_id', '=', who.organisationId);
  if (reachesOrganisation(who)) return query;
  const members = db.selectFrom('workspace_members').select('user_id').where('workspace_id', '=', who.workspaceId);
  return query.where('id', 'in', members);
};

export const findUser = async (db: Db, who: Principal, id: string): Promise<UserRow> =>
  (await visible(db, who).selectAll().where('id', '=', id).executeTakeFirst()) ??
  fail('user_not_found', id.slice(0, 80));

export async function workspaceIdsOf(db: Db, userIds: readonly string[]): Promise<Map<string, string[]>> {
  const rows =
    userIds.length === 0
      ? []
      : await db
          .selectFrom('workspace_members')
          .select(['user_id', 'workspace_id'])
          .where('user_id', 'in', userIds)
          .orderBy('workspace_id')
          .execute();
  const found = new Map(userIds.map((id) => [id, [] as string[]]));
  for (const { user_id, workspace_id } of rows) found.get(user_id)!.push(workspace_id);
  return found;
}

/** Only owners make and change owners: any other role that could do so could make itself owner. */
export function checkOwners(who: Principal, ...roles: (Role | undefined)[]) {
  if (roles.includes('owner') && !who.scopes.has('owners.manage')) fail('insufficient_scope', 'owners.manage');
}

/** The rows of memberships by what callers call the workspaces. */
export async function membershipRows(
  db: Db,
  { organisationId, userId, now }: { organisationId: string; userId: string; now: number },
  wanted: readonly Membership[] = [{ id: DEFAULT_WORKSPACE, role: 'member' }],
): Promise<WorkspaceMemberRow[]> {
  const names = wanted.map(({ id }) => id);
  const workspaces =
    names.length === 0
      ? []
      : await db
          .selectFrom('workspaces')
          .select(['id', 'slug'])
          .where('organisation_id', '=', organisationId)
          .where((where) => where.or([where('id', 'in', names), where('slug', 'in', names)]))
          .execute();
  const rows = wanted.map(({ id, role }, index) => {
    const found = workspaces.find((each) => each.id === id || each.slug === id);
    if (!found) fail('invalid_request', `workspaces[${index}].id`, `there is no workspace ${id}`);
    return { workspace_id: found.id, user_id: userId, role, created_at: now, updated_at: now };
  });
  if (new Set(rows.map(({ workspace_id }) => workspace_id)).size !== rows.length)
    fail('invalid_request', 'workspaces', 'names a workspace twice');
  return rows;
}

/** Puts a user into the store with the workspaces they belong to. */
export async function insertUser(db: Db, row: UserRow, workspaces: readonly Membership[] | undefined): Promise<User> {
  try {
    await db.insertInto('users').values(row).execute();
  } catch (error) {
    if (isUniqueViolation(error)) fail('email_taken', row.email);
    throw error;
  }
  const place = { organisationId: row.organisation_id, userId: row.id, now: row.created_at };
  const memberships = await membershipRows(db, place, workspaces);
  if (memberships.length > 0) await db.insertInto('workspace_members').values(memberships).execute();
  return shownUser(
    row,
    memberships.map(({ workspace_id }) => workspace_id),
  );
}

/** Throws unless an owner who may come in is left without this one. Others who ask the same wait. */
export async function checkLastOwner(db: Db, engine: Store['engine'], { id, organisation_id }: UserRow): Promise<void> {
  const organisation = db.selectFrom('organisations').select('id').where('id', '=', organisation_id);
  await (engine === 'postgres' ? organisation.forUpdate() : organisation).execute();
  const other = await db
    .selectFrom('users')
    .select('id')
    .where('organisation_id', '=', organisation_id)
    .where('role', '=', 'owner')
    .where('deactivated_at', 'is', null)
    .where('id', '!=', id)
    .executeTakeFirst();
  if (!other) fail('last_owner', id);
}

/** Ends every way in that a user has opened: sessions, and the clients and programs that the user has let in. */
export async function endLogins(db: Db, userId: string): Promise<void> {
  await db.deleteFrom('sessions').where('user_id', '=', userId).execute();
  await db.deleteFrom('mcp_grants').where('user_id', '=', userId).execute();
  await db.deleteFrom('api_keys').where('user_id', '=', userId).where('origin', '=', 'login').execute();
}

export interface UsersDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'transaction'>;
  readonly passwords: Passwords;
  readonly now: () => number;
}

export function createUsers({ store, changes, passwords, now }: UsersDeps) {
  /** A key that sees only its workspace may look at its people, and change none: they belong to others, too. */
  const findToChange = async (db: Db, who: Principal, id: string): Promise<UserRow> => {
    const row = await findUser(db, who, id);
    if (!reachesOrganisation(who)) fail('insufficient_scope', 'organisation.manage');
    checkOwners(who, row.role);
    return row;
  };

  return {
    async create(who: Principal, input: UserInput): Promise<User> {
      checkOwners(who, input.role);
      const at = now();
      const row: UserRow = {
        id: newId(),
        organisation_id: who.organisationId,
        email: plainEmail(input.email),
        username: input.username ?? null,
        first_name: input.first_name ?? null,
        last_name: input.last_name ?? null,
        role: input.role,
        password_hash: input.password === undefined ? null : await passwords.hash(input.password),
        external_id: null,
        created_at: at,
        updated_at: at,
      };
      return store.transaction((db) => insertUser(db, row, input.workspaces), who);
    },

    async list(who: Principal, query: PageQuery & { email?: string; role?: Role }): Promise<Page<User>> {
      let matching = visible(store.db, who);
      if (query.email !== undefined) matching = matching.where('email', '=', plainEmail(query.email));
      if (query.role !== undefined) matching = matching.where('role', '=', query.role);
      const { rows, total } = await rowsOnPage(matching, query);
      const workspaces = await workspaceIdsOf(
        store.db,
        rows.map(({ id }) => id),
      );
      return page(
        rows.map((row) => shownUser(row, workspaces.get(row.id)!)),
        total,
        query,
      );
    },

    async read(who: Principal, id: string): Promise<User> {
      const row = await findUser(store.db, who, id);
      return shownUser(row, (await workspaceIdsOf(store.db, [id])).get(id)!);
    },

    /** A user who has proven who they are. */
    async self(id: string): Promise<User> {
      const [row, workspaceIds] = await Promise.all([
        store.db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst(),
        workspaceIdsOf(store.db, [id]),
      ]);
      return shownUser(row ?? fail('user_not_found', id), workspaceIds.get(id)!);
    },

    async update(who: Principal, id: string, input: UserChange): Promise<User> {
      const hash = input.password ? await passwords.hash(input.password) : null;
      return changes.transaction(
        'users',
        async (db) => {
          const old = await findToChange(db, who, id);
          checkOwners(who, input.role);
          const role = input.role ?? old.role;
          if (who.userId === id && isRaise(old.role, role)) fail('own_role');
          if (old.role === 'owner' && role !== 'owner') await checkLastOwner(db, store.engine, old);
          const next: UserRow = {
            ...old,
            email: input.email === undefined ? old.email : plainEmail(input.email),
            username: input.username === undefined ? old.username : input.username,
            first_name: input.first_name === undefined ? old.first_name : input.first_name,
            last_name: input.last_name === undefined ? old.last_name : input.last_name,
            role,
            // What an administrator says of a role stands, whatever groups of a directory say later.
            role_origin: input.role === undefined ? old.role_origin : 'set',
            password_hash: input.password === undefined ? old.password_hash : hash,
            updated_at: now(),
          };
          await db
            .updateTable('users')
            .set(next)
            .where('id', '=', id)
            .execute()
            .catch((error) => (isUniqueViolation(error) ? fail('email_taken', next.email) : Promise.reject(error)));
          // A person who knew the old password must lose access, and so must the programs which that person let in.
          if (input.password !== undefined) await endLogins(db, id);
          return shownUser(next, (await workspaceIdsOf(db, [id])).get(id)!);
        },
        who,
      );
    },

    /** Who is to be forgotten, in the transaction in which they are. */
    async findToForget(
      db: Db,
      who: Principal,
      { user: asked, is_deleted = false }: { user: string; is_deleted?: boolean },
    ): Promise<Person> {
      const { organisationId } = who;
      const email = plainEmail(asked);
      const row = await db
        .selectFrom('users')
        .selectAll()
        .where('organisation_id', '=', organisationId)
        .where((where) => where.or([where('id', '=', asked), where('email', '=', email)]))
        .executeTakeFirst();
      if (row && is_deleted)
        fail('invalid_request', 'is_deleted', `user ${row.id} is there; leave it out to erase them`);
      if (!row && !is_deleted) fail('user_not_found', asked.slice(0, 80));
      if (!row) return { id: asked, organisationId, names: [...new Set([asked, email])] };
      checkOwners(who, row.role);
      if (who.userId === row.id) fail('invalid_request', 'user', 'is who asks; let another owner do it');
      if (row.role === 'owner') await checkLastOwner(db, store.engine, row);
      return { id: row.id, organisationId, names: [...new Set([row.id, row.email, asked])] };
    },

    /** The user's API keys and sessions end with them. */
    async delete(who: Principal, id: string): Promise<void> {
      await changes.transaction(
        'users',
        async (db) => {
          const row = await findToChange(db, who, id);
          if (row.role === 'owner') await checkLastOwner(db, store.engine, row);
          await db.deleteFrom('api_keys').where('user_id', '=', id).execute();
          await db.deleteFrom('users').where('id', '=', id).execute();
        },
        who,
      );
    },
  };
}

export type Users = ReturnType<typeof createUsers>;
