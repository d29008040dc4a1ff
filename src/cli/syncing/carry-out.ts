import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreFile } from '../../assistants/vector-stores/file.ts';
import { attributesOf } from './attributes.ts';
import { Refused, type SyncGateway } from './gateway.ts';
import type { PlanOptions, SyncPlan } from './plan.ts';
import type { SyncReport, SyncSummary } from './report.ts';
import type { Source } from './source.ts';

export interface CarryingOut {
  readonly gateway: SyncGateway;
  readonly storeId: string;
  readonly syncId: string;
  readonly source: Source;
  readonly plan: SyncPlan;
  readonly rules: PlanOptions['rules'];
  readonly report: SyncReport;
  /** Files of the source that can never be taken: too large, for one. What the store has of them stays. */
  readonly faults: number;
  readonly signal: AbortSignal;
}

/** Files that are sent at the same moment. */
const AT_ONCE = 4;
/** Files that were sent and are not taken in yet: more of them would only wait on the other side. */
const MOST_WAITING = 64;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2_000;
/** So often the gateway hears of a sync that has nothing else to say; its lease is four times as long. */
const HEARTBEAT_MS = 15_000;

/**
 * Brings what changed, waits until it is taken in, and only then removes what is gone: a file that was renamed is found all
 * the time. Where anything failed that may succeed later, nothing is removed.
 */
export async function carryOut(work: CarryingOut): Promise<SyncSummary> {
  const { gateway, storeId, syncId, source, plan, rules, report, signal } = work;
  const gone = Map.groupBy(plan.removals, ({ path }) => path);
  const total = plan.uploads.length + plan.underWay.length + plan.attributes.length + gone.size;
  const counts = { added: 0, changed: 0, removed: 0, attributes: 0, unreadable: 0, failed: 0, bytes: 0 };
  let done = 0;
  const progress = () => ({
    ...{ total, done, uploaded: counts.added + counts.changed, removed: counts.removed },
    ...{ failed: counts.failed + counts.unreadable, bytes: counts.bytes },
  });
  const step = () => {
    done++;
    report.progress(progress());
  };
  const failed = (path: string, error: unknown) => {
    // Without its lease a sync must not go on, and told to stop it has not failed at this file.
    if (signal.aborted || (error instanceof Refused && error.code === 'vector_store_sync_lost')) throw error;
    counts.failed++;
    report.failed(path, (error as Error).message);
    step();
  };
  const heartbeat = setInterval(
    () => void gateway.tell(storeId, syncId, { progress: progress() }).catch(() => {}),
    HEARTBEAT_MS,
  );

  /** Files on their way, by their ids. */
  const waiting = new Map<string, { readonly path: string; readonly what: 'added' | 'changed' }>();
  const settle = ({ id, status, last_error }: Pick<StoreFile, 'id' | 'status' | 'last_error'>) => {
    const { path, what } = waiting.get(id)!;
    waiting.delete(id);
    if (status === 'completed') {
      counts[what]++;
      report.done(what, path);
    } else if (status === 'failed' && last_error!.code !== 'server_error') {
      counts.unreadable++;
      report.unreadable(path, last_error!.message);
    } else return failed(path, new Error(last_error?.message ?? `it is ${status} in the store`));
    step();
  };
  /** Looks once which of them are taken in. */
  const look = async () => {
    const open = new Set<string>();
    for await (const { id } of gateway.underWay(storeId)) open.add(id);
    for (const id of [...waiting.keys()])
      if (!open.has(id))
        try {
          settle(await gateway.file(storeId, id));
        } catch (error) {
          if (!(error instanceof Refused && error.status === 404)) throw error;
          const { path } = waiting.get(id)!;
          waiting.delete(id);
          failed(path, new Error('it was taken out of the store meanwhile'));
        }
  };
  const waitUntil = async (isEnough: () => boolean) => {
    for (let pauseMs = FIRST_PAUSE_MS; !isEnough(); pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 1.5)) {
      await look();
      if (!isEnough()) await sleep(pauseMs, undefined, { signal });
    }
  };

  const bring = async ({ path, isNew, ...file }: SyncPlan['uploads'][number]) => {
    let fetched: Awaited<ReturnType<Source['fetch']>>;
    try {
      fetched = await source.fetch({ path, ...file });
    } catch (error) {
      return failed(path, error);
    }
    if (!fetched) return failed(path, new Error('it is gone since the source was looked through; sync again'));
    try {
      const { attributes, warnings } = attributesOf(path, fetched.head, rules);
      if (file.head === null) for (const message of warnings) report.warning(path, message);
      const { id, status, last_error } = await gateway.put(storeId, syncId, path, fetched, attributes);
      counts.bytes += fetched.bytes;
      waiting.set(id, { path, what: isNew ? 'added' : 'changed' });
      if (status !== 'in_progress') settle({ id, status, last_error });
    } catch (error) {
      failed(path, error);
    } finally {
      fetched.release();
    }
  };

  try {
    for (const { path, message } of plan.unreadable) {
      counts.unreadable++;
      report.unreadable(path, message);
    }
    for (const { path, fileId } of plan.underWay) waiting.set(fileId, { path, what: 'changed' });
    for (let at = 0; at < plan.uploads.length; at += AT_ONCE) {
      signal.throwIfAborted();
      await Promise.all(plan.uploads.slice(at, at + AT_ONCE).map(bring));
      await waitUntil(() => waiting.size < MOST_WAITING);
    }
    for (const { path, fileId, attributes } of plan.attributes)
      try {
        await gateway.changeAttributes(storeId, fileId, attributes);
        counts.attributes++;
        report.done('attributes', path);
        step();
      } catch (error) {
        failed(path, error);
      }
    await waitUntil(() => waiting.size === 0);
    counts.unreadable += work.faults;
    const mayRemove = counts.failed === 0;
    if (mayRemove)
      for (const [path, files] of gone) {
        for (const { fileId } of files) await gateway.remove(storeId, syncId, fileId);
        counts.removed++;
        report.done('removed', path);
        step();
      }
    const status = counts.failed === 0 ? 'completed' : 'failed';
    clearInterval(heartbeat);
    await gateway.tell(storeId, syncId, { progress: progress(), status });
    return { ...counts, unchanged: plan.unchanged, removals_put_off: mayRemove ? 0 : gone.size };
  } finally {
    clearInterval(heartbeat);
  }
}
