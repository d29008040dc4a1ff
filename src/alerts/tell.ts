import type { AlertRuleRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';
import { DELIVER, type DeliveryPayload } from './channels.ts';
import type { Change } from './judge.ts';
import { type Telling, telling } from './telling.ts';

export interface TellDeps {
  readonly workers: () => Workers;
  readonly now: () => number;
}

/** So many events of a rule are kept. */
const MOST_EVENTS = 1_000;

/**
 * Writes down what has changed, and has it told: both in one transaction, so that there is neither without the other.
 * Answers what is told.
 */
export async function tell(
  db: Db,
  rule: AlertRuleRow,
  changes: readonly Change[],
  { workers, now }: TellDeps,
  reason?: string,
): Promise<Telling[]> {
  const told: Telling[] = [];
  const channels = changes.some(({ type }) => type !== null) ? await channelsOf(db, rule) : [];
  for (const { type, finding, since } of changes) {
    const at = now();
    const { subject, level } = finding;
    if (type === 'alert.over')
      await db.deleteFrom('alert_states').where('rule_id', '=', rule.id).where('subject', '=', subject).execute();
    else {
      const state = { level, found: JSON.stringify(finding), ...(type !== null && { told_at: at }) };
      await db
        .insertInto('alert_states')
        .values({ rule_id: rule.id, subject, since, told_at: at, ...state })
        .onConflict((conflict) => conflict.columns(['rule_id', 'subject']).doUpdateSet(state))
        .execute();
    }
    if (type === null) continue;
    const { summary, value, threshold } = finding;
    const message = telling(
      type,
      {
        alert: { id: rule.id, name: rule.name, condition: JSON.parse(rule.condition).type },
        workspace_id: rule.workspace_id,
        ...{ subject, summary, value, threshold },
        since: new Date(since).toISOString(),
        ...(type === 'alert.over' && reason !== undefined && { reason }),
      },
      at,
    );
    told.push(message);
    await db
      .insertInto('alert_events')
      .values({
        id: message.id,
        rule_id: rule.id,
        organisation_id: rule.organisation_id,
        workspace_id: rule.workspace_id,
        told: JSON.stringify(message),
        channels: JSON.stringify(Object.fromEntries(channels.map((channel) => [channel, null]))),
        at,
      })
      .execute();
    const payload: DeliveryPayload = { telling: message, tries: 0 };
    const tenant = rule.workspace_id ?? rule.organisation_id;
    for (const ref of channels) await workers().enqueue(db, { kind: DELIVER, tenant, ref, payload });
  }
  if (told.length > 0) await forgetOldest(db, rule.id);
  return told;
}

/** Those of its channels that are switched on. */
async function channelsOf(db: Db, { channels }: AlertRuleRow): Promise<string[]> {
  const ids = JSON.parse(channels) as string[];
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('alert_channels')
    .select('id')
    .where('id', 'in', ids)
    .where('is_enabled', '=', 1)
    .execute();
  return rows.map(({ id }) => id);
}

async function forgetOldest(db: Db, ruleId: string): Promise<void> {
  const oldestKept = db
    .selectFrom('alert_events')
    .select('id')
    .where('rule_id', '=', ruleId)
    .orderBy('id', 'desc')
    .offset(MOST_EVENTS - 1)
    .limit(1);
  await db.deleteFrom('alert_events').where('rule_id', '=', ruleId).where('id', '<', oldestKept).execute();
}
