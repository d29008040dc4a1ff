import { EventCutter } from '../message/events.ts';
import { isEventStream, NO_MESSAGE, type Relay, sendVia } from './conversation.ts';
import type { Spoken } from './server-events.ts';

/** Where a stream of a server stands. */
interface Standing {
  lastId: string | null;
  retryMs: number;
}

const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;

export interface Resuming {
  /** The rest of the stream after that event; null: there is none to be had. */
  readonly resume: (lastEventId: string | null) => Promise<Response | null>;
  /** Whether it was heard to its end. */
  readonly isOver: () => boolean;
  readonly signal: AbortSignal;
  /** Also a stream that has said nothing yet is opened again. */
  readonly isEndless?: boolean;
}

/** The events of a server's stream. One that the server ends before its time, or that breaks, goes on where it stood. */
export async function* serverEvents(first: Response, resuming: Resuming): AsyncGenerator<Uint8Array> {
  const { resume, isOver, signal, isEndless = false } = resuming;
  const standing: Standing = { lastId: null, retryMs: RETRY_MS };
  let response: Response | null = first;
  while (response) {
    yield* eventsIn(response, standing);
    if (isOver() || signal.aborted || (standing.lastId === null && !isEndless)) return;
    await pause(standing.retryMs, signal);
    if (signal.aborted) return;
    response = await resume(standing.lastId).catch(() => null);
  }
}

async function* eventsIn(response: Response, standing: Standing): AsyncGenerator<Uint8Array> {
  const cutter = new EventCutter();
  const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
  try {
    for (;;) {
      const read = await reader?.read().catch(() => null);
      const events = !read || read.done ? [cutter.end()] : cutter.push(read.value);
      for (const event of events) {
        if (!event) continue;
        note(event, standing);
        yield event;
      }
      if (!read || read.done) return;
    }
  } finally {
    void reader?.cancel().catch(() => {});
  }
}

function note(event: Uint8Array, standing: Standing) {
  const text = Buffer.from(event.buffer, event.byteOffset, event.byteLength).toString('utf8');
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [, name, value = ''] = /^(id|retry)(?:: ?(.*))?$/.exec(line) ?? [];
    if (name === 'id' && value !== '' && /^[\x20-\x7e]{1,1024}$/.test(value)) standing.lastId = value;
    if (name === 'retry' && /^\d{1,9}$/.test(value)) standing.retryMs = Math.min(Number(value), LONGEST_RETRY_MS);
  }
}

export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Listens to what a server says by itself in a session, or goes on where a stream stood. Null: it says nothing. */
export async function listenTo(
  relay: Relay,
  { server, client, channel }: Spoken,
  { lastEventId, signal }: { readonly lastEventId: string | null; readonly signal: AbortSignal },
): Promise<Response | null> {
  const sending = { server, client, channel, message: NO_MESSAGE, signal, isQuiet: true, lastEventId };
  const response = await sendVia(relay, { ...sending, method: 'GET' });
  if (response.status === 200 && isEventStream(response)) return response;
  await response.body?.cancel();
  return null;
}

/** A message of our own, in a stream. */
export const eventWith = (message: object): Uint8Array =>
  Buffer.from(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
