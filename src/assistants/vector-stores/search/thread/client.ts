import { fail } from '../../../../core/errors.ts';
import { threadOnDemand } from '../../../../core/thread.ts';
import { failOf } from '../../../../storage/unavailable.ts';
import type { ChunkPlace, Operation, SearchThread, ThreadReply, ThreadRequest } from './requests.ts';

export interface ThreadOptions {
  readonly place: ChunkPlace;
  readonly workerUrl: string | URL;
}

/** The vectors an idle thread holds are worth less than their memory. */
const IDLE_MS = 300_000;

/** A thread that is begun with the first request, and again whenever it has ended. */
export function searchThread({ place, workerUrl }: ThreadOptions): SearchThread {
  const thread = threadOnDemand<Omit<ThreadRequest, 'id'>, ThreadReply, unknown>({
    workerUrl,
    idleMs: IDLE_MS,
    read: (reply) => ('result' in reply ? reply.result : failOf(reply)),
    unanswered: () => fail('store_unavailable'),
  });
  const ask = async <Result>(operation: Operation, ...given: unknown[]) =>
    (await thread.ask({ place, operation, given })) as Result;

  return {
    add: (group) => ask('add', group),
    remove: (source, most) => ask('remove', source, most),
    expect: (files) => ask('expect', files),
    nearest: (question) => ask('nearest', question),
    count: (queries, most) => ask('count', queries, most),
    all: (statement) => ask('all', statement),
    close: thread.close,
  };
}
