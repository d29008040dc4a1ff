import { BoundedMap } from '../core/bounded-map.ts';
import { fail, GatewayError } from '../core/errors.ts';
import { isSlug, isUuid, newId } from '../core/ids.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { NowOrLater } from '../core/runtime/now-or-later.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { EgressPolicy } from '../http/egress.ts';
import { cachedBy } from '../storage/cached-by.ts';
import type { Changes } from '../storage/changes.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { GuardrailRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { findWorkspace, withFreeSlug, workspaceFor } from '../storage/workspace-lookup.ts';
import { namedBy, whoNames } from './defaults.ts';
import { type Actions, type CheckInput, type Definition, type Guardrail, prepareGuardrail } from './guardrail.ts';
import { checked, checkReach, find, type GuardrailSummary, shown, visible } from './guardrail-rows.ts';
import { masked } from './secret-mask.ts';

export interface WholeGuardrail extends GuardrailSummary, Definition {}

export interface GuardrailVersion extends Definition {
  readonly id: string;
  readonly object: 'guardrail-version';
  readonly version_id: string;
  readonly name: string;
  readonly created_by: string;
  readonly created_at: string;
}

export interface GuardrailInput {
  readonly name: string;
  readonly slug?: string;
  readonly checks: readonly CheckInput[];
  readonly actions: Actions;
  readonly workspace_id?: string;
  readonly organisation_id?: string;
}

export interface GuardrailListQuery extends PageQuery {
  readonly workspace_id?: string;
  readonly organisation_id?: string;
  readonly ids?: readonly string[];
}

/** Whose guardrails can be named. */
export type Reach = Pick<Principal, 'organisationId' | 'workspaceId'>;

export interface GuardrailsDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly changes: Pick<Changes, 'subscribe' | 'transaction'>;
  readonly egress: EgressPolicy;
  readonly now: () => number;
}

interface Named {
  readonly reach: Reach;
  readonly reference: string;
}

const MOST_PREPARED = 1_000;

export function createGuardrails({ store, sealer, changes, egress, now }: GuardrailsDeps) {
  /** By version: what a version says never changes, and what a check learned about its parameters stays with them. */
  const prepared = new BoundedMap<string, Guardrail>(MOST_PREPARED);

  const prepare = (slug: string, versionId: string, definition: () => Definition): Guardrail => {
    const known = prepared.get(versionId);
    if (known) return known;
    const guardrail = prepareGuardrail(definition(), { id: slug, versionId });
    prepared.set(versionId, guardrail);
    return guardrail;
  };

  const open = (versionId: string, sealed: string): Definition =>
    JSON.parse(sealer.open('guardrail', versionId, sealed));

  const checkCalls = async (definition: Definition) => {
    for (const { path, url } of checked(definition).addresses) await admit(path, url);
  };

  /** A name that does not resolve at the moment may do so later; whatever it then is gets the same look. */
  const admit = async (path: string, url: string) => {
    try {
      await egress.admit(url);
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'egress_refused')
        fail('invalid_request', path, error.message);
    }
  };

  const addVersion = async (db: Db, who: Principal, row: Pick<GuardrailRow, 'id' | 'name'>, definition: Definition) => {
    const id = newId<string>();
    const sealed = sealer.seal('guardrail', id, JSON.stringify(definition));
    const version = { id, guardrail_id: row.id, name: row.name, sealed, created_by: who.keyId, created_at: now() };
    await db.insertInto('guardrail_versions').values(version).execute();
    return id;
  };

  /** A client may delete the guardrail after its row was read here: then it is as missing as if it had never been. */
  const definitionOf = async (db: Db, { slug, version_id }: GuardrailRow): Promise<Definition> => {
    const row = await db
      .selectFrom('guardrail_versions')
      .select('sealed')
      .where('id', '=', version_id)
      .executeTakeFirst();
    return row ? open(version_id, row.sealed) : fail('guardrail_not_found', slug);
  };

  const load = async (_key: string, { reach, reference }: Named): Promise<Guardrail | null> => {
    const { organisationId, workspaceId } = reach;
    const row = await store.db
      .selectFrom('guardrails')
      .innerJoin('guardrail_versions', 'guardrail_versions.id', 'guardrails.version_id')
      .select(['guardrails.slug', 'guardrails.version_id', 'guardrail_versions.sealed'])
      .where('guardrails.organisation_id', '=', organisationId)
      .where((where) => where.or([where('workspace_id', '=', workspaceId), where('workspace_id', 'is', null)]))
      .where(
        isUuid(reference) ? 'guardrails.id' : 'guardrails.slug',
        '=',
        isUuid(reference) ? reference.toLowerCase() : reference,
      )
      .executeTakeFirst();
    return row ? prepare(row.slug, row.version_id, () => open(row.version_id, row.sealed)) : null;
  };
  const cache = cachedBy(changes, ['guardrails'], load, { most: 5_000, now });

  /** The workspace that a new guardrail belongs to, or null for the organisation. */
  const ownerOf = async (db: Db, who: Principal, { workspace_id, organisation_id }: GuardrailInput) => {
    if (organisation_id !== undefined && organisation_id !== who.organisationId)
      fail('foreign_organisation', organisation_id, who.organisationId);
    const isForAll = organisation_id !== undefined && workspace_id === undefined;
    return isForAll ? null : workspaceFor(db, who, workspace_id);
  };

  return {
    /** The guardrail behind a slug or an id of the workspace or its organisation, at once when it is known. */
    resolve(reach: Reach, reference: string): NowOrLater<Guardrail> {
      const key = `${reach.workspaceId}/${reference}`;
      const found = cache.peek(key);
      if (found) return found;
      if (!isSlug(reference)) fail('unknown_guardrail', reference.slice(0, 80));
      return cache.get(key, { reach, reference }).then((loaded) => loaded ?? fail('unknown_guardrail', reference));
    },

    async create(who: Principal, input: GuardrailInput): Promise<WholeGuardrail> {
      const { checks, actions } = input;
      if (input.slug !== undefined && isUuid(input.slug))
        fail('invalid_request', 'slug', 'looks like an id; give another');
      const workspaceId = await ownerOf(store.db, who, input);
      checkReach(who, workspaceId);
      await checkCalls({ checks, actions });
      const made = await withFreeSlug({ asked: input.slug, name: input.name, fallback: 'guardrail' }, (slug) =>
        changes.transaction(
          'guardrails',
          async (db) => {
            const row: GuardrailRow = {
              id: newId(),
              organisation_id: who.organisationId,
              workspace_id: workspaceId,
              slug,
              name: input.name,
              version_id: '',
              owner_id: who.keyId,
              updated_by: null,
              created_at: now(),
              updated_at: now(),
            };
            await db.insertInto('guardrails').values(row).execute();
            row.version_id = await addVersion(db, who, row, { checks, actions });
            await db.updateTable('guardrails').set({ version_id: row.version_id }).where('id', '=', row.id).execute();
            return row;
          },
          who,
        ),
      );
      return { ...shown(made), checks: masked(checks), actions };
    },

    async list(who: Principal, query: GuardrailListQuery): Promise<Page<GuardrailSummary>> {
      const { workspace_id, organisation_id, ids } = query;
      if (organisation_id !== undefined && organisation_id !== who.organisationId)
        fail('foreign_organisation', organisation_id, who.organisationId);
      const workspace = workspace_id === undefined ? null : (await findWorkspace(store.db, who, workspace_id)).id;
      let matching = visible(store.db, who);
      if (workspace !== null) matching = matching.where('workspace_id', '=', workspace);
      if (ids) matching = matching.where((where) => where.or([where('id', 'in', ids), where('slug', 'in', ids)]));
      const { rows, total } = await rowsOnPage(matching, query);
      return page(rows.map(shown), total, query);
    },

    async read(who: Principal, idOrSlug: string): Promise<WholeGuardrail> {
      const row = await find(store.db, who, idOrSlug);
      const { checks, actions } = await definitionOf(store.db, row);
      return { ...shown(row), checks: masked(checks), actions };
    },

    /** Every update is a new version, whatever it changes (spec 9). */
    async update(
      who: Principal,
      idOrSlug: string,
      input: { readonly name?: string } & Partial<Definition>,
    ): Promise<{ id: string; slug: string; version_id: string }> {
      const { row: old, definition } = await store.transaction(async (db) => {
        const row = await find(db, who, idOrSlug);
        return { row, definition: await definitionOf(db, row) };
      });
      checkReach(who, old.workspace_id);
      const { name, ...given } = input;
      if (given.checks || given.actions) await checkCalls({ ...definition, ...given });
      return changes.transaction(
        'guardrails',
        async (db) => {
          const row = await find(db, who, old.id);
          const current = row.version_id === old.version_id ? definition : await definitionOf(db, row);
          const next = { ...current, ...given };
          // Another update may have come between, whose half does not go with this one's.
          if (current !== definition) checked(next);
          const named = { id: row.id, name: name ?? row.name };
          const versionId = await addVersion(db, who, named, next);
          await db
            .updateTable('guardrails')
            .set({ name: named.name, version_id: versionId, updated_by: who.keyId, updated_at: now() })
            .where('id', '=', row.id)
            .execute();
          return { id: row.id, slug: row.slug, version_id: versionId };
        },
        who,
      );
    },

    /** Answers the id of what is gone. What keys, workspaces or the organisation rely on stays. */
    delete(who: Principal, idOrSlug: string): Promise<string> {
      return changes.transaction(
        'guardrails',
        async (db) => {
          const row = await find(db, who, idOrSlug);
          checkReach(who, row.workspace_id);
          const named = await whoNames(db, row);
          if (named) fail('guardrail_in_use', row.slug, named);
          await db.deleteFrom('guardrail_versions').where('guardrail_id', '=', row.id).execute();
          await db.deleteFrom('guardrails').where('id', '=', row.id).execute();
          return row.id;
        },
        who,
      );
    },

    /** Whose defaults name it; of other workspaces only a caller of the organisation learns. */
    async uses(who: Principal, idOrSlug: string) {
      const row = await find(store.db, who, idOrSlug);
      return { row, uses: await namedBy(store.db, row, reachesOrganisation(who) ? null : who.workspaceId) };
    },

    /** Newest first. */
    async versions(who: Principal, idOrSlug: string, query: PageQuery): Promise<Page<GuardrailVersion>> {
      const { id } = await find(store.db, who, idOrSlug);
      const all = store.db.selectFrom('guardrail_versions').where('guardrail_id', '=', id);
      const { rows, total } = await rowsOnPage(all, query, 'desc');
      const data = rows.map((row): GuardrailVersion => {
        const { checks, actions } = open(row.id, row.sealed);
        return {
          id: row.id,
          object: 'guardrail-version',
          version_id: row.id,
          name: row.name,
          checks: masked(checks),
          actions,
          created_by: row.created_by,
          created_at: new Date(row.created_at).toISOString(),
        };
      });
      return page(data, total, query);
    },
  };
}

export type Guardrails = ReturnType<typeof createGuardrails>;
