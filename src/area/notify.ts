import type { Db } from '../storage/store.ts';

/** What a workspace may be told of, by the names that OpenAI's SDKs know. */
export const EVENTS = [
  'batch.completed',
  'batch.failed',
  'batch.expired',
  'batch.cancelled',
  'fine_tuning.job.succeeded',
  'fine_tuning.job.failed',
  'fine_tuning.job.cancelled',
] as const;
export type EventType = (typeof EVENTS)[number];

/** Something that has ended. */
export interface Ended {
  readonly workspaceId: string;
  readonly type: EventType;
  /** Of the object. */
  readonly id: string;
}

/** Tells the subscribed webhooks, once the transaction in which it happened is committed. */
export type Notify = (db: Db, ended: Ended) => Promise<void>;
