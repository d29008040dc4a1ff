import { coversModels, modelsIn } from '../core/allowed-models.ts';
import { fail } from '../core/errors.ts';
import { rulesIn } from '../core/forbidden.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { Scope } from '../core/scopes.ts';
import type { ApiKeyRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { belongsTo, keyScopes, keysWithStanding } from './user-scopes.ts';

/** Who may see, make and change which API keys. */

export const visibleKeys = (db: Db, who: Principal) => {
  const query = db.selectFrom('api_keys').where('organisation_id', '=', who.organisationId);
  return reachesOrganisation(who) ? query : query.where('workspace_id', '=', who.workspaceId);
};

export async function findApiKey(db: Db, who: Principal, id: string): Promise<ApiKeyRow> {
  const row = await visibleKeys(db, who).selectAll().where('id', '=', id).executeTakeFirst();
  return row ?? fail('api_key_not_found', id);
}

/** A caller hands out no more than it holds, else a key that may create keys could do everything. */
export function checkGrant(who: Principal, scopes: Iterable<Scope>) {
  for (const scope of scopes) if (!who.scopes.has(scope)) fail('scope_not_grantable', scope);
}

/** What a key forbids, no key forbids less that it makes or gets at: it could call with that one instead. */
export function checkRulesKept(who: Principal, rules: readonly string[] | null | undefined) {
  for (const { rule, isOfKey } of who.forbids?.values() ?? [])
    if (isOfKey && !rules?.includes(rule)) fail('rule_not_liftable', rule);
}

/**
 * A key that may call certain models makes and gets at only keys that may call no others. A default config chooses models
 * by itself, so such a key gives no key another one than its own. Undefined: the list stays as it is.
 */
export function checkModelsKept(
  who: Principal,
  models: readonly string[] | null | undefined,
  defaults: Principal['defaults'] = {},
) {
  if (!who.models) return;
  if (models !== undefined && !coversModels(who.models, models)) fail('models_not_widenable', who.models.names);
  if (defaults.config !== undefined && defaults.config !== who.defaults.config)
    fail('models_not_widenable', who.models.names);
}

/** A key acts for its user. Only that user may decide so, or an owner. */
const speaksFor = (who: Principal, userId: string | null): boolean =>
  userId === null || userId === who.userId || who.scopes.has('owners.manage');

/** Those keys among the given ones whose user may not act in their workspace any more. */
export async function suspendedAmong(db: Db, rows: readonly ApiKeyRow[]): Promise<ReadonlySet<string>> {
  const ids = rows.filter(({ user_id }) => user_id !== null).map(({ id }) => id);
  if (ids.length === 0) return new Set();
  const found = await keysWithStanding(db)
    .select(['api_keys.id', 'api_keys.user_id', 'api_keys.scopes'])
    .where('api_keys.id', 'in', ids)
    .execute();
  return new Set(found.filter((row) => keyScopes(row, row) === null).map(({ id }) => id));
}

/** What the key can do at this moment: a user who was demoted still gets at the key that was made before. */
async function scopesNow(db: Db, row: ApiKeyRow): Promise<Iterable<Scope>> {
  if (row.user_id === null) return JSON.parse(row.scopes) as Scope[];
  const standing = await keysWithStanding(db).where('api_keys.id', '=', row.id).executeTakeFirstOrThrow();
  return keyScopes(row, standing) ?? [];
}

export async function findChangeableKey(db: Db, who: Principal, id: string): Promise<ApiKeyRow> {
  const row = await findApiKey(db, who, id);
  // Changing a key that can do more than the caller would be another way to hold what the key holds.
  checkGrant(who, await scopesNow(db, row));
  checkRulesKept(who, rulesIn(row.forbidden));
  checkModelsKept(who, modelsIn(row.models));
  if (row.origin === 'bootstrap')
    fail('invalid_request', 'id', 'this is the bootstrap key; it is set by GATEWAY_ADMIN_KEY');
  return row;
}

/** For a new secret: with it, the caller would act for the key's user. */
export async function findRotatableKey(db: Db, who: Principal, id: string): Promise<ApiKeyRow> {
  const row = await findChangeableKey(db, who, id);
  if (row.origin === 'login')
    fail('invalid_request', 'id', 'this key belongs to a program that its user signed in, and renews itself');
  if (!speaksFor(who, row.user_id)) fail('key_of_another_user');
  return row;
}

/** For whom a new key may act: the caller, or with `owners.manage` any member of the key's workspace. */
export async function checkKeyUser(db: Db, who: Principal, workspaceId: string, userId: string | null) {
  if (userId === null) return;
  // Before the user is looked up: the answer must not tell strangers who exists.
  if (!speaksFor(who, userId)) fail('key_of_another_user');
  if (!(await belongsTo(db, { organisationId: who.organisationId, workspaceId }, userId)))
    fail('invalid_request', 'user_id', `${userId} is no member of this workspace`);
}

/** A caller that manages keys may cut down a key of another user; giving it more is like making it. */
export function checkKeyChange(who: Principal, old: ApiKeyRow, next: ApiKeyRow) {
  if (speaksFor(who, old.user_id)) return;
  const had = new Set(JSON.parse(old.scopes) as Scope[]);
  const isWider = (JSON.parse(next.scopes) as Scope[]).some((scope) => !had.has(scope));
  const isLonger = (next.expires_at ?? Number.POSITIVE_INFINITY) > (old.expires_at ?? Number.POSITIVE_INFINITY);
  if (isWider || isLonger) fail('key_of_another_user');
}
