import { type AuditEvent, NOBODY } from '../core/audit-event.ts';
import { GatewayError } from '../core/errors.ts';
import { uuidFrom } from '../crypto/stable-id.ts';
import { lockName } from '../storage/name-lock.ts';
import type { AlertRuleRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { type Kind, type Lease, LeaseLost } from '../work/work.ts';
import type { Workers } from '../work/workers.ts';
import type { Condition } from './condition.ts';
import { lookAt } from './conditions/index.ts';
import type { LookDeps, Looked } from './conditions/look.ts';
import { judge } from './judge.ts';
import { type TellDeps, tell } from './tell.ts';
import type { Telling } from './telling.ts';

/** The work of judging all rules, again and again: there is one such row while there are rules. */
export const EVALUATE = 'alert.evaluate';

export interface EvaluationDeps extends LookDeps, TellDeps {
  readonly workers: () => Workers;
  readonly noteWith: (db: Db, event: AuditEvent) => Promise<void>;
  /** Unforeseen failures, for the operator. */
  readonly report: (what: string, error: unknown) => void;
  readonly organisationId: string;
  readonly everyMs: number;
}

const EVENTS_KEPT_MS = 90 * 86_400_000;

/** Sees to it that rules are judged. To be called in a transaction, after which some node begins. */
export async function ensureEvaluation(
  db: Db,
  store: Store,
  workers: () => Workers,
  organisationId: string,
): Promise<void> {
  if (await isEnqueued(db)) return;
  await lockName(db, store, EVALUATE);
  // Another node may have been faster.
  if (await isEnqueued(db)) return;
  await workers().enqueue(db, { kind: EVALUATE, tenant: organisationId, ref: organisationId });
}

const isEnqueued = async (db: Db): Promise<boolean> =>
  (await db.selectFrom('work').select('id').where('kind', '=', EVALUATE).limit(1).executeTakeFirst()) !== undefined;

const hasRules = async (db: Db): Promise<boolean> =>
  (await db.selectFrom('alert_rules').select('id').limit(1).executeTakeFirst()) !== undefined;

/** Judges all rules, on one node at a time. */
export function evaluationKind(deps: EvaluationDeps): Kind {
  const { store, workers, organisationId, everyMs, now } = deps;
  return {
    name: EVALUATE,
    concurrency: 1,
    // This kind alone judges rules, so it never gives up.
    maxAttempts: Number.POSITIVE_INFINITY,
    backoff: { firstMs: 1_000, mostMs: 60_000 },
    run: async (lease) => {
      const rules = await store.db.selectFrom('alert_rules').selectAll().orderBy('id').execute();
      const problems = new Map<string | null, string[]>();
      for (const rule of rules) {
        lease.signal.throwIfAborted();
        const problem = await evaluate(rule, lease, deps).catch((error) => reported(error, rule, lease, deps));
        problems.set(problem, [...(problems.get(problem) ?? []), rule.id]);
      }
      await lease.transaction(async (db) => {
        for (const [problem, ids] of problems) await noteLooks(db, store, ids, problem, now());
        await db
          .deleteFrom('alert_events')
          .where('at', '<', now() - EVENTS_KEPT_MS)
          .execute();
        const isWanted = await hasRules(db);
        const seen = db.deleteFrom('alert_sightings');
        await (isWanted ? seen.where('expires_at', '<', now()) : seen).execute();
        return isWanted ? lease.reschedule(db, { afterMs: everyMs }) : lease.done(db);
      });
    },
    failed: async () => {},
    cancelled: async () => {},
    sweep: async (db) => {
      if (await hasRules(db)) await ensureEvaluation(db, store, workers, organisationId);
    },
  };
}

const SWITCHED_OFF = 'The alert was switched off.';

/** Writes down when rules that are still there were judged. One that is being deleted is left out. */
async function noteLooks(
  db: Db,
  { engine }: Store,
  ids: readonly string[],
  problem: string | null,
  at: number,
): Promise<void> {
  const query = db
    .selectFrom('alert_rules')
    .select('id')
    .where('id', 'in', [...ids]);
  const there = await (engine === 'postgres' ? query.forShare().skipLocked() : query).execute();
  if (there.length > 0) await saveLooks(db, there, problem, at);
}

const saveLooks = (db: Db, rules: readonly Pick<AlertRuleRow, 'id'>[], problem: string | null, checked_at: number) =>
  db
    .insertInto('alert_looks')
    .values(rules.map(({ id }) => ({ rule_id: id, problem, checked_at })))
    .onConflict((conflict) => conflict.column('rule_id').doUpdateSet({ problem, checked_at }))
    .execute();

/** A rule that fails in an unforeseen way does not keep the others from being judged. */
function reported(error: unknown, { id }: AlertRuleRow, { signal }: Lease, { report }: EvaluationDeps): string {
  signal.throwIfAborted();
  if (error instanceof LeaseLost || (error instanceof GatewayError && error.code === 'store_unavailable')) throw error;
  report(`alert ${id}`, error);
  return UNKNOWN;
}

/** Answers what keeps it from being judged. */
async function evaluate(seen: AlertRuleRow, lease: Lease, deps: EvaluationDeps): Promise<string | null> {
  const looked = await look(seen, deps);
  const { findings, problem } = looked ?? { findings: null, problem: UNKNOWN };
  const states = await statesOf(deps.store.db, seen.id);
  const judged = { repeatAfterMs: seen.repeat_after === null ? null : seen.repeat_after * 1_000, now: deps.now() };
  if (findings === null || judge(states, findings, judged).length === 0) return problem;
  await lease.transaction(async (db) => {
    const query = db.selectFrom('alert_rules').selectAll().where('id', '=', seen.id);
    const rule = await (deps.store.engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
    // A rule that was changed meanwhile is judged at the next turn.
    if (!rule || rule.updated_at !== seen.updated_at) return;
    const changes = judge(await statesOf(db, rule.id), findings, judged);
    await saveLooks(db, [rule], problem, judged.now);
    const reason = rule.is_enabled ? (problem ?? undefined) : SWITCHED_OFF;
    for (const telling of await tell(db, rule, changes, deps, reason)) await record(db, telling, rule, deps);
  });
  return problem;
}

const statesOf = (db: Db, ruleId: string) =>
  db.selectFrom('alert_states').selectAll().where('rule_id', '=', ruleId).orderBy('subject').execute();

const UNKNOWN = 'What it watches could not be read at the last turn; what it told before stands until then.';

/** Null: it cannot be known at present. */
async function look(rule: AlertRuleRow, deps: EvaluationDeps): Promise<Looked | null> {
  // What was told of a rule that is switched off is over.
  if (!rule.is_enabled) return { findings: [], problem: null };
  const reach = { organisationId: rule.organisation_id, workspaceId: rule.workspace_id };
  try {
    return await lookAt(JSON.parse(rule.condition) as Condition, reach, deps);
  } catch (error) {
    // A store that is away, or figures that take too long.
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

/** Into the audit log, beside the changes of rules. */
async function record(
  db: Db,
  { id, type, data, created_at }: Telling,
  rule: AlertRuleRow,
  { noteWith, organisationId }: EvaluationDeps,
): Promise<void> {
  if (type === 'alert.repeated') return;
  await noteWith(db, {
    id: uuidFrom(id),
    at: created_at * 1_000,
    caller: { organisationId, workspaceId: rule.workspace_id ?? '', type: 'api_key', id: NOBODY },
    resource: 'alerts',
    action: type === 'alert.over' ? 'end' : 'fire',
    uri: '',
    status: 200,
    body: { event_id: id, ...data },
  });
}
