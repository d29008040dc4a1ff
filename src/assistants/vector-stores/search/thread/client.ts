import { GatewayError } from '../../../../core/errors.ts';
import { isStoreAway } from '../../../../storage/unavailable.ts';
import type { ChunkPlace, Operation, SearchThread, ThreadReply, ThreadRequest } from './requests.ts';

export interface ThreadOptions {
  readonly place: ChunkPlace;
  readonly workerUrl: string | URL;
}

interface Waiting {
  resolve(result: never): void;
  reject(error: unknown): void;
}

/** An idle thread is ended: the vectors it holds are worth less than their memory. */
const IDLE_MS = 300_000;

/** A thread that is begun with the first request, and again whenever it has ended. */
export function searchThread({ place, workerUrl }: ThreadOptions): SearchThread {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastId = 0;

  const end = () => {
    clearTimeout(timer);
    worker?.terminate();
    worker = null;
    for (const { reject } of waiting.values()) reject(new GatewayError('store_unavailable', []));
    waiting.clear();
  };
  const begin = (): Worker => {
    const made = new Worker(workerUrl);
    made.unref?.();
    made.onmessage = ({ data }: MessageEvent<ThreadReply>) => {
      const one = waiting.get(data.id);
      waiting.delete(data.id);
      if ('result' in data) one?.resolve(data.result as never);
      else one?.reject(faultOf(data));
    };
    made.onerror = () => end();
    return made;
  };
  const rest = () => {
    clearTimeout(timer);
    timer = setTimeout(() => (waiting.size === 0 ? end() : rest()), IDLE_MS);
    timer.unref?.();
  };
  const ask = <Result>(operation: Operation, ...given: unknown[]) =>
    new Promise<Result>((resolve, reject) => {
      const id = ++lastId;
      waiting.set(id, { resolve, reject });
      worker ??= begin();
      worker.postMessage({ id, place, operation, given } satisfies ThreadRequest);
      rest();
    });

  return {
    add: (group) => ask('add', group),
    remove: (source, most) => ask('remove', source, most),
    nearest: (question) => ask('nearest', question),
    all: (statement) => ask('all', statement),
    close: end,
  };
}

function faultOf({ fault, code }: Extract<ThreadReply, { fault: string }>): Error {
  const error = Object.assign(new Error(fault), { code });
  return isStoreAway(error) ? Object.assign(new GatewayError('store_unavailable', []), { cause: error }) : error;
}
