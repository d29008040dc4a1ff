import { fail } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import type { ScimGroupRow } from '../storage/schema.ts';
import { type Db, isUniqueViolation } from '../storage/store.ts';
import { alignUsers } from './align.ts';
import { memberOf, textOf } from './attributes.ts';
import { type Condition, readFilter } from './filter.ts';
import { type Assignment, isOfExtension, type Operation, readOperations } from './patch.ts';
import { GROUP, isShown, listOf, metaOf, pageWish, type Shown, shownOf } from './resource.ts';
import { changing, type ListWish, type ScimDeps } from './users.ts';

const MOST_MEMBERS = 20_000;
/** The members of all groups on a page together, unless one group alone has more. */
const MOST_SHOWN = 20_000;
const AT_ONCE = 500;
export const GROUP_FILTERS = ['id', 'displayName', 'externalId', 'members', 'members.value'];
type Body = Readonly<Record<string, unknown>>;

/** By what a group is found: directories and people write its name in any case. */
export const nameKeyOf = (name: string): string => name.trim().toLowerCase();

export function createScimGroups(deps: ScimDeps) {
  const { store, publicUrl, now } = deps;
  const change = changing(deps);

  const shown = async (db: Db, row: ScimGroupRow, wish: Shown = {}) => {
    const members = isShown(wish, 'members') ? await membersOf(db, row.id) : [];
    const resource = {
      schemas: [GROUP],
      id: row.id,
      ...(row.external_id && { externalId: row.external_id }),
      displayName: row.display_name,
      members: members.map(({ id, email }) => ({ value: id, display: email, type: 'User' })),
      meta: metaOf('Group', row, publicUrl()),
    };
    return shownOf(resource, wish);
  };
  const find = async (db: Db, who: Principal, id: string): Promise<ScimGroupRow> =>
    (await visible(db, who).selectAll('scim_groups').where('scim_groups.id', '=', id).executeTakeFirst()) ??
    fail('group_not_found', id.slice(0, 80));

  /** Puts these users into the group and those out of it, and gives each what groups mean now. */
  const move = async (db: Db, who: Principal, groupId: string, { added, removed }: Moves) => {
    const known = await knownUsers(db, who, [...added]);
    const stranger = [...added].find((id) => !known.has(id));
    if (stranger !== undefined) fail('invalid_request', 'members', `there is no user ${stranger.slice(0, 80)}`);
    for (const ids of inParts([...removed]))
      await db.deleteFrom('scim_group_members').where('group_id', '=', groupId).where('user_id', 'in', ids).execute();
    for (const ids of inParts([...added]))
      await db
        .insertInto('scim_group_members')
        .values(ids.map((user_id) => ({ group_id: groupId, user_id })))
        .onConflict((conflict) => conflict.columns(['group_id', 'user_id']).doNothing())
        .execute();
    const { total } = await db
      .selectFrom('scim_group_members')
      .select((select) => select.fn.countAll<number>().as('total'))
      .where('group_id', '=', groupId)
      .executeTakeFirstOrThrow();
    if (Number(total) > MOST_MEMBERS) fail('invalid_request', 'members', `a group has at most ${MOST_MEMBERS} members`);
    await alignUsers(db, [...added, ...removed], now());
  };

  const save = async (db: Db, next: ScimGroupRow, { isNew = false } = {}): Promise<void> => {
    const work = isNew
      ? db.insertInto('scim_groups').values(next).execute()
      : db.updateTable('scim_groups').set(next).where('id', '=', next.id).execute();
    await (work as Promise<unknown>).catch((error) =>
      isUniqueViolation(error) ? fail('scim_uniqueness', 'displayName', next.display_name) : Promise.reject(error),
    );
  };

  /** Refuses a name that another group has, before the database ends the transaction because of it. */
  const refuseTaken = async (db: Db, who: Principal, { id, name_key, display_name }: ScimGroupRow) => {
    const other = await visible(db, who)
      .select('scim_groups.id')
      .where('name_key', '=', name_key)
      .where('scim_groups.id', '!=', id)
      .executeTakeFirst();
    if (other) fail('scim_uniqueness', 'displayName', display_name);
  };

  /** A new name may mean something else to all members. */
  const rename = async (db: Db, who: Principal, old: ScimGroupRow, wish: GroupChange): Promise<ScimGroupRow> => {
    const name = wish.displayName ?? old.display_name;
    const next: ScimGroupRow = {
      ...old,
      display_name: name,
      name_key: nameKeyOf(name),
      external_id: wish.externalId === undefined ? old.external_id : wish.externalId,
      updated_at: now(),
    };
    await refuseTaken(db, who, next);
    await save(db, next);
    if (next.name_key !== old.name_key) {
      const members = await membersOf(db, old.id);
      await alignUsers(
        db,
        members.map(({ id }) => id),
        now(),
      );
    }
    return next;
  };

  return {
    async list(who: Principal, wish: ListWish) {
      const { startIndex, count } = pageWish(wish);
      const conditions = readFilter(wish.filter, GROUP_FILTERS);
      const matching = () => conditions.reduce(narrowed, visible(store.db, who));
      const { total } = await matching()
        .select((select) => select.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      const rows =
        count === 0
          ? []
          : await matching()
              .selectAll('scim_groups')
              .orderBy('scim_groups.id')
              .limit(count)
              .offset(startIndex - 1)
              .execute();
      const page = isShown(wish, 'members') ? await shortened(store.db, rows) : rows;
      const resources = [];
      for (const row of page) resources.push(await shown(store.db, row, wish));
      return listOf(resources, Number(total), startIndex);
    },

    async read(who: Principal, id: string, wish: Shown) {
      return shown(store.db, await find(store.db, who, id), wish);
    },

    async create(who: Principal, body: Body) {
      const name = displayNameOf(memberOf(body, 'displayName'));
      const members = idsIn(memberOf(body, 'members'));
      const at = now();
      const row: ScimGroupRow = {
        id: newId(),
        organisation_id: who.organisationId,
        display_name: name,
        name_key: nameKeyOf(name),
        external_id: textOf(memberOf(body, 'externalId'), 'externalId'),
        created_at: at,
        updated_at: at,
      };
      return change(who, async (db) => {
        await refuseTaken(db, who, row);
        await save(db, row, { isNew: true });
        await move(db, who, row.id, { added: members, removed: new Set() });
        return { id: row.id, ...(await shown(db, row)) };
      });
    },

    async replace(who: Principal, id: string, body: Body) {
      const displayName = displayNameOf(memberOf(body, 'displayName'));
      const externalId = textOf(memberOf(body, 'externalId'), 'externalId');
      const members = idsIn(memberOf(body, 'members'));
      return change(who, async (db) => {
        const next = await rename(db, who, await find(db, who, id), { displayName, externalId });
        await move(db, who, id, movesTo(members, await idsOf(db, id)));
        return shown(db, next);
      });
    },

    async patch(who: Principal, id: string, operations: readonly Operation[]): Promise<void> {
      const assignments = readOperations(operations);
      const wish = readGroupChange(assignments);
      await change(who, async (db) => {
        await rename(db, who, await find(db, who, id), wish);
        const before = await idsOf(db, id);
        await move(db, who, id, movesTo(membersAfter(assignments, before), before));
      });
    },

    async delete(who: Principal, id: string): Promise<void> {
      await change(who, async (db) => {
        await find(db, who, id);
        const members = [...(await idsOf(db, id))];
        await db.deleteFrom('scim_group_members').where('group_id', '=', id).execute();
        await db.deleteFrom('scim_groups').where('id', '=', id).execute();
        await alignUsers(db, members, now());
      });
    },
  };
}

export type ScimGroups = ReturnType<typeof createScimGroups>;

interface Moves {
  readonly added: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
}

interface GroupChange {
  displayName?: string;
  externalId?: string | null;
}

const visible = (db: Db, { organisationId }: Principal) =>
  db.selectFrom('scim_groups').where('scim_groups.organisation_id', '=', organisationId);

function narrowed(query: ReturnType<typeof visible>, { attribute, value }: Condition): ReturnType<typeof visible> {
  if (attribute === 'id') return query.where('scim_groups.id', '=', value);
  if (attribute === 'displayname') return query.where('name_key', '=', nameKeyOf(value));
  if (attribute === 'externalid') return query.where('external_id', '=', value);
  return query.where((where) =>
    where.exists(
      where
        .selectFrom('scim_group_members')
        .select('user_id')
        .whereRef('scim_group_members.group_id', '=', 'scim_groups.id')
        .where('user_id', '=', value),
    ),
  );
}

const displayNameOf = (value: unknown): string =>
  textOf(value, 'displayName') ?? fail('invalid_request', 'displayName', 'is missing; give the name of the group');

/** The users that a list of members names. */
function idsIn(value: unknown): Set<string> {
  if (value === undefined || value === null) return new Set();
  const list = Array.isArray(value) ? value : [value];
  if (list.length > MOST_MEMBERS) fail('invalid_request', 'members', `a group has at most ${MOST_MEMBERS} members`);
  return new Set(
    list.map((each, index) => {
      const id = typeof each === 'string' ? each : (each as { value?: unknown } | null)?.value;
      if (typeof id !== 'string' || id === '')
        return fail('invalid_request', `members[${index}].value`, 'give the id of a user');
      const type = typeof each === 'object' && (each as { type?: unknown }).type;
      if (typeof type === 'string' && type.toLowerCase() === 'group')
        return fail('invalid_request', `members[${index}].type`, 'groups in groups are not kept here; give users');
      return id;
    }),
  );
}

function readGroupChange(assignments: readonly Assignment[]): GroupChange {
  const change: GroupChange = {};
  for (const { operation, path, asWritten, value } of assignments) {
    if (path === 'displayname') change.displayName = displayNameOf(operation === 'remove' ? null : value);
    else if (path === 'externalid') change.externalId = operation === 'remove' ? null : textOf(value, 'externalId');
    else if (!['members', 'id', 'schemas', 'meta'].includes(path) && !isOfExtension(path))
      fail('scim_path', asWritten, 'names no attribute of a group that is known here');
  }
  return change;
}

/** Who is in the group when all operations are done, in their order. */
function membersAfter(assignments: readonly Assignment[], before: ReadonlySet<string>): Set<string> {
  let members = new Set(before);
  for (const { operation, path, chosen, asWritten, value } of assignments) {
    if (path !== 'members') continue;
    if (chosen && (chosen.by !== 'value' || operation !== 'remove'))
      fail(
        'scim_path',
        asWritten,
        'chooses members in a way that is not known; write members[value eq "id"] to remove one',
      );
    if (operation === 'replace') members = idsIn(value);
    else if (operation === 'add') for (const id of idsIn(value)) members.add(id);
    else if (chosen) members.delete(chosen.equal);
    else if (value === undefined || value === null) members.clear();
    else for (const id of idsIn(value)) members.delete(id);
  }
  return members;
}

const movesTo = (after: ReadonlySet<string>, before: ReadonlySet<string>): Moves => ({
  added: after.difference(before),
  removed: before.difference(after),
});

function* inParts(ids: readonly string[]): Generator<string[]> {
  for (let from = 0; from < ids.length; from += AT_ONCE) yield ids.slice(from, from + AT_ONCE);
}

async function knownUsers(db: Db, { organisationId }: Principal, ids: readonly string[]): Promise<Set<string>> {
  const known = new Set<string>();
  for (const part of inParts(ids)) {
    const rows = await db
      .selectFrom('users')
      .select('id')
      .where('organisation_id', '=', organisationId)
      .where('id', 'in', part)
      .execute();
    for (const { id } of rows) known.add(id);
  }
  return known;
}

const membersOf = (db: Db, groupId: string) =>
  db
    .selectFrom('scim_group_members')
    .innerJoin('users', 'users.id', 'scim_group_members.user_id')
    .where('group_id', '=', groupId)
    .select(['users.id', 'users.email'])
    .orderBy('users.id')
    .execute();

/** As many of the groups, from the first on, as an answer can carry: a page may be shorter than was asked for. */
async function shortened(db: Db, rows: readonly ScimGroupRow[]): Promise<readonly ScimGroupRow[]> {
  if (rows.length === 0) return rows;
  const ids = rows.map(({ id }) => id);
  const counted = await db
    .selectFrom('scim_group_members')
    .select(['group_id', (select) => select.fn.countAll<number>().as('total')])
    .where('group_id', 'in', ids)
    .groupBy('group_id')
    .execute();
  const sizes = new Map(counted.map(({ group_id, total }) => [group_id, Number(total)]));
  let shown = 0;
  const end = rows.findIndex(({ id }, index) => {
    shown += sizes.get(id) ?? 0;
    return index > 0 && shown > MOST_SHOWN;
  });
  return end < 0 ? rows : rows.slice(0, end);
}

async function idsOf(db: Db, groupId: string): Promise<Set<string>> {
  const rows = await db.selectFrom('scim_group_members').select('user_id').where('group_id', '=', groupId).execute();
  return new Set(rows.map(({ user_id }) => user_id));
}
