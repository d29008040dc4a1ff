import { ENDPOINTS } from '../../core/endpoints.ts';
import type { Limit } from '../../core/limits.ts';
import { NANO_DOLLARS } from '../../core/money.ts';
import { isRefusal, type WorkHold, type WorkHolds } from '../../limits/work-holds.ts';
import { readMetadata } from '../../relay/receive.ts';
import type { BatchRow } from '../../storage/schema.ts';
import type { Lease } from '../../work/work.ts';
import { hasEnded } from '../batch.ts';
import { LINES } from '../kinds.ts';
import { lanesFor } from '../lane-plan.ts';
import { finish } from './ending.ts';
import type { ModelSize } from './sizes.ts';
import { type Context, nativeOf, nativeWith } from './step.ts';

/** The window of a batch, and what its provider may take beyond it to end. */
const LONGEST_HOLD_MS = 36 * 3_600_000;

const NOTHING = { requests: 0, tokens: 0, cost: 0 };

/**
 * Holds what the whole batch may take, of all limits that it falls under, before its provider hears of it. False: it does
 * not fit as a whole, so the gateway carries it out, where each request is held, counted and refused by itself.
 */
export async function holdForAll(batch: BatchRow, lease: Lease, context: Context): Promise<boolean> {
  const { deps } = context;
  const { holds } = deps.limits;
  const { sizes = null, hold: before } = nativeOf(batch);
  // A process that died in this very step may have taken it, or not.
  if (before) holds.settle(before, NOTHING);
  const limits = await limitsOf(batch, sizes, context);
  if (limits === null) return false;
  if (limits.length === 0) return true;
  const hold = planned(batch, sizes!, limits, context);
  if (!hold) return false;
  await lease.transaction((db) => deps.table.change(db, batch.id, { native: nativeWith(batch, { hold }) }));
  return holds.take(hold, LONGEST_HOLD_MS);
}

/** Null: they are not the same for all of its requests, or its requests were not added up. */
async function limitsOf(
  batch: BatchRow,
  sizes: readonly ModelSize[] | null,
  { who, provider: { target }, deps }: Context,
): Promise<readonly Limit[] | null> {
  const headers = JSON.parse(batch.headers) as Record<string, string>;
  const metadata = readMetadata(headers, who.defaults.metadata);
  const forModel = async (model: string | null) => [
    ...who.limits,
    ...target.limits,
    ...(await deps.limits.policies.matching({
      organisationId: who.organisationId,
      workspaceId: who.workspaceId,
      apiKeyId: who.keyId,
      virtualKey: target.virtualKey,
      provider: target.provider.name,
      model,
      metadata,
      config: null,
      endpointType: ENDPOINTS.get(batch.endpoint.slice('/v1'.length)) ?? 'proxy',
    })),
  ];
  if (sizes === null) return (await forModel(null)).length === 0 ? [] : null;
  const [first = [], ...others] = await Promise.all(sizes.map(({ model }) => forModel(model)));
  const namesOf = (limits: readonly Limit[]) => limits.map(({ counter }) => counter).join('\n');
  return others.every((each) => namesOf(each) === namesOf(first)) ? first : null;
}

/** Null: a model has no price, and a budget wants one. */
function planned(
  { virtual_key: virtualKey }: BatchRow,
  sizes: readonly ModelSize[],
  limits: readonly Limit[],
  { who, provider: { target }, deps }: Context,
): WorkHold | null {
  const sum = (of: (size: ModelSize) => number) => sizes.reduce((total, size) => total + of(size), 0);
  const provider = target.provider.name;
  const costs = sizes.map((size) => deps.limits.prices.costOf(provider, size.model, size, target.prices, 'in a batch'));
  const isKnown = costs.every((cost) => cost !== null);
  const dollars = costs.reduce<number>((total, cost) => total + (cost ?? 0), 0);
  const estimate = {
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    cost: isKnown ? Math.ceil(dollars * NANO_DOLLARS) : null,
  };
  const model = sizes.length === 1 ? sizes[0]!.model : null;
  try {
    const requests = sum((size) => size.requests);
    return deps.limits.holds.plan(limits, { who, virtualKey, provider, model, requests, estimate });
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

/** From now on the batch is one that the gateway carries out. Nothing of it has reached the provider. */
export async function carryOutHere(batch: BatchRow, lease: Lease, { deps }: Context): Promise<void> {
  const { table, workers } = deps;
  const isStopped = await lease.transaction(async (db) => {
    const current = await table.lock(db, batch.id);
    if (!current || hasEnded(current.status)) {
      await lease.done(db);
      return false;
    }
    if (current.stop) return true;
    await table.change(db, batch.id, { mode: 'managed', native: null });
    const work = { tenant: batch.workspace_id, ref: batch.id, kind: LINES };
    for (const lane of lanesFor(batch.total ?? 0)) await workers().enqueue(db, { ...work, payload: lane });
    await lease.done(db);
    return false;
  });
  if (isStopped) await finish(batch, lease, deps);
}

/** What was held, once the batch has ended: what its answers took, or the estimate where the provider never told. */
export function settleHold(batch: BatchRow, holds: Pick<WorkHolds, 'settle'>): void {
  const { hold, job, taken } = nativeOf(batch);
  if (hold) holds.settle(hold, taken ?? (job === undefined ? NOTHING : null));
}
