import type { Db, TransactionOptions } from '../storage/store.ts';
import type { Moment } from './time.ts';

/** Something that must be done though processes die: one row of `work`, as its handler sees it. */
export interface Work {
  readonly id: string;
  readonly kind: string;
  readonly tenant: string;
  readonly ref: string;
  /** What it was enqueued with, or the last checkpoint or reschedule left. */
  readonly payload: unknown;
  /** Grows with every claim. Unique for the row: name things by `id` and `fence` that a takeover must not mix up. */
  readonly fence: number;
  /** How often it was begun, this time included, since it last got on. */
  readonly attempts: number;
  readonly isCancelled: boolean;
  readonly lastError: string | null;
}

export interface NewWork {
  /** The name of a registered kind. */
  readonly kind: string;
  /** Between whom the kind's slots are shared: a workspace's id. */
  readonly tenant: string;
  /** The object it is done for. Several may have the same; cancelling by it reaches all. */
  readonly ref: string;
  /** Not before; at once when left out. */
  readonly runAt?: Moment;
  /** Anything JSON can hold. */
  readonly payload?: unknown;
}

/** One row, or all rows for an object. */
export type Target = { readonly id: string } | { readonly kind: string; readonly ref: string };

/**
 * What is done, and how. A handler may be killed between any two lines and begun again elsewhere, so it reads where its
 * object stands, does one step, and saves the step in a fenced transaction; the last one ends the work.
 *
 *     const thumbnails: Kind = {
 *       name: 'thumbnail',
 *       concurrency: 4,
 *       run: async (lease) => {
 *         const image = await draw(lease.work.ref, lease.signal);
 *         await lease.transaction(async (db) => {
 *           await saveThumbnail(db, lease.work.ref, image);
 *           await lease.done(db);
 *         });
 *       },
 *       failed: (db, work, error) => markBroken(db, work.ref, String(error)),
 *       cancelled: (db, work) => removeThumbnail(db, work.ref),
 *     };
 */
export interface Kind {
  readonly name: string;
  /** How many run at once on one node. 0: this node enqueues and cancels, others do the work. */
  readonly concurrency: number;
  /** How often it is begun, takeovers included, before it is given up. 5 when left out. */
  readonly maxAttempts?: number;
  /** The wait after the first failure, doubled after each further one. 1 s up to 5 min when left out. */
  readonly backoff?: Backoff;
  /**
   * Ends with `done`, `reschedule` or `release` in a fenced transaction. When it throws it is tried again later, and the
   * message stays in the row: nothing secret belongs in it.
   */
  run(lease: Lease): Promise<void>;
  /** Given up: says so in the object. The row goes in the same transaction. */
  failed(db: Db, work: Work, error: unknown): Promise<void>;
  /** Cancelled, and no node is doing it any more: says so in the object. The row goes in the same transaction. */
  cancelled(db: Db, work: Work): Promise<void>;
  /**
   * Every node calls it every 5 s, every two minutes while no caller asks anything of it, in a transaction of its own: ends what has
   * expired. `now` is the database's.
   */
  sweep?(db: Db, now: number): Promise<void>;
}

export interface Backoff {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** Whether a transaction waits for the disk; `later` is for steps that are merely done again when they are lost. */
export type FlushOption = Pick<TransactionOptions, 'flush'>;

/** A node's right to do one piece of work, until another node takes it over. */
export interface Lease {
  readonly work: Work;
  /** Aborted when the work must stop; its reason is a LeaseLost, a WorkCancelled or a ShuttingDown. */
  readonly signal: AbortSignal;
  /**
   * A transaction that begins with proof that the lease is still held; else it throws LeaseLost and writes nothing.
   * Inside, only the given handle may be awaited. A step that also locks other rows locks the work's row first.
   */
  transaction<Result>(step: (db: Db) => Promise<Result>, options?: FlushOption): Promise<Result>;
  /** Nothing is left to do: the row goes with this transaction. */
  done(db: Db): Promise<void>;
  /** Again at that moment, by any free node; no node holds a lease until then. Counts as progress. */
  reschedule(db: Db, runAt: Moment, payload?: unknown): Promise<void>;
  /** Another node may take it at once, as if this node had never begun. */
  release(db: Db): Promise<void>;
  /**
   * Keeps the work and saves its progress: the node that takes over starts with this payload and with all attempts.
   * Only for new progress: otherwise work that always fails would never be given up.
   */
  checkpoint(db: Db, payload: unknown): Promise<void>;
}

/** Another node has the work, or it is gone: stop, nothing can be written any more. */
export class LeaseLost extends Error {
  constructor({ kind, id }: Pick<Work, 'kind' | 'id'>) {
    super(`The lease on ${kind} ${id} is lost.`);
    this.name = 'LeaseLost';
  }
}

/** A caller asked for it to stop. This node still holds the lease and may save what it has reached. */
export class WorkCancelled extends Error {
  constructor({ kind, id }: Pick<Work, 'kind' | 'id'>) {
    super(`${kind} ${id} was cancelled.`);
    this.name = 'WorkCancelled';
  }
}

/** This node stops; another will go on. The lease is still held for a moment. */
export class ShuttingDown extends Error {
  constructor() {
    super('This node is shutting down.');
    this.name = 'ShuttingDown';
  }
}

const MAX_ATTEMPTS = 5;
const BACKOFF: Backoff = { firstMs: 1_000, mostMs: 300_000 };

export const maxAttemptsOf = ({ maxAttempts = MAX_ATTEMPTS }: Kind): number => maxAttempts;

/** Between half and all of the doubled wait: what failed together does not come back together. */
export function backoffOf({ backoff = BACKOFF }: Kind, attempts: number, random: () => number): number {
  const fullMs = Math.min(backoff.mostMs, backoff.firstMs * 2 ** Math.min(attempts - 1, 30));
  return Math.round(fullMs * (0.5 + random() / 2));
}

export interface Timing {
  /** So long is a node believed to be at its work without saying so. */
  readonly leaseMs: number;
  /** So often it says so. */
  readonly heartbeatMs: number;
  /** After so long without being able to say so, it stops its own work: before others may take it over. */
  readonly abortAfterMs: number;
  /** So often a node looks for work that no message told it of, and that was not there when it last looked. */
  readonly pollMs: number;
  /** So often it frees the work of dead nodes, and kinds look for what has expired. */
  readonly sweepMs: number;
}

export const defaultTiming: Timing = {
  leaseMs: 30_000,
  heartbeatMs: 10_000,
  abortAfterMs: 20_000,
  pollMs: 5_000,
  sweepMs: 5_000,
};

export function checkTiming(timing: Timing): Timing {
  const { heartbeatMs, abortAfterMs, leaseMs } = timing;
  if (!(heartbeatMs > 0 && heartbeatMs < abortAfterMs && abortAfterMs < leaseMs))
    throw new RangeError('Leases need heartbeatMs < abortAfterMs < leaseMs.');
  return timing;
}
