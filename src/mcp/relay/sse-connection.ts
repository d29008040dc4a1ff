import { GatewayError } from '../../core/errors.ts';
import { type Incoming, type Outgoing, type Upstream, UpstreamFailure } from '../../http/upstream.ts';
import { dataOf, EventCutter } from '../message/events.ts';
import type { RpcId } from '../message/rpc-error.ts';
import { MessageQueue } from './message-queue.ts';

/** What is needed to open one. */
export interface Opening extends Pick<Outgoing, 'url' | 'timeouts'> {
  readonly headers: Headers;
  /** Of the server. */
  readonly slug: string;
}

/** The server opens no stream. What it answers instead is its answer. */
export class NoStream extends Error {
  readonly incoming: Incoming;

  constructor(incoming: Incoming) {
    super('no stream');
    this.incoming = incoming;
  }
}

/** How long a server may take to say where messages go, where the gateway has no limit of its own. */
const TOLD_WITHIN_MS = 30_000;
const NOT_OF_A_STREAM = ['content-type', 'content-length', 'mcp-session-id', 'mcp-method', 'mcp-name'];
/** What belongs to the call under way, if there is one alone. */
const OF_A_CALL = new Set(['notifications/progress', 'notifications/message']);

export type SseConnection = Awaited<ReturnType<typeof openConnection>>;

/** Opens the stream of a server of 2024-11-05, and waits to be told where messages go. */
export async function openConnection(upstream: Upstream, { slug, url, headers, timeouts }: Opening) {
  const asked = new Headers(headers);
  asked.set('accept', 'text/event-stream');
  for (const name of NOT_OF_A_STREAM) asked.delete(name);
  const incoming = await upstream.send({ method: 'GET', url, headers: asked, body: null, timeouts });
  const isStream = (incoming.headers.get('content-type') ?? '').startsWith('text/event-stream');
  if (incoming.status >= 400) throw new NoStream(incoming);
  if (incoming.status !== 200 || !isStream) {
    incoming.cancel();
    throw new GatewayError('mcp_session_refused', [slug, 'GET at its address opens no stream of events']);
  }
  const expected = new Map<RpcId, MessageQueue>();
  const listeners = new Set<MessageQueue>();
  const told = Promise.withResolvers<string>();
  const over = Promise.withResolvers<void>();
  told.promise.catch(() => {});
  let isOver = false;

  const failure = (kind: 'broken' | 'timeout', why: string, limitMs = 0) =>
    new UpstreamFailure({ host: new URL(url).host, phase: 'body', kind, sent: 'maybe', why, limitMs });

  const overflow = () => failure('broken', 'the server said more than the client has read');

  /** What the server says by itself: to the call that it is about, as far as that can be known, else to who listens. */
  const listenerFor = ({ method, id }: Said): MessageQueue | undefined => {
    const [call, another] = [...expected.values()];
    const isOfCall = call && !another && (id !== null || OF_A_CALL.has(method ?? ''));
    return isOfCall ? call : ([...listeners][0] ?? call);
  };
  const hear = (event: Uint8Array) => {
    const data = dataOf(event);
    if (data === null) return;
    if (eventOf(event) === 'endpoint') return told.resolve(data);
    const said = readSaid(data);
    const message = Buffer.from(`event: message\ndata: ${data.replace(/[\r\n]+/g, ' ')}\n\n`);
    const answered = said.method === null && said.id !== null ? expected.get(said.id) : undefined;
    if (!answered) return listenerFor(said)?.push(message);
    expected.delete(said.id);
    answered.push(message);
    answered.end();
  };
  const read = async () => {
    let end: unknown = failure('broken', 'the server ended its stream');
    const cutter = new EventCutter();
    try {
      for (let piece = await incoming.read(); piece; piece = await incoming.read())
        for (const event of cutter.push(piece)) hear(event);
    } catch (error) {
      incoming.cancel();
      end =
        error instanceof UpstreamFailure ? error : failure('broken', 'what the server sends is no stream of events');
    }
    isOver = true;
    told.reject(end);
    for (const queue of expected.values()) queue.end(end);
    for (const queue of listeners) queue.end();
    over.resolve();
  };
  void read();

  const withinMs = timeouts.firstByteMs || TOLD_WITHIN_MS;
  const late = setTimeout(() => {
    told.reject(failure('timeout', 'the server did not say where messages go', withinMs));
    incoming.cancel();
  }, withinMs);
  const place = await told.promise.finally(() => clearTimeout(late));
  const endpoint = URL.parse(place, url);
  // Elsewhere it would get the credentials for the server, and what that is told of its users.
  if (!endpoint || endpoint.origin !== new URL(url).origin) {
    incoming.cancel();
    throw new GatewayError('mcp_session_refused', [slug, 'it wants messages sent to another host than its own']);
  }
  return {
    endpoint: endpoint.href,
    ended: over.promise,
    get isOver() {
      return isOver;
    },
    get isBusy() {
      return expected.size + listeners.size > 0;
    },
    close: () => incoming.cancel(),

    /** The answer to a request that is about to be sent, with what is said before it. */
    expect(id: RpcId): MessageQueue {
      const queue = new MessageQueue({ onCancel: () => expected.get(id) === queue && expected.delete(id), overflow });
      if (isOver) queue.end(failure('broken', 'the server ended its stream'));
      else expected.set(id, queue);
      return queue;
    },

    /** What the server says by itself. */
    listen(): MessageQueue {
      const queue = new MessageQueue({ onCancel: () => listeners.delete(queue), overflow });
      if (isOver) queue.end();
      else listeners.add(queue);
      return queue;
    },
  };
}

interface Said {
  readonly method: string | null;
  readonly id: RpcId;
}

function readSaid(data: string): Said {
  try {
    const { method, id } = (JSON.parse(data) ?? {}) as { method?: unknown; id?: unknown };
    return {
      method: typeof method === 'string' ? method : null,
      id: typeof id === 'string' || typeof id === 'number' ? id : null,
    };
  } catch {
    return { method: null, id: null };
  }
}

const eventOf = (event: Uint8Array): string =>
  /^event: ?([^\r\n]*)$/m.exec(Buffer.from(event).toString('utf8').replaceAll('\r', '\n'))?.[1] ?? 'message';
