import { GatewayError } from '../../core/errors.ts';
import { type Incoming, UpstreamFailure } from '../../http/upstream.ts';
import type { ReadMessage } from '../message/message.ts';
import { refused } from '../message/message.ts';
import { onOneLine, withId, withMeta } from '../message/message-line.ts';
import { RPC, type RpcId } from '../message/rpc-error.ts';
import { META } from '../message/versions.ts';
import type { Program, ProgramEnd } from '../program/program.ts';
import { MessageQueue } from './message-queue.ts';

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** What a program does wrong is its server's failure. What it has said is for those who own the server. */
export class ProgramFailure extends UpstreamFailure {
  readonly #slug: string;
  readonly said: string;

  constructor(slug: string, why: string, said: string) {
    super({ host: `program of ${slug}`, phase: 'body', kind: 'broken', sent: 'maybe', why });
    this.#slug = slug;
    this.said = said;
  }

  override toGatewayError(): GatewayError {
    return new GatewayError('mcp_program_failed', [this.#slug, this.message]);
  }
}

/** Why a server could not be asked, for its owners: with what a program has said. */
export function toldToOwners(failure: UpstreamFailure): string {
  const { message } = failure.toGatewayError();
  return failure instanceof ProgramFailure && failure.said ? `${message} It said: ${failure.said}` : message;
}

/** Where a server finds the token of its caller in a request. A client's own word under this name never arrives. */
export const USER_TOKEN = 'ai.gateway/user-token';

export interface Exchange {
  readonly message: ReadMessage;
  readonly body: Uint8Array;
  /** The token that tells who calls. */
  readonly token: string | null;
  readonly signal: AbortSignal | undefined;
  /** For the first that is said of an answer; 0: any time. */
  readonly withinMs: number;
}

/** A request under way. */
interface Expected {
  readonly queue: MessageQueue;
  /** Its id for its client, in JSON. */
  readonly id: string;
  /** By what its client knows of progress, and by what the program does. */
  readonly token: unknown;
  readonly told: unknown;
  answer: Uint8Array | null;
}

/** What belongs to the call under way, if there is one alone. */
const OF_A_CALL = new Set(['notifications/progress', 'notifications/message']);
const SUBSCRIPTION = `${META}/subscriptionId`;
const METHOD_NOT_FOUND = -32_601;
const MOST_GARBAGE_BYTES = 1 << 20;
/** Of what no request has asked for, within a minute. */
const MOST_UNASKED_BYTES = 64 << 20;
const MINUTE_MS = 60_000;

export interface ConversationOptions {
  readonly slug: string;
  /**
   * Whether several clients use it, which may choose the same ids. No client can be asked then, and what belongs to no
   * request is dropped.
   */
  readonly isShared: boolean;
  /** Who hears what the program says by itself. */
  readonly listeners: ReadonlySet<MessageQueue>;
}

/** Messages to and from one program. */
export class Conversation {
  usedAt = performance.now();
  isGreeted = false;
  readonly #program: Program;
  readonly #options: ConversationOptions;
  readonly #expected = new Map<RpcId, Expected>();
  #end: ProgramEnd | null = null;
  #last = 0;
  #garbage = 0;
  #unasked = { bytes: 0, since: performance.now() };

  constructor(program: Program, options: ConversationOptions) {
    this.#program = program;
    this.#options = options;
    void program.ended.then((end) => {
      this.#end = end;
      for (const { queue } of this.#expected.values()) queue.end(this.#failure(end));
      this.#expected.clear();
    });
  }

  get isBusy(): boolean {
    return this.#expected.size > 0;
  }
  get isOver(): boolean {
    return this.#end !== null;
  }

  /** Says something that has no answer. */
  async say(body: Uint8Array): Promise<void> {
    try {
      await this.#program.send(onOneLine(body));
    } catch {
      // It has gone: those who wait for an answer learn of it.
    }
  }

  /** In the place of a client. Throws where there is no answer within that time. */
  async greet(params: object, withinMs: number): Promise<void> {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 'gateway', method: 'initialize', params }));
    const message = { id: 'gateway', isRequest: true, method: 'initialize', params: {}, targets: [] };
    const expected = this.#expect(message.id, message);
    const timer = setTimeout(() => this.#late(message.id, expected, withinMs), withinMs);
    void this.say(body);
    try {
      while ((await expected.queue.next()) !== null);
    } finally {
      clearTimeout(timer);
    }
    const { result } = JSON.parse(Buffer.from(expected.answer ?? '{}').toString());
    if (!isObject(result)) throw this.#failure({ isStopped: false, why: 'it refuses to be greeted' });
    this.isGreeted = true;
    await this.say(Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'));
  }

  /** The program's answer to a request, with what it says until then. */
  async ask({ message, body, token, signal, withinMs }: Exchange): Promise<Incoming> {
    const id: RpcId = this.#options.isShared ? ++this.#last : message.id;
    if (id === null) throw refused('its id is null', RPC.invalidRequest);
    if (this.#expected.has(id)) throw refused('its id is that of a request under way', RPC.invalidRequest, message.id);
    const expected = this.#expect(id, message);
    const cancel = () => this.#cancel(id, expected);
    signal?.addEventListener('abort', cancel, { once: true });
    const timer = withinMs > 0 ? setTimeout(() => this.#late(id, expected, withinMs), withinMs) : undefined;
    this.usedAt = performance.now();
    try {
      void this.say(this.#lineOf(body, id, { expected, token, isRequest: true }));
      const first = await expected.queue.next();
      if (first === null) throw this.#aborted();
      if (first === expected.answer) this.isGreeted ||= message.method === 'initialize';
      return first === expected.answer ? whole(first) : streamed(first, expected.queue, cancel);
    } catch (error) {
      this.#forget(id, expected);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** A notification of the client, or its answer to a question. */
  async tell({ message, body, token }: Pick<Exchange, 'message' | 'body' | 'token'>): Promise<void> {
    if (message.method === 'notifications/cancelled') {
      const { requestId } = message.params;
      const expected = this.#expected.get(requestId as RpcId);
      if (expected) this.#forget(requestId as RpcId, expected);
      expected?.queue.end(this.#aborted());
    }
    const isSaid = message.method !== null;
    await this.say(isSaid ? this.#lineOf(body, null, { expected: null, token, isRequest: false }) : body);
  }

  /** A line that the program has printed. */
  hear(line: Uint8Array) {
    const text = Buffer.from(line).toString().replaceAll('\r', ' ').trim();
    if (text === '') return;
    const said = readMessage(text);
    if (said === null) {
      this.#garbage += line.byteLength;
      this.#program.note(`${text.slice(0, 500)}\n`);
      if (this.#garbage > MOST_GARBAGE_BYTES) this.#program.endFor('it prints what is no message of MCP');
      return;
    }
    const message = Buffer.from(text);
    const { id = null, method } = said as { id?: RpcId; method?: string };
    const expected = method === undefined ? this.#expected.get(id) : undefined;
    if (expected) return this.#answered(id, expected, message);
    if (this.#isFlood(line.byteLength)) return this.#program.endFor('it says more than it was asked for');
    if (method === undefined) return;
    if ('id' in said) return this.#question(said, message);
    const call = this.#callOf(said);
    if (call) return call.queue.push(this.#options.isShared ? asKnown(said, call) : message);
    if (!this.#options.isShared) this.#listener(method, false)?.push(message);
  }

  #expect(id: RpcId, { id: own, params }: ReadMessage): Expected {
    const { _meta: meta } = params;
    const token = isObject(meta) ? meta.progressToken : undefined;
    const queue = new MessageQueue({
      onCancel: () => this.#forget(id, expected),
      overflow: () => new ProgramFailure(this.#options.slug, 'it said more than the client has read', ''),
    });
    const told = token === undefined || !this.#options.isShared ? token : id;
    const expected: Expected = { queue, id: JSON.stringify(own), token, told, answer: null };
    if (this.#end) queue.end(this.#failure(this.#end));
    else this.#expected.set(id, expected);
    return expected;
  }

  #lineOf(
    body: Uint8Array,
    id: RpcId,
    { expected, token, isRequest }: { expected: Expected | null; token: string | null; isRequest: boolean },
  ): Uint8Array {
    const { isShared } = this.#options;
    const progress = isShared && expected?.token !== undefined && { progressToken: JSON.stringify(expected.told) };
    const told = withMeta(body, { [USER_TOKEN]: token === null ? null : JSON.stringify(token), ...progress });
    return isShared && isRequest ? withId(told, JSON.stringify(id)) : told;
  }

  #answered(id: RpcId, expected: Expected, message: Uint8Array) {
    this.#expected.delete(id);
    this.usedAt = performance.now();
    expected.answer = this.#options.isShared ? withId(message, expected.id) : message;
    expected.queue.push(expected.answer);
    expected.queue.end();
  }

  /** The request that something is about, by what it says itself. */
  #callOf({ params }: Json): Expected | undefined {
    if (!isObject(params)) return undefined;
    const { progressToken, _meta: meta } = params;
    if (progressToken !== undefined)
      return [...this.#expected.values()].find(({ told }) => told !== undefined && told === progressToken);
    return isObject(meta) ? this.#expected.get(meta[SUBSCRIPTION] as RpcId) : undefined;
  }

  #listener(method: string, isQuestion: boolean): MessageQueue | undefined {
    const [call, another] = [...this.#expected.values()];
    const isOfCall = call && !another && (isQuestion || OF_A_CALL.has(method));
    return isOfCall ? call.queue : ([...this.#options.listeners][0] ?? call?.queue);
  }

  /** Where no client can be asked, the program learns it at once. */
  #question({ id, method }: Json, message: Uint8Array) {
    const listener = this.#options.isShared ? undefined : this.#listener(String(method), true);
    if (listener) return listener.push(message);
    const outcome =
      method === 'ping'
        ? { result: {} }
        : { error: { code: METHOD_NOT_FOUND, message: 'No client can be asked at this point.' } };
    void this.say(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, ...outcome })));
  }

  #isFlood(bytes: number): boolean {
    const now = performance.now();
    if (now - this.#unasked.since > MINUTE_MS) this.#unasked = { bytes: 0, since: now };
    this.#unasked.bytes += bytes;
    return this.#unasked.bytes > MOST_UNASKED_BYTES;
  }

  #forget(id: RpcId, expected: Expected) {
    if (this.#expected.get(id) === expected) this.#expected.delete(id);
  }

  /** The client has gone, or its time is over. */
  #cancel(id: RpcId, expected: Expected) {
    if (this.#expected.get(id) !== expected) return;
    expected.queue.cancel();
    const params = { requestId: id, reason: 'the client has gone' };
    void this.say(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })));
  }

  #late(id: RpcId, expected: Expected, limitMs: number) {
    const { slug } = this.#options;
    const facts = { phase: 'first byte', kind: 'timeout', sent: 'maybe', limitMs } as const;
    expected.queue.end(new UpstreamFailure({ host: `program of ${slug}`, ...facts, why: 'it does not answer' }));
    this.#cancel(id, expected);
  }

  #aborted = (): UpstreamFailure =>
    new UpstreamFailure({
      ...{ host: `program of ${this.#options.slug}`, phase: 'first byte', kind: 'aborted', sent: 'maybe' },
      why: 'the caller ended the request',
    });

  #failure = ({ isStopped, why }: ProgramEnd): ProgramFailure =>
    new ProgramFailure(this.#options.slug, isStopped ? 'the gateway has stopped it' : why, this.#program.said);
}

/** Null: it is no message. */
function readMessage(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || value.jsonrpc !== '2.0') return null;
    const { id, method } = value;
    const hasId = typeof id === 'string' || typeof id === 'number' || id === null;
    return typeof method === 'string' || (method === undefined && hasId) ? value : null;
  } catch {
    return null;
  }
}

/** What is said about a request, in the words by which its client knows the request. */
function asKnown(said: Json, { id, token }: Expected): Uint8Array {
  const params = said.params as Json;
  const meta = isObject(params._meta) && SUBSCRIPTION in params._meta ? params._meta : null;
  const known = {
    ...params,
    ...(params.progressToken !== undefined && { progressToken: token }),
    ...(meta && { _meta: { ...meta, [SUBSCRIPTION]: JSON.parse(id) } }),
  };
  return Buffer.from(JSON.stringify({ ...said, params: known }));
}

/** An answer that is there. */
export function whole(bytes: Uint8Array, type = 'application/json', status = 200): Incoming {
  let isRead = bytes.byteLength === 0;
  return {
    status,
    statusText: '',
    headers: new Headers({
      ...(bytes.byteLength > 0 && { 'content-type': type }),
      'content-length': String(bytes.byteLength),
    }),
    read: async () => {
      const piece = isRead ? null : bytes;
      isRead = true;
      return piece;
    },
    bytes: async () => bytes,
    cancel: () => {},
  };
}

const eventOf = (message: Uint8Array): Uint8Array =>
  Buffer.concat([Buffer.from('event: message\ndata: '), message, Buffer.from('\n\n')]);

/** Messages as events, up to the last. */
export function streamed(first: Uint8Array | null, queue: MessageQueue, cancel: () => void): Incoming {
  let waiting = first;
  return {
    status: 200,
    statusText: 'OK',
    headers: new Headers({ 'content-type': 'text/event-stream' }),
    read: async () => {
      const message = waiting ?? (await queue.next());
      waiting = null;
      return message && eventOf(message);
    },
    bytes: () => Promise.reject(new Error('a stream of events is read piece by piece')),
    cancel,
  };
}
