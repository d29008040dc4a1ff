import type { Condition, ConditionType } from '../condition.ts';
import { lookAtBudgets } from './budget.ts';
import { lookAtErrors, lookAtLatency, lookAtSpending, lookAtUnpriced } from './figures.ts';
import { lookAtKeys } from './keys.ts';
import type { AnyLook, Look, LookDeps, Looked, Reach } from './look.ts';
import { missingIn } from './names.ts';
import { lookAtQueue } from './queue.ts';
import { lookAtBreakers, lookAtDisks, lookAtHealth, lookAtProviders } from './seen.ts';

const LOOKS: { readonly [Type in ConditionType]: Look<Type> } = {
  budget: lookAtBudgets,
  spend_rate: lookAtSpending,
  error_rate: lookAtErrors,
  latency: lookAtLatency,
  unpriced_calls: lookAtUnpriced,
  breaker_open: lookAtBreakers,
  provider_down: lookAtProviders,
  key_expiring: lookAtKeys,
  queue: lookAtQueue,
  disk: lookAtDisks,
  degraded: lookAtHealth,
};

/** So many things a rule tells of one by one. */
const MOST_FINDINGS = 1_000;

/** What holds at present of a condition. */
export async function lookAt(condition: Condition, reach: Reach, deps: LookDeps): Promise<Looked> {
  const missing = await missingIn(deps.store.db, reach, condition);
  if (missing !== null) return { findings: [], problem: missing };
  const { findings, problem } = await (LOOKS[condition.type] as AnyLook)(condition, reach, deps);
  if (findings.length <= MOST_FINDINGS) return { findings, problem };
  const left = findings.length - MOST_FINDINGS;
  // Always the same ones, so that none of them seems to be over.
  const first = findings.toSorted((one, other) => (one.subject < other.subject ? -1 : 1)).slice(0, MOST_FINDINGS);
  return {
    findings: first,
    problem: `It holds for ${left} more things, which are not told: name fewer in its condition.`,
  };
}
