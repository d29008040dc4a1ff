import { createApiKeys } from '../auth/api-keys.ts';
import { createOrganisation } from '../auth/organisation.ts';
import { createVirtualKeys } from '../auth/virtual-keys.ts';
import { createWorkspaces } from '../auth/workspaces.ts';
import { uncounted } from '../core/budgets.ts';
import { fail, GatewayError } from '../core/errors.ts';
import type { MachineIdentities } from '../core/machine-identity.ts';
import type { Principal } from '../core/principal.ts';
import type { Scope } from '../core/scopes.ts';
import type { SecretSource } from '../core/secret-reference.ts';
import { createPolicies } from '../limits/policies/policies.ts';
import { optionNames } from '../providers/registry.ts';
import { createConfigs } from '../routing/configs.ts';
import { announceChange, type Changes, lockTopic } from '../storage/changes.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Desired } from './desired.ts';
import type { Ground } from './ground.ts';
import type { Context } from './kind.ts';
import { dropMark, writeMark } from './marks.ts';
import { type Plan, type PlanOptions, planChanges } from './plan.ts';
import { createFindings, type Findings } from './reading/findings.ts';
import { recordSteps } from './record.ts';

/** The repositories open transactions of their own; inside one they use it instead. */
const inside = (store: Store, db: Db): Store => ({ ...store, db, transaction: (work) => work(db) });

/** References are stored as they are: the stores are not asked in a transaction. */
const unasked: SecretSource = { refusal: () => null, value: () => '', renew: async () => {} };

/** Nothing is called here, so nothing is lent. */
const unlent: MachineIdentities = {
  refusal: () => null,
  lend: () => {
    throw new Error('nothing is lent while a file is applied');
  },
};

function contextOf({ store, sealer, who, endWorkspace }: Ground, db: Db, now: number): Context {
  // All of it is one transaction, and its end is what the nodes are told of.
  const changes: Pick<Changes, 'subscribe' | 'transaction'> = {
    subscribe: () => () => {},
    transaction: (_topic, work) => work(db),
  };
  const deps = { store: inside(store, db), changes, budgets: uncounted, now: () => now };
  return {
    db,
    sealer,
    who,
    now,
    organisation: createOrganisation(deps),
    workspaces: createWorkspaces({ ...deps, end: endWorkspace(deps.store) }),
    // The code that read the file has checked its keys and configs, and has said where each fault stands.
    virtualKeys: createVirtualKeys({
      ...deps,
      sealer,
      check: async () => {},
      secrets: unasked,
      identities: unlent,
      environment: new Map(),
    }),
    configs: createConfigs({
      ...deps,
      sealer,
      optionNames: [...optionNames],
      check: () => {},
    }),
    apiKeys: createApiKeys(deps),
    policies: createPolicies(deps),
  };
}

/** What carrying out would do now. Changes nothing. */
export const look = (ground: Ground, desired: Desired, findings: Findings, options: PlanOptions): Promise<Plan> =>
  ground.store.transaction((db) => planChanges(contextOf(ground, db, Date.now()), desired, findings, options));

/** What a plan may change. */
const TOPICS = ['keys', 'configs', 'policies'] as const;

/**
 * Carries out a plan that was shown, all of it or nothing: in one transaction, in which the plan is made again and must
 * be the same. Null: none was shown, and what it is then is done. Nodes that share the database learn of it when it
 * commits. Answers the plan that was carried out.
 */
export async function carryOut(
  ground: Ground,
  { desired, plan, options }: { desired: Desired; plan: Pick<Plan, 'agreement'> | null; options: PlanOptions },
  progress: (done: number, total: number) => void = () => {},
): Promise<Plan> {
  const { store, sealer, who } = ground;
  const now = Date.now();
  return store.transaction(async (db) => {
    for (const topic of TOPICS) await lockTopic(db, store, topic);
    await waitForOthers(db);
    const context = contextOf(ground, db, now);
    const findings = createFindings();
    const current = await planChanges(context, desired, findings, options);
    const isAsShown = plan === null || current.agreement === plan.agreement;
    if (!isAsShown || (plan !== null && findings.faults.length > 0)) fail('apply_outdated');
    if (findings.faults.length > 0)
      fail(
        'apply_refused',
        findings.faults.map(({ says }) => says),
      );
    const { steps } = current;
    refuseMissingScopes(current, who);
    for (const [index, { run, drops, title }] of steps.entries()) {
      const mark = await run(context).catch((error: unknown) => {
        if (error instanceof GatewayError) error.message = `${title}: ${error.message} Nothing was changed.`;
        throw error;
      });
      if (mark) await writeMark(db, sealer, { manager: options.manager, mark, now });
      if (drops) await dropMark(db, { manager: options.manager, kind: drops.kind, ref: drops.ref });
      progress(index + 1, steps.length);
    }
    await recordSteps(db, ground, { steps, options, now });
    for (const topic of TOPICS) await announceChange(db, store.engine, topic);
    return current;
  }, who);
}

/** What the caller would need for the plan and does not hold. */
export const missingScopes = ({ steps }: Plan, who: Principal): Scope[] =>
  [...new Set(steps.flatMap(({ needs }) => needs))].filter((scope) => !who.scopes.has(scope)).sort();

function refuseMissingScopes(plan: Plan, who: Principal) {
  const [missing] = missingScopes(plan, who);
  if (missing) fail('insufficient_scope', missing);
}

/** Two commands at once: the second waits for this row and then sees what the first has done. */
const waitForOthers = (db: Db) =>
  db
    .updateTable('facts')
    .set((set) => ({ value: set.ref('value') }))
    .where('name', '=', 'encryption-key-proof')
    .execute();
