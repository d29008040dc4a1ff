import { apiKeyOwner } from '../../auth/api-keys.ts';
import { budgetsOf } from '../../auth/owner-limits.ts';
import { ownerOf } from '../../auth/virtual-key.ts';
import { workspaceOwner } from '../../auth/workspaces.ts';
import { type Limit, windowAt } from '../../core/limits.ts';
import { NANO_DOLLARS } from '../../core/money.ts';
import { limitIn, limitOfGroup } from '../../limits/policies/match.ts';
import { ownerText } from '../../limits/refusal.ts';
import type { PolicyRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import type { ConditionOf } from '../condition.ts';
import type { Finding } from '../telling.ts';
import { inDollars, inPercent, type Look, type LookDeps, type Reach } from './look.ts';
import { apiKeysIn, byName, policiesIn, virtualKeysIn, workspacesIn } from './names.ts';

type Of = ConditionOf<'budget'>['of'];

/** So many at once. */
const CHUNK = 500;

/** Budgets that have reached one of the percentages, each in the period that is open now. */
export const lookAtBudgets: Look<'budget'> = async ({ thresholds, of }, reach, deps) => {
  const findings: Finding[] = [];
  for await (const limits of budgets(deps.store.db, reach, of))
    findings.push(...(await reached(limits, thresholds, deps)));
  return { findings, problem: null };
};

async function reached(
  limits: readonly Limit[],
  thresholds: readonly number[],
  { budgets: counted, now }: LookDeps,
): Promise<Finding[]> {
  if (limits.length === 0) return [];
  const levels = await counted.levels(limits);
  const at = now();
  return limits.flatMap((limit) => {
    const used = levels.get(limit.counter)?.used ?? 0;
    const share = (100 * used) / limit.max;
    const level = thresholds.filter((threshold) => share >= threshold).length;
    if (level === 0) return [];
    const amount = limit.counts === 'cost' ? inDollars(used / NANO_DOLLARS) : `${used} ${limit.counts}`;
    return {
      // A period that begins is another thing to tell of, also where it is spent before the next look.
      subject: `${limit.counter} ${windowAt(limit.period, at).start}`,
      level,
      summary: `${capital(ownerText(limit.owner))} has used ${inPercent(share)} of its budget of ${limit.text}: ${amount}.`,
      value: share,
      threshold: thresholds[level - 1]!,
    };
  });
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Those that are meant, some at a time. */
async function* budgets(db: Db, reach: Reach, of: Of): AsyncGenerator<readonly Limit[]> {
  const asks = (member: keyof NonNullable<Of>) => of === undefined || of[member] !== undefined;
  if (asks('api_key_id'))
    for await (const rows of chunks((after) => {
      const all = apiKeysIn(db, reach).where('usage_limits', 'is not', null).where('id', '>', after);
      return (of?.api_key_id === undefined ? all : all.where('id', '=', of.api_key_id))
        .orderBy('id')
        .limit(CHUNK)
        .execute();
    }))
      yield rows.flatMap((row) => budgetsOf(apiKeyOwner(row), row, row.created_at));
  if (asks('virtual_key'))
    for await (const rows of chunks((after) => {
      const all = virtualKeysIn(db, reach).where('usage_limits', 'is not', null).where('id', '>', after);
      return of?.virtual_key === undefined
        ? all.orderBy('id').limit(CHUNK).execute()
        : byName<Awaited<ReturnType<typeof all.execute>>[number]>(all, of.virtual_key);
    }))
      yield rows.flatMap((row) => budgetsOf(ownerOf(row), row, row.created_at));
  if (asks('workspace_id'))
    for await (const rows of chunks((after) => {
      const all = workspacesIn(db, reach).where('usage_limits', 'is not', null).where('id', '>', after);
      return of?.workspace_id === undefined
        ? all.orderBy('id').limit(CHUNK).execute()
        : byName<Awaited<ReturnType<typeof all.execute>>[number]>(all, of.workspace_id);
    }))
      yield rows.flatMap((row) => budgetsOf(workspaceOwner(row), row, row.created_at));
  if (asks('policy_id')) {
    const all = policiesIn(db, reach);
    const policies = await (of?.policy_id === undefined ? all : all.where('id', '=', of.policy_id)).execute();
    for (const policy of policies) yield* groupsOf(db, policy);
  }
}

/** The groups of callers that a policy has met, each with a budget of its own. */
async function* groupsOf(db: Db, policy: PolicyRow): AsyncGenerator<readonly Limit[]> {
  const limit = limitIn(policy);
  for await (const rows of chunks((after) =>
    db
      .selectFrom('policy_entities')
      .selectAll()
      .where('policy_id', '=', policy.id)
      .where('id', '>', after)
      .orderBy('id')
      .limit(CHUNK)
      .execute(),
  ))
    yield rows.map(({ value_key }) => limitOfGroup(limit, value_key));
}

/** Page by page, by id. */
async function* chunks<Row extends { readonly id: string }>(
  page: (after: string) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let after = ''; ; ) {
    const rows = await page(after);
    if (rows.length === 0) return;
    yield rows;
    if (rows.length < CHUNK) return;
    after = rows.at(-1)!.id;
  }
}
