import { ADMIN_KEY } from './gateway.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
export type LiveEvent = any;

export interface Live {
  readonly socket: WebSocket;
  /** All that was heard so far. */
  readonly heard: readonly LiveEvent[];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  send(frame: object | string): void;
  /** Sends a frame, and gives the events that follow up to the one that ends its turn. */
  turn(frame: object | string): Promise<LiveEvent[]>;
  /** The events up to the end of the turn that is under way, of one lane where it is named. */
  end(lane?: string): Promise<LiveEvent[]>;
  /** The first event of that type that was not read yet, and all before it. */
  until(type: string): Promise<LiveEvent[]>;
  close(): void;
}

const LAST = ['response.done', 'response.completed', 'response.incomplete', 'response.failed', 'error'];

/** A turn as most tests ask it. */
export const create = (input: unknown, more: object = {}) => ({
  type: 'response.create',
  model: 'any-model',
  input,
  ...more,
});

/** What was said in a turn. */
export const textOf = (events: readonly LiveEvent[]): string =>
  events.flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? [delta] : [])).join('');

/** A client of a WebSocket of the gateway's, as the admin unless told otherwise. */
export async function openLive(
  url: string,
  { key = ADMIN_KEY, headers = {}, path = '/v1/responses', protocols }: LiveOptions = {},
): Promise<Live> {
  const address = url.replace('http', 'ws') + path;
  // Headers are Bun's own addition to what a browser has.
  const options = { headers: { ...(key !== null && { authorization: `Bearer ${key}` }), ...headers }, protocols };
  const socket = new WebSocket(address, options as unknown as string[]);
  const heard: LiveEvent[] = [];
  let listeners: (() => void)[] = [];
  let isOver = false;
  const notify = () => {
    for (const listener of listeners.splice(0)) listener();
  };
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.addEventListener('close', ({ code, reason }) => {
      isOver = true;
      resolve({ code, reason });
      notify();
    });
  });
  socket.addEventListener('message', ({ data }) => {
    heard.push(typeof data === 'string' ? JSON.parse(data) : data);
    notify();
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', (event) => reject(new Error(`no WebSocket: ${(event as ErrorEvent).message}`)));
  });
  let read = 0;
  const until = async (isEnd: (event: LiveEvent) => boolean): Promise<LiveEvent[]> => {
    for (let at = read; ; ) {
      for (; at < heard.length; at++)
        if (isEnd(heard[at])) {
          const events = heard.slice(read, at + 1);
          read = at + 1;
          return events;
        }
      if (isOver) throw new Error(`the WebSocket was closed after ${JSON.stringify(heard.slice(read)).slice(0, 500)}`);
      await new Promise<void>((resolve) => listeners.push(resolve));
    }
  };
  const send = (frame: object | string) => {
    const isBytes = frame instanceof Uint8Array;
    socket.send(
      typeof frame === 'string' ? frame : isBytes ? (frame as Uint8Array<ArrayBuffer>) : JSON.stringify(frame),
    );
  };
  const end = (lane?: string) =>
    until(({ type, stream_id }) => LAST.includes(type) && (lane === undefined || stream_id === lane));
  return {
    socket,
    heard,
    closed,
    send,
    end,
    until: (type) => until((event) => event.type === type),
    turn: (frame) => {
      send(frame);
      return end();
    },
    close: () => {
      listeners = [];
      socket.close();
    },
  };
}

interface LiveOptions {
  /** Null: none is sent in a header. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
  readonly protocols?: readonly string[];
}
