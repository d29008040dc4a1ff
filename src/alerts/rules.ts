import { fail } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import type { Principal } from '../core/principal.ts';
import type { Sealer } from '../crypto/seal.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { AlertRuleRow, AlertStateRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { workspaceFor } from '../storage/workspace-lookup.ts';
import type { Workers } from '../work/workers.ts';
import type { TestedChannel } from './channel.ts';
import { type Channels, createChannelSealer, lockAlerts } from './channels.ts';
import type { Condition } from './condition.ts';
import type { Reach } from './conditions/look.ts';
import { checkNames } from './conditions/names.ts';
import { ensureEvaluation } from './evaluation.ts';
import { judge } from './judge.ts';
import { type OwnerInput, ownerFor, visible } from './owner.ts';
import { type Alert, type AlertEvent, type Known, shownEvent, shownRule } from './rule.ts';
import { tell } from './tell.ts';
import { testTelling } from './telling.ts';

export interface RuleInput extends OwnerInput {
  readonly name: string;
  readonly condition: Condition;
  readonly channels: readonly string[];
  readonly repeat_after?: number | null;
  readonly is_enabled?: boolean;
}
export type RuleChange = Partial<Omit<RuleInput, 'workspace_id' | 'organisation_id'>>;

export interface RulesDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly workers: () => Workers;
  readonly channels: Pick<Channels, 'tryOut'>;
  readonly now: () => number;
}

const MOST = 100;
const DELETED = 'The alert was deleted.';

export function createRules({ store, sealer, workers, channels, now }: RulesDeps) {
  const { open } = createChannelSealer(sealer);

  const rulesOf = (db: Db, who: Principal) =>
    visible(db, 'alert_rules', who) as unknown as ReturnType<typeof ruleQuery>;
  const find = async (db: Db, who: Principal, id: string): Promise<AlertRuleRow> => {
    const row = await rulesOf(db, who).selectAll().where('id', '=', id).executeTakeFirst();
    return row ?? fail('alert_not_found', id.slice(0, 80));
  };
  /** For a change: two of them follow each other, and one that is being judged is changed afterwards. */
  const lock = async (db: Db, who: Principal, id: string): Promise<AlertRuleRow> => {
    const query = rulesOf(db, who).selectAll().where('id', '=', id);
    const row = await (store.engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
    return row ?? fail('alert_not_found', id.slice(0, 80));
  };

  const checkChannels = async (db: Db, { organisationId, workspaceId }: Reach, ids: readonly string[]) => {
    if (ids.length === 0) return;
    const rows = await db
      .selectFrom('alert_channels')
      .select('id')
      .where('organisation_id', '=', organisationId)
      .where('workspace_id', workspaceId === null ? 'is' : '=', workspaceId)
      .where('id', 'in', [...ids])
      .execute();
    const known = new Set(rows.map(({ id }) => id));
    const index = ids.findIndex((id) => !known.has(id));
    const place = workspaceId === null ? 'of the whole organisation' : 'in the workspace of this alert';
    if (index >= 0) fail('invalid_request', `channels[${index}]`, `there is no alert channel ${ids[index]} ${place}`);
  };

  const statesOf = async (db: Db, ids: readonly string[]): Promise<Map<string, AlertStateRow[]>> => {
    const byRule = new Map<string, AlertStateRow[]>();
    if (ids.length === 0) return byRule;
    const rows = await db
      .selectFrom('alert_states')
      .selectAll()
      .where('rule_id', 'in', [...ids])
      .orderBy('subject')
      .execute();
    for (const row of rows) byRule.set(row.rule_id, [...(byRule.get(row.rule_id) ?? []), row]);
    return byRule;
  };
  const known = async (ids: readonly string[]): Promise<(id: string) => Known> => {
    if (ids.length === 0) return () => ({ look: null, states: [] });
    const states = await statesOf(store.db, ids);
    const looks = await store.db
      .selectFrom('alert_looks')
      .selectAll()
      .where('rule_id', 'in', [...ids])
      .execute();
    const byRule = new Map(looks.map((look) => [look.rule_id, look]));
    return (id) => ({ look: byRule.get(id) ?? null, states: states.get(id) ?? [] });
  };
  const shown = async (row: AlertRuleRow): Promise<Alert> => shownRule(row, (await known([row.id]))(row.id));

  return {
    async create(who: Principal, input: RuleInput): Promise<Alert> {
      const row = await store.transaction(async (db) => {
        await lockAlerts(db, store, who.organisationId);
        const workspaceId = await ownerFor(db, who, input);
        const reach = { organisationId: who.organisationId, workspaceId };
        await checkNames(db, reach, input.condition);
        await checkChannels(db, reach, input.channels);
        const { total } = await ruleQuery(db, who.organisationId)
          .select(({ fn }) => fn.countAll<number>().as('total'))
          .where('workspace_id', workspaceId === null ? 'is' : '=', workspaceId)
          .executeTakeFirstOrThrow();
        if (Number(total) >= MOST) fail('too_many_alerts', 'alerts', MOST);
        const made: AlertRuleRow = {
          id: newId(),
          organisation_id: who.organisationId,
          workspace_id: workspaceId,
          name: input.name,
          condition: JSON.stringify(input.condition),
          channels: JSON.stringify(input.channels),
          repeat_after: input.repeat_after ?? null,
          is_enabled: input.is_enabled === false ? 0 : 1,
          created_at: now(),
          updated_at: now(),
        };
        await db.insertInto('alert_rules').values(made).execute();
        await ensureEvaluation(db, store, workers, who.organisationId);
        return made;
      }, who);
      return shownRule(row, { look: null, states: [] });
    },

    async list(who: Principal, query: PageQuery & { workspace_id?: string }): Promise<Page<Alert>> {
      const all = rulesOf(store.db, who);
      const matching =
        query.workspace_id === undefined
          ? all
          : all.where('workspace_id', '=', await workspaceFor(store.db, who, query.workspace_id));
      const { rows, total } = await rowsOnPage(matching, query);
      const knownOf = await known(rows.map(({ id }) => id));
      return page(
        rows.map((row) => shownRule(row, knownOf(row.id))),
        total,
        query,
      );
    },

    read: async (who: Principal, id: string): Promise<Alert> => shown(await find(store.db, who, id)),

    async update(who: Principal, id: string, input: RuleChange): Promise<Alert> {
      const row = await store.transaction(async (db) => {
        await lockAlerts(db, store, who.organisationId);
        const current = await lock(db, who, id);
        const reach = { organisationId: current.organisation_id, workspaceId: current.workspace_id };
        if (input.condition) await checkNames(db, reach, input.condition);
        if (input.channels) await checkChannels(db, reach, input.channels);
        const next: AlertRuleRow = {
          ...current,
          name: input.name ?? current.name,
          condition: input.condition ? JSON.stringify(input.condition) : current.condition,
          channels: input.channels ? JSON.stringify(input.channels) : current.channels,
          repeat_after: input.repeat_after === undefined ? current.repeat_after : input.repeat_after,
          is_enabled: input.is_enabled === undefined ? current.is_enabled : input.is_enabled ? 1 : 0,
          // Two changes within a millisecond are two.
          updated_at: Math.max(now(), current.updated_at + 1),
        };
        await db.updateTable('alert_rules').set(next).where('id', '=', next.id).execute();
        return next;
      }, who);
      return shown(row);
    },

    /** What was told to be on is told to be over. Answers the id of what is gone. */
    delete(who: Principal, id: string): Promise<string> {
      return store.transaction(async (db) => {
        const rule = await lock(db, who, id);
        const states = (await statesOf(db, [rule.id])).get(rule.id) ?? [];
        await tell(db, rule, judge(states, [], { repeatAfterMs: null, now: now() }), { workers, now }, DELETED);
        await db.deleteFrom('alert_events').where('rule_id', '=', rule.id).execute();
        await db.deleteFrom('alert_rules').where('id', '=', rule.id).execute();
        return rule.id;
      }, who);
    },

    /** What it told, the latest first. */
    async events(who: Principal, id: string, query: PageQuery): Promise<Page<AlertEvent>> {
      const rule = await find(store.db, who, id);
      const all = store.db.selectFrom('alert_events').where('rule_id', '=', rule.id);
      const { rows, total } = await rowsOnPage(all, query, 'desc');
      return page(rows.map(shownEvent), total, query);
    },

    /** Tells all its channels something that is marked as a test. */
    async test(who: Principal, id: string): Promise<TestedChannel[]> {
      const rule = await find(store.db, who, id);
      const ids = JSON.parse(rule.channels) as string[];
      if (ids.length === 0) return [];
      const rows = await store.db.selectFrom('alert_channels').selectAll().where('id', 'in', ids).execute();
      const alert = { id: rule.id, name: rule.name, condition: (JSON.parse(rule.condition) as Condition).type };
      const summary = 'This is a test of an alert. Nothing is wrong.';
      const told = testTelling(alert, rule.workspace_id, summary, now());
      return Promise.all(rows.map((row) => channels.tryOut(open(row), told)));
    },
  };
}

const ruleQuery = (db: Db, organisationId: string) =>
  db.selectFrom('alert_rules').where('organisation_id', '=', organisationId);

export type Rules = ReturnType<typeof createRules>;
