import type { Db } from '../storage/store.ts';
import { type CommandedChange, recordChanges } from './change-records.ts';
import type { Kind } from './desired.ts';
import type { Ground } from './ground.ts';
import type { PlanOptions, Step } from './plan.ts';

/** As the records of calls on the same objects call them. */
const RESOURCES: Readonly<Record<Kind, string>> = {
  organisation: 'organisation',
  workspace: 'workspaces',
  'virtual-key': 'virtual_keys',
  config: 'configs',
  'api-key': 'api_keys',
  policy: 'policies',
};
const METHODS = { create: 'POST', change: 'PUT', delete: 'DELETE' } as const;

/** One record for each step, like that of the call which would have done the same. */
export async function recordSteps(
  db: Db,
  ground: Pick<Ground, 'sealer' | 'who' | 'author'>,
  { steps, options, now }: { steps: readonly Step[]; options: PlanOptions; now: number },
): Promise<void> {
  const { who } = ground;
  const own = db.selectFrom('workspaces').select(['id', 'slug']).where('organisation_id', '=', who.organisationId);
  const ids = new Map((await own.execute()).map(({ id, slug }) => [slug, id]));
  const changes = steps.map(({ kind, action, title, fields, differences, workspace }): CommandedChange => {
    const changed = differences.map(({ field, to }) => [field, to]);
    return {
      command: options.manager,
      method: METHODS[action],
      resource: RESOURCES[kind],
      workspaceId: (workspace !== null && ids.get(workspace)) || '',
      body: { object: title, ...(action === 'change' ? { fields: Object.fromEntries(changed) } : { fields }) },
    };
  });
  await recordChanges(db, { ...ground, now }, changes);
}
