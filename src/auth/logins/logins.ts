import { fail } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Principal, Witnessed } from '../../core/principal.ts';
import { type Sealer, sha256 } from '../../crypto/seal.ts';
import type { Changes } from '../../storage/changes.ts';
import { lockName } from '../../storage/name-lock.ts';
import type { ApiKeyRow, DeviceCodeRow, LoginGrantRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { ruleIn, underRule } from '../member-keys.ts';
import { userPrincipal } from '../sessions.ts';
import { keyScopes, keysWithStanding } from '../user-scopes.ts';
import type { DeviceCodes } from './device-codes.ts';
import { accessTokenOf, isSame, newSalt, readRefreshToken, refreshTokenOf } from './tokens.ts';

/** Programs that people have signed in: each has an API key of its user, whose secrets are tokens that end soon. */

export interface LoginTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAt: number;
}

export interface LoginsDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'announce' | 'catchUp' | 'transaction'>;
  readonly sealer: Sealer;
  readonly codes: DeviceCodes;
  readonly tokenSeconds: number;
  readonly refreshDays: number;
  readonly now: () => number;
}

/** A workspace in which a person may let programs in. */
export interface LoginPlace {
  readonly id: string;
  readonly name: string;
}

export interface LoginChoice {
  readonly codeHash: string;
  readonly clientName: string;
  readonly userId: string;
  readonly workspaceId: string;
}

/** A program whose answer got lost may ask for the same once more; after that two parties hold the token. */
const REPEAT_MS = 30_000;
/** In one workspace, for one person. */
export const MOST_LOGINS = 20;
const MOST_SWEPT = 100;

/** Refusals are values: what a transaction found out must be committed before the program is told. */
type Refusal = 'pending' | 'slow_down' | 'denied' | 'expired' | { readonly ended: string };
type Outcome = { readonly tokens: LoginTokens } | { readonly refused: Refusal; readonly isEnded?: boolean };

export function createLogins(deps: LoginsDeps) {
  const { store, changes, sealer, codes, now } = deps;
  const tokenMs = deps.tokenSeconds * 1_000;
  const refreshMs = deps.refreshDays * 86_400_000;

  /** Always the key first: the end of a user locks it before what hangs on it. */
  const locked = async (db: Db, id: string): Promise<LoginGrantRow | undefined> => {
    const grants = () => db.selectFrom('login_grants').selectAll().where('id', '=', id).executeTakeFirst();
    if (store.engine !== 'postgres') return grants();
    const found = await grants();
    const keys = db
      .selectFrom('api_keys')
      .select('id')
      .where('id', '=', found?.api_key_id ?? '');
    return (await keys.forUpdate().executeTakeFirst()) && grants();
  };

  /** When its key ends at the latest; null: its user may not act there any more, or members may have no keys. */
  const endOf = async (db: Db, keyId: string): Promise<number | null> => {
    const row = await keysWithStanding(db)
      .innerJoin('workspaces', 'workspaces.id', 'api_keys.workspace_id')
      .selectAll('api_keys')
      .select('workspaces.member_keys')
      .where('api_keys.id', '=', keyId)
      .executeTakeFirst();
    const bounded = row && underRule(row, ruleIn(row.member_keys));
    if (!bounded || !keyScopes(bounded, bounded)) return null;
    return bounded.expires_at === null ? Number.POSITIVE_INFINITY : Number(bounded.expires_at);
  };

  const end = async (db: Db, grant: LoginGrantRow, why: string): Promise<Outcome> => {
    await db.deleteFrom('api_keys').where('id', '=', grant.api_key_id).execute();
    await changes.announce(db, 'keys');
    return { refused: { ended: why }, isEnded: true };
  };

  /** Of programs that stayed away too long, and of those that never came for their tokens. */
  const sweep = (db: Db, at: number) => {
    const query = db
      .selectFrom('api_keys')
      .innerJoin('login_grants', 'login_grants.api_key_id', 'api_keys.id')
      .select('api_keys.id')
      .where('login_grants.expires_at', '<=', at)
      .limit(MOST_SWEPT);
    return db
      .deleteFrom('api_keys')
      .where('id', 'in', store.engine === 'postgres' ? query.forUpdate('api_keys').skipLocked() : query)
      .execute();
  };

  const tokensOf = (grant: LoginGrantRow, generation: number, expiresAt: number): LoginTokens => ({
    accessToken: accessTokenOf(sealer, grant, generation),
    refreshToken: refreshTokenOf(sealer, grant, generation),
    expiresAt,
  });

  const issue = async (db: Db, grant: LoginGrantRow): Promise<Outcome> => {
    const at = now();
    const latest = await endOf(db, grant.api_key_id);
    if (latest === null) return end(db, grant, 'its user may not use the gateway there any more');
    if (latest <= at) return end(db, grant, 'it has lasted as long as the workspace allows');
    const generation = grant.generation + 1;
    const tokens = tokensOf(grant, generation, Math.min(at + tokenMs, latest));
    const expires_at = Math.min(at + refreshMs, latest);
    await db
      .updateTable('login_grants')
      .set({ generation, rotated_at: at, expires_at })
      .where('id', '=', grant.id)
      .execute();
    await db
      .deleteFrom('api_key_secrets')
      .where('api_key_id', '=', grant.api_key_id)
      .where('valid_until', '<=', at)
      .execute();
    await db
      .insertInto('api_key_secrets')
      .values({
        hash: sha256(tokens.accessToken),
        api_key_id: grant.api_key_id,
        valid_until: tokens.expiresAt,
        created_at: at,
      })
      .execute();
    return { tokens };
  };

  /** The same tokens as a moment ago, for a program that did not get them. */
  const repeat = async (db: Db, grant: LoginGrantRow): Promise<Outcome> => {
    const hash = sha256(accessTokenOf(sealer, grant, grant.generation));
    const row = await db.selectFrom('api_key_secrets').selectAll().where('hash', '=', hash).executeTakeFirst();
    return row
      ? { tokens: tokensOf(grant, grant.generation, Number(row.valid_until)) }
      : { refused: { ended: 'it was ended' } };
  };
  const isRepeatable = (grant: LoginGrantRow, generation: number): boolean =>
    generation === grant.generation - 1 && now() - Number(grant.rotated_at) <= REPEAT_MS;

  const settled = async (work: (db: Db) => Promise<Outcome>): Promise<LoginTokens> => {
    const outcome = await store.transaction(work);
    if ('tokens' in outcome) return outcome.tokens;
    // Its tokens are refused from now on, by this node at least.
    if (outcome.isEnded) await changes.catchUp();
    const { refused } = outcome;
    return typeof refused === 'string' ? fail(`device_code_${refused}`) : fail('login_ended', refused.ended);
  };

  const keyFor = async (db: Db, choice: LoginChoice, at: number): Promise<ApiKeyRow> => {
    const { userId, workspaceId, clientName } = choice;
    const user = await db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirst();
    const who: Principal | null = user ? await userPrincipal(db, user, workspaceId) : null;
    const { member_keys } = who
      ? await db.selectFrom('workspaces').select('member_keys').where('id', '=', workspaceId).executeTakeFirstOrThrow()
      : { member_keys: null };
    const rule = ruleIn(member_keys);
    if (!who || !rule) return fail('login_refused', 'you may not let programs in there');
    await lockName(db, store, `logins ${workspaceId} ${userId}`);
    const open = await db
      .selectFrom('api_keys')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .where('user_id', '=', userId)
      .where('origin', '=', 'login')
      .execute();
    if (open.length >= MOST_LOGINS)
      fail(
        'login_refused',
        `you have ${MOST_LOGINS} programs signed in there; end one of them first, at Home of the console`,
      );
    return {
      id: newId(),
      organisation_id: who.organisationId,
      workspace_id: workspaceId,
      user_id: userId,
      name: clientName,
      description: null,
      scopes: JSON.stringify(rule.scopes.filter((scope) => who.scopes.has(scope))),
      defaults: '{}',
      masked: 'gwl_…',
      origin: 'login',
      expires_at: null,
      rate_limits: null,
      usage_limits: null,
      forbidden: null,
      models: null,
      created_at: at,
      updated_at: at,
    };
  };

  return {
    /** Where a user may let programs in: where members may have keys of their own. */
    async places(userId: string): Promise<LoginPlace[]> {
      const user = await store.db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirst();
      if (!user) return [];
      const rows = await store.db
        .selectFrom('workspaces')
        .leftJoin('workspace_members', (join) =>
          join
            .onRef('workspace_members.workspace_id', '=', 'workspaces.id')
            .on('workspace_members.user_id', '=', userId),
        )
        .where('workspaces.organisation_id', '=', user.organisation_id)
        .where('member_keys', 'is not', null)
        .select(['workspaces.id', 'workspaces.name', 'workspace_members.role'])
        .orderBy('workspaces.slug')
        .limit(1_000)
        .execute();
      return rows
        .filter(({ role }) => role !== null || user.role !== 'member')
        .toSorted((one, other) => Number(other.role !== null) - Number(one.role !== null))
        .map(({ id, name }) => ({ id, name }));
    },

    /** A person lets the program in that waits with this code: its key comes about, and nothing of it is known yet. */
    async allow(choice: LoginChoice, who: Witnessed): Promise<void> {
      await store.transaction(async (db) => {
        const at = now();
        const key = await keyFor(db, choice, at);
        const grant: LoginGrantRow = {
          id: newId(),
          api_key_id: key.id,
          salt: newSalt(),
          generation: 0,
          rotated_at: at,
          created_at: at,
          expires_at: at + 2 * 600_000,
        };
        await sweep(db, at);
        await db.insertInto('api_keys').values(key).execute();
        await db.insertInto('login_grants').values(grant).execute();
        const taken = await db
          .updateTable('device_codes')
          .set({ state: 'allowed', grant_id: grant.id })
          .where('hash', '=', choice.codeHash)
          .where('state', '=', 'pending')
          .where('expires_at', '>', at)
          .returning('hash')
          .executeTakeFirst();
        if (!taken) fail('device_code_unknown');
      }, who);
    },

    /** Turns the code that a program holds into tokens, as soon as a person has let it in. */
    redeem: (deviceCode: string, clientId: string | null): Promise<LoginTokens> =>
      settled(async (db) => {
        const query = db.selectFrom('device_codes').selectAll().where('hash', '=', sha256(deviceCode));
        const code: DeviceCodeRow | undefined = await query.executeTakeFirst();
        if (!code || Number(code.expires_at) <= now()) return { refused: 'expired' };
        if (clientId !== code.client_id) return { refused: { ended: 'the code was given to another client' } };
        if (code.state === 'denied') return { refused: 'denied' };
        if (code.state === 'pending') return { refused: (await codes.paced(db, code)) ? 'pending' : 'slow_down' };
        const grant = await locked(db, code.grant_id!);
        if (!grant) return { refused: 'expired' };
        if (grant.generation === 0) return issue(db, grant);
        return isRepeatable(grant, 0) ? repeat(db, grant) : { refused: 'expired' };
      }),

    /** Turns a refresh token into new tokens. One that was used before ends the login. */
    refresh: (token: string): Promise<LoginTokens> =>
      settled(async (db) => {
        const said = readRefreshToken(token);
        const grant = said && (await locked(db, said.grantId));
        if (!grant || !isSame(token, refreshTokenOf(sealer, grant, said.generation)))
          return { refused: { ended: 'it is unknown or was ended' } };
        if (Number(grant.expires_at) <= now()) return end(db, grant, 'it was not used for too long');
        if (said.generation === grant.generation) return issue(db, grant);
        if (isRepeatable(grant, said.generation)) return repeat(db, grant);
        return end(db, grant, 'the refresh token was used before');
      }),

    /** RFC 7009: ends the login that a token is of; one that is unknown counts as ended. */
    async revoke(token: string): Promise<void> {
      const said = readRefreshToken(token);
      const grants = store.db.selectFrom('login_grants').selectAll('login_grants');
      const grant = said
        ? await grants.where('id', '=', said.grantId).executeTakeFirst()
        : await grants
            .innerJoin('api_key_secrets', 'api_key_secrets.api_key_id', 'login_grants.api_key_id')
            .where('api_key_secrets.hash', '=', sha256(token))
            .executeTakeFirst();
      if (!grant || (said && !isSame(token, refreshTokenOf(sealer, grant, said.generation)))) return;
      await changes.transaction('keys', (db) => db.deleteFrom('api_keys').where('id', '=', grant.api_key_id).execute());
    },
  };
}

export type Logins = ReturnType<typeof createLogins>;
