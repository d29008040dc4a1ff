import { randomBytes } from 'node:crypto';
import { fail } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import { type Principal, reachesOrganisation, type Witnessed } from '../core/principal.ts';
import type { Passwords } from '../crypto/password.ts';
import { sha256 } from '../crypto/seal.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { InviteRow, UserRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Role } from './roles.ts';
import { checkOwners, insertUser, type Membership, membershipRows, plainEmail, type User } from './users.ts';

export interface Invite {
  readonly id: string;
  readonly object: 'invite';
  readonly email: string;
  readonly role: Role;
  readonly workspaces: readonly Membership[];
  readonly status: InviteRow['status'] | 'expired';
  readonly created_at: string;
  readonly expires_at: string;
  readonly last_updated_at: string;
}

/** With the link that lets the invited person in; shown once, to the inviting user. */
export type SentInvite = Invite & { readonly invite_link: string };

export interface InviteInput {
  readonly email: string;
  readonly role: Role;
  readonly workspaces?: readonly Membership[];
}

export interface InviteAnswer {
  readonly token: string;
  readonly password: string;
  readonly username?: string | null;
  readonly first_name?: string | null;
  readonly last_name?: string | null;
}

const LIVES_MS = 7 * 24 * 3_600_000;

const statusOf = ({ status, expires_at }: InviteRow, now: number): Invite['status'] =>
  status === 'pending' && Number(expires_at) <= now ? 'expired' : status;

const visible = (db: Db, who: Principal) =>
  db
    .selectFrom('invites')
    .where('organisation_id', '=', who.organisationId)
    // A caller that sees only one workspace cannot invite, and sees no invites.
    .$if(!reachesOrganisation(who), (query) => query.where('id', '=', ''));

const find = async (db: Db, who: Principal, id: string): Promise<InviteRow> =>
  (await visible(db, who).selectAll().where('id', '=', id).executeTakeFirst()) ??
  fail('invite_not_found', id.slice(0, 80));

export interface InvitesDeps {
  readonly store: Store;
  readonly passwords: Passwords;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

export function createInvites({ store, passwords, publicUrl, now }: InvitesDeps) {
  const shown = (row: InviteRow): Invite => ({
    id: row.id,
    object: 'invite',
    email: row.email,
    role: row.role,
    workspaces: JSON.parse(row.workspaces),
    status: statusOf(row, now()),
    created_at: new Date(Number(row.created_at)).toISOString(),
    expires_at: new Date(Number(row.expires_at)).toISOString(),
    last_updated_at: new Date(Number(row.updated_at)).toISOString(),
  });
  const newToken = () => randomBytes(32).toString('base64url');
  /** Behind the hash sign, where neither a proxy nor a log sees it. */
  const linked = (row: InviteRow, token: string): SentInvite => ({
    ...shown(row),
    invite_link: `${publicUrl()}/console/#invite=${token}`,
  });
  const open = (row: InviteRow): InviteRow => {
    const status = statusOf(row, now());
    return status === 'pending' ? row : fail('invite_not_open', status);
  };

  /**
   * Of two changes at the same time the first wins: an invite changes only while it is pending and its link the same.
   */
  const change = async (db: Db, { id, token_hash }: InviteRow, changed: Partial<InviteRow>) => {
    const { numUpdatedRows } = await db
      .updateTable('invites')
      .set(changed)
      .where('id', '=', id)
      .where('status', '=', 'pending')
      .where('token_hash', '=', token_hash)
      .executeTakeFirst();
    if (Number(numUpdatedRows) > 0) return;
    const left = await db.selectFrom('invites').select('status').where('id', '=', id).executeTakeFirst();
    fail('invite_not_open', left && left.status !== 'pending' ? left.status : 'sent again');
  };

  return {
    async create(who: Principal, input: InviteInput): Promise<SentInvite> {
      if (!reachesOrganisation(who)) fail('insufficient_scope', 'organisation.manage');
      checkOwners(who, input.role);
      const token = newToken();
      const at = now();
      const email = plainEmail(input.email);
      const row = await store.transaction(async (db) => {
        await refuseKnown(db, who.organisationId, email);
        const place = { organisationId: who.organisationId, userId: '', now: at };
        const memberships = await membershipRows(db, place, input.workspaces);
        const made: InviteRow = {
          id: newId(),
          organisation_id: who.organisationId,
          email,
          role: input.role,
          workspaces: JSON.stringify(memberships.map(({ workspace_id, role }) => ({ id: workspace_id, role }))),
          token_hash: sha256(token),
          status: 'pending',
          created_at: at,
          expires_at: at + LIVES_MS,
          updated_at: at,
        };
        await db.insertInto('invites').values(made).execute();
        return made;
      }, who);
      return linked(row, token);
    },

    async list(who: Principal, query: PageQuery): Promise<Page<Invite>> {
      const { rows, total } = await rowsOnPage(visible(store.db, who), query);
      return page(rows.map(shown), total, query);
    },

    read: async (who: Principal, id: string): Promise<Invite> => shown(await find(store.db, who, id)),

    /** Another link; the one before it ends. */
    async resend(who: Principal, id: string): Promise<SentInvite> {
      const token = newToken();
      const row = await store.transaction(async (db) => {
        const old = await find(db, who, id);
        checkOwners(who, old.role);
        if (old.status !== 'pending') fail('invite_not_open', old.status);
        const renewed = { token_hash: sha256(token), expires_at: now() + LIVES_MS, updated_at: now() };
        await change(db, old, renewed);
        return { ...old, ...renewed };
      }, who);
      return linked(row, token);
    },

    async cancel(who: Principal, id: string): Promise<void> {
      await store.transaction(async (db) => {
        await change(db, open(await find(db, who, id)), { status: 'cancelled', updated_at: now() });
      }, who);
    },

    /** Makes the invited person a user. The link works once. */
    async accept(
      input: InviteAnswer,
      from: Witnessed,
      /** Gets to know who it is before anything is stored. */
      made: (user: UserRow) => void = () => {},
    ): Promise<User> {
      const known = await findByToken(store.db, input.token);
      open(known ?? fail('invite_not_found', 'of this link'));
      const password_hash = await passwords.hash(input.password);
      return store.transaction(async (db) => {
        const invite = open((await findByToken(db, input.token)) ?? fail('invite_not_found', 'of this link'));
        await change(db, invite, { status: 'accepted', updated_at: now() });
        const row: UserRow = {
          id: newId(),
          organisation_id: invite.organisation_id,
          email: invite.email,
          username: input.username ?? null,
          first_name: input.first_name ?? null,
          last_name: input.last_name ?? null,
          role: invite.role,
          password_hash,
          external_id: null,
          created_at: now(),
          updated_at: now(),
        };
        made(row);
        return insertUser(db, row, await workspacesOf(db, invite));
      }, from);
    },
  };
}

export type Invites = ReturnType<typeof createInvites>;

const findByToken = (db: Db, token: string): Promise<InviteRow | undefined> =>
  db.selectFrom('invites').selectAll().where('token_hash', '=', sha256(token)).executeTakeFirst();

/** Workspaces may have been deleted since. A user for whom none is left becomes a member of `default`. */
export async function workspacesOf(db: Db, { workspaces }: InviteRow): Promise<Membership[] | undefined> {
  const wanted = JSON.parse(workspaces) as Membership[];
  if (wanted.length === 0) return [];
  const ids = wanted.map(({ id }) => id);
  const rows = await db.selectFrom('workspaces').select('id').where('id', 'in', ids).execute();
  const known = wanted.filter(({ id }) => rows.some((row) => row.id === id));
  return known.length > 0 ? known : undefined;
}

async function refuseKnown(db: Db, organisationId: string, email: string) {
  const user = await db
    .selectFrom('users')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('email', '=', email)
    .executeTakeFirst();
  if (user) fail('email_taken', email);
}
