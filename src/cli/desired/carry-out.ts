import { createApiKeys } from '../../auth/api-keys.ts';
import { createOrganisation } from '../../auth/organisation.ts';
import { createVirtualKeys } from '../../auth/virtual-keys.ts';
import { createWorkspaces } from '../../auth/workspaces.ts';
import { uncounted } from '../../core/budgets.ts';
import { GatewayError } from '../../core/errors.ts';
import { createHealth } from '../../core/health.ts';
import type { SecretSource } from '../../core/secret-reference.ts';
import type { EndingsOf } from '../../endings/endings.ts';
import { createPolicies } from '../../limits/policies/policies.ts';
import { optionNames } from '../../providers/registry.ts';
import { createConfigs } from '../../routing/configs.ts';
import { type Changes, createChanges, lockTopic } from '../../storage/changes.ts';
import type { Db, Store } from '../../storage/store.ts';
import type { Installation } from '../installation.ts';
import { createFindings, type Findings } from '../reading/findings.ts';
import type { Desired } from './desired.ts';
import type { Context } from './kind.ts';
import { dropMark, writeMark } from './marks.ts';
import { type Plan, type PlanOptions, planChanges } from './plan.ts';
import { recordSteps } from './record.ts';

/** The repositories open transactions of their own; inside one they use it instead. */
const inside = (store: Store, db: Db): Store => ({ ...store, db, transaction: (work) => work(db) });

/** Loaded when a workspace is to be ended: it knows every area. */
const endWorkspace =
  (store: Store, sealer: Installation['sealer']) =>
  async (...workspace: Parameters<EndingsOf['endWorkspace']>): Promise<void> => {
    const { endWorkspaceByCommand } = await import('./end-workspace.ts');
    await endWorkspaceByCommand(store, sealer)(...workspace);
  };

/** References are stored as they are: a command does not ask the stores. */
const unasked: SecretSource = { refusal: () => null, value: () => '', renew: async () => {} };

function contextOf({ store, sealer, who }: Installation, db: Db, now: number): Context {
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
    workspaces: createWorkspaces({ ...deps, end: endWorkspace(deps.store, sealer) }),
    // The code that read the file has checked its keys and configs, and has said where each fault stands.
    virtualKeys: createVirtualKeys({
      ...deps,
      sealer,
      check: async () => {},
      secrets: unasked,
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
export const look = (
  installation: Installation,
  desired: Desired,
  findings: Findings,
  options: PlanOptions,
): Promise<Plan> =>
  installation.store.transaction((db) =>
    planChanges(contextOf(installation, db, Date.now()), desired, findings, options),
  );

/** What a plan may change. */
const TOPICS = ['keys', 'configs', 'policies'] as const;

/** What people agreed to, as one text. */
const agreement = ({ steps }: Plan): string =>
  JSON.stringify(steps.map(({ action, title, differences }) => [action, title, differences]));

/**
 * Carries out a plan that was shown, all of it or nothing: in one transaction, in which the plan is made again and must
 * be the same. Nodes that share the database learn of it when it commits.
 */
export async function carryOut(
  installation: Installation,
  { desired, plan, options }: { desired: Desired; plan: Plan; options: PlanOptions },
  progress: (done: number, total: number) => void = () => {},
): Promise<void> {
  const { store, databaseUrl, sealer } = installation;
  const changes = createChanges({ store, databaseUrl, health: createHealth({ now: Date.now }) });
  const now = Date.now();
  try {
    await store.transaction(async (db) => {
      for (const topic of TOPICS) await lockTopic(db, store, topic);
      await waitForOthers(db);
      const context = contextOf(installation, db, now);
      const findings = createFindings();
      const { steps, ...rest } = await planChanges(context, desired, findings, options);
      if (findings.faults.length > 0 || agreement({ steps, ...rest }) !== agreement(plan))
        throw new Error('The database has changed since the difference was shown. Nothing was done; run it again.');
      for (const [index, { run, drops, title }] of steps.entries()) {
        const mark = await run(context).catch((error: unknown) => {
          if (error instanceof GatewayError) error.message = `${title}: ${error.message} Nothing was changed.`;
          throw error;
        });
        if (mark) await writeMark(db, sealer, { manager: options.manager, mark, now });
        if (drops) await dropMark(db, { manager: options.manager, kind: drops.kind, ref: drops.ref });
        progress(index + 1, steps.length);
      }
      await recordSteps(db, installation, { steps, options, now });
      for (const topic of TOPICS) await changes.announce(db, topic);
    });
  } finally {
    await changes.close();
  }
}

/** Two commands at once: the second waits for this row and then sees what the first has done. */
const waitForOthers = (db: Db) =>
  db
    .updateTable('facts')
    .set((set) => ({ value: set.ref('value') }))
    .where('name', '=', 'encryption-key-proof')
    .execute();
