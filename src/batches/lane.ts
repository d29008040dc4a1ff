import { GatewayError } from '../core/errors.ts';
import { newObjectId } from '../core/object-ids.ts';
import { replyWithError } from '../http/reply.ts';
import type { BatchRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { type Kind, type Lease, ShuttingDown, type Work, WorkCancelled } from '../work/work.ts';
import { entered } from './batch.ts';
import { execute, type Result } from './execute.ts';
import { inputOf, type LineInput } from './input.ts';
import { type BatchDeps, callerOf, enqueueFinish, LINES } from './kinds.ts';
import { LANES, type Lane, nextOf } from './lane-plan.ts';
import { ResultGroups } from './result-groups.ts';

/** How long requests under way may take when the batch was cancelled or has expired, and when this node stops. */
const DRAIN_MS = 60_000;
const SHUTDOWN_MS = 1_000;

/** Makes the requests of a lane, saves their results in groups, and goes to the end of the queue. */
export function linesKind(deps: BatchDeps): Kind {
  const { store, table, workers, now } = deps;

  /** When the last lane has ended, the output is written. */
  const laneEnded = async (db: Db, { id, ref }: Work) => {
    const batch = await table.lock(db, ref);
    if (!batch) return;
    const other = await db
      .selectFrom('work')
      .select('id')
      .where('kind', '=', LINES)
      .where('ref', '=', ref)
      .where('id', '!=', id)
      .executeTakeFirst();
    if (other) return;
    if (batch.stop === null) await table.change(db, ref, entered(batch, 'finalizing', now()));
    await enqueueFinish(db, batch, workers());
  };

  return {
    name: LINES,
    // Waiting for providers costs little; how many requests are made at once is for the gates to say.
    concurrency: 6 * LANES,
    maxAttempts: 50,
    run: async (lease) => {
      const batch = await table.read(store.db, lease.work.ref);
      const lane = lease.work.payload as Lane;
      if (batch?.status !== 'in_progress')
        return lease.transaction((db) => {
          lease.signal.throwIfAborted();
          return lease.done(db);
        });
      await runLines(batch, lane, lease, deps);
      const next = nextOf(lane, batch.total ?? 0);
      const move = async (db: Db) => {
        lease.signal.throwIfAborted();
        if (next) return lease.reschedule(db, { afterMs: 0 }, next);
        await laneEnded(db, lease.work);
        await lease.done(db);
      };
      // A lane that a power cut sets back finds the results that are there.
      await lease.transaction(move, { flush: next ? 'later' : 'now' });
    },
    // What it did not get to is in the error file.
    failed: (db, work) => laneEnded(db, work),
    cancelled: async (db, work) => {
      const batch = await table.lock(db, work.ref);
      // Without `stop`, the cancelling transaction is still running, and it does the rest itself.
      if (batch?.stop) await laneEnded(db, work);
    },
    sweep: (db, at) => expire(db, at, deps),
  };
}

async function runLines(batch: BatchRow, lane: Lane, lease: Lease, deps: BatchDeps): Promise<void> {
  const { store, table, files, gates, litter, callModel } = deps;
  const open = await table.openLines(store.db, batch.id, lane.from, lane.from + lane.size);
  if (open.length === 0) return;
  const calls = endingWith(lease.signal);
  const failing = new AbortController();
  const stopping = AbortSignal.any([lease.signal, failing.signal]);
  const results = new ResultGroups({ lease, table, batchId: batch.id });
  const source = inputOf(files, batch, open);
  const headers = JSON.parse(batch.headers) as Record<string, string>;
  const proven = deps.proofs.open(batch.id, batch.proofs);

  const path = batch.endpoint.slice('/v1'.length);
  const call = (body: Uint8Array) => async (signal: AbortSignal) => {
    // Each time: a key that is deleted pays for nothing more.
    const who = await callerOf(batch, deps).catch(ifGone);
    if (who instanceof GatewayError) return replyWithError(who);
    return callModel({ who, path, body, headers, proven, signal, traceId: batch.id, route: '/v1/batches' });
  };
  const run = (body: Uint8Array) =>
    execute({
      batch: batch.id,
      gateKey: `${batch.workspace_id}/${batch.virtual_key}`,
      gates,
      call: call(body),
      stopping,
      signal: calls.signal,
      firstWaitMs: deps.firstWaitMs,
    });
  const one = async ({ number, body }: LineInput) => {
    const result = body === null ? inputGone() : await run(body);
    if (!result) return;
    litter.add((body?.byteLength ?? 0) + (result.response?.length ?? 0));
    await results.add(number, result);
  };
  const consume = async () => {
    try {
      while (!stopping.aborted) {
        const { value, done } = await source.next();
        if (done) return;
        await one(value);
      }
    } catch (error) {
      failing.abort(error);
      throw error;
    }
  };
  const slots = Math.max(1, Math.ceil(deps.mostInFlight / LANES));
  try {
    const ended = await Promise.allSettled(Array.from({ length: Math.min(slots, open.length) }, consume));
    await results.flush();
    for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason;
  } finally {
    calls.dispose();
  }
  lease.signal.throwIfAborted();
}

const inputGone = (): Result => ({
  id: newObjectId('batchRequest'),
  isError: true,
  response: null,
  error: JSON.stringify({
    code: 'file_not_found',
    message: 'The input file was deleted before this request could be made.',
  }),
  usage: null,
});

/** A signal for calls under way: they end at once when the lease is lost, and some time after a polite request to stop. */
function endingWith(signal: AbortSignal) {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    const { reason } = signal;
    const graceMs = reason instanceof WorkCancelled ? DRAIN_MS : reason instanceof ShuttingDown ? SHUTDOWN_MS : 0;
    timer = setTimeout(() => controller.abort(reason), graceMs);
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  return {
    signal: controller.signal,
    dispose: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    },
  };
}

/** When the key that made the batch is gone, each request fails with that. */
function ifGone(error: unknown): GatewayError {
  if (error instanceof GatewayError && error.status === 401) return error;
  throw error;
}

/** Ends what has run for longer than its window: what is under way may finish, what has not begun never will. */
async function expire(db: Db, at: number, { table, workers }: BatchDeps): Promise<void> {
  const over = await db
    .selectFrom('batches')
    .select('id')
    .where('status', '=', 'in_progress')
    .where('mode', '=', 'managed')
    .where('expires_at', '<=', at)
    .where('stop', 'is', null)
    .limit(20)
    .execute();
  for (const { id } of over) {
    const { asked } = await workers().cancel(db, { kind: LINES, ref: id });
    const batch = await table.lock(db, id);
    if (batch?.status !== 'in_progress' || batch.stop !== null) continue;
    await table.change(db, id, { stop: 'expired' });
    if (asked === 0) await enqueueFinish(db, batch, workers());
  }
}
