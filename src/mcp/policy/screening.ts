import { fail, type GatewayError } from '../../core/errors.ts';
import { GuardrailDenied } from '../../guardrails/verdict.ts';
import { type Incoming, receivedHeaders } from '../../http/upstream.ts';
import type { Capability } from '../message/capability.ts';
import { dataOf, EventCutter, EventTooLarge, plainEvent, withData, withoutData } from '../message/events.ts';
import { RpcError, type RpcId } from '../message/rpc-error.ts';
import { Ambiguous } from '../message/strict-json.ts';
import type { MessageJudge } from './judge.ts';
import { filterLists } from './lists.ts';

/** What is done to the messages of an answer. */
export interface AnswerRules {
  /** The slug, for people. */
  readonly server: string;
  /** Null: lists are not looked at. */
  readonly shows: ((capability: Capability) => boolean) | null;
  /** Is told what a server has shown, before the client sees it. */
  readonly seen: (capabilities: readonly Capability[]) => Promise<void>;
  readonly judge: MessageJudge | null;
  /** The request that is being answered; null on a stream of its own. */
  readonly requestId: RpcId;
}

/** As much as an event may have: while it is looked at, no other request is served. */
const MOST_BYTES = 16 << 20;
const NO_BODY = new Set([202, 204, 205]);

/** The answer as far as the caller may see it. What a server says when it refuses is judged, too: clients show it. */
export async function policedAnswer(incoming: Incoming, rules: AnswerRules): Promise<Incoming> {
  const { status } = incoming;
  const isRefusal = status >= 400;
  if ((status >= 300 && !isRefusal) || (isRefusal && !rules.judge)) return incoming;
  const { 'content-type': type = '', 'content-encoding': coding, 'content-length': size } = receivedHeaders(incoming);
  if (size === '0') return incoming;
  try {
    if (NO_BODY.has(status)) return again(incoming, (await readAll(incoming, rules)).subarray(0, 0));
    if (coding && coding !== 'identity') unreadable(rules, `is packed (${coding.slice(0, 40)})`);
    if (/^text\/event-stream\b/i.test(type)) return streamed(incoming, rules);
    return await whole(incoming, type, rules);
  } catch (error) {
    incoming.cancel();
    throw error;
  }
}

const unreadable = ({ server }: Pick<AnswerRules, 'server'>, why: string): never =>
  fail('upstream_failed', `MCP server ${server}`, `its answer cannot be held against the policy: it ${why}`);

/** One message after the rules; what they deny is thrown. */
async function ruled(text: string, { shows, seen, judge }: AnswerRules): Promise<string> {
  const listed = shows && filterLists(text, shows);
  if (listed) await seen(listed.seen);
  const shown = listed ? listed.text : text;
  return judge ? judge.judge(shown) : shown;
}

async function whole(incoming: Incoming, type: string, rules: AnswerRules): Promise<Incoming> {
  const bytes = await readAll(incoming, rules);
  if (bytes.byteLength === 0) return again(incoming, bytes);
  const isJson = /^application\/([\w.-]+\+)?json\b/i.test(type);
  if (!isJson && incoming.status < 400) unreadable(rules, 'is neither JSON nor a stream of events');
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const shown = isJson || !rules.judge ? await ruled(text, rules) : await rules.judge.judge(text, type);
    return again(incoming, shown === text ? bytes : Buffer.from(shown));
  } catch (error) {
    if (error instanceof GuardrailDenied) throw denial(error, rules.requestId);
    if (error instanceof Ambiguous) return unreadable(rules, error.message.replace(/^it /, ''));
    if (error instanceof TypeError) return unreadable(rules, 'is not UTF-8');
    throw error;
  } finally {
    rules.judge?.end();
  }
}

/** As it came, or with other bytes in its place. */
function again(incoming: Incoming, bytes: Uint8Array): Incoming {
  const headers = new Headers(incoming.headers);
  headers.set('content-length', String(bytes.byteLength));
  let rest: Uint8Array | null = bytes;
  const take = () => {
    const piece = rest;
    rest = null;
    return piece;
  };
  return {
    status: incoming.status,
    statusText: incoming.statusText,
    headers,
    read: async () => take(),
    bytes: async () => take() ?? new Uint8Array(),
    cancel: () => {},
  };
}

async function readAll(incoming: Incoming, rules: AnswerRules): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let piece = await incoming.read(); piece; piece = await incoming.read()) {
    size += piece.byteLength;
    if (size > MOST_BYTES) unreadable(rules, `has more than ${MOST_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** What MCP clients read of a denial: its code is the status, a number that JSON-RPC does not reserve. */
export const denial = (error: GatewayError, id: RpcId): RpcError => new RpcError(error, { id, code: error.status });

function streamed(incoming: Incoming, rules: AnswerRules): Incoming {
  const headers = new Headers(incoming.headers);
  headers.delete('content-length');
  const events = new RuledEvents(incoming, rules);
  return {
    status: incoming.status,
    statusText: incoming.statusText,
    headers,
    read: () => events.next(),
    bytes: () => Promise.reject(new Error('a stream of events is read piece by piece')),
    cancel: () => events.cancel(),
  };
}

/** A stream whose events pass the rules one by one. Those that the rules leave alone keep their bytes. */
class RuledEvents {
  readonly #incoming: Incoming;
  readonly #rules: AnswerRules;
  readonly #cutter = new EventCutter();
  #isOver = false;

  constructor(incoming: Incoming, rules: AnswerRules) {
    this.#incoming = incoming;
    this.#rules = rules;
  }

  async next(): Promise<Uint8Array | null> {
    while (!this.#isOver) {
      const piece = await this.#incoming.read();
      const passed = await this.#passed(piece === null ? this.#last() : this.#cut(piece));
      if (piece === null) this.#end();
      if (passed.byteLength > 0) return passed;
    }
    return null;
  }

  cancel() {
    this.#end();
    this.#incoming.cancel();
  }

  #end() {
    this.#isOver = true;
    this.#rules.judge?.end();
  }

  #cut(piece: Uint8Array): readonly Uint8Array[] {
    try {
      return this.#cutter.push(piece);
    } catch (error) {
      if (!(error instanceof EventTooLarge)) throw error;
      this.cancel();
      return unreadable(this.#rules, `holds an event that is too large`);
    }
  }

  #last(): readonly Uint8Array[] {
    const rest = this.#cutter.end();
    return rest ? [rest] : [];
  }

  async #passed(events: readonly Uint8Array[]): Promise<Uint8Array> {
    const passed: Uint8Array[] = [];
    for (const event of events) {
      if (this.#isOver) break;
      passed.push(await this.#ruled(event));
    }
    return Buffer.concat(passed);
  }

  async #ruled(cut: Uint8Array): Promise<Uint8Array> {
    const event = plainEvent(cut);
    const data = dataOf(event);
    if (data === null || data === '') return event;
    try {
      const shown = await ruled(data, this.#rules);
      return shown === data ? event : withData(event, shown);
    } catch (error) {
      if (error instanceof GuardrailDenied) return this.#denied(event, data, error);
      // What cannot be read cannot be held against a rule, and a client that can read it must not get it.
      if (error instanceof Ambiguous) return withoutData(event);
      throw error;
    }
  }

  /** An answer becomes an error, a notification is withheld; a question of the server ends the call, which waits for it. */
  #denied(event: Uint8Array, data: string, error: GuardrailDenied): Uint8Array {
    const { id, method } = JSON.parse(data) as { id?: RpcId; method?: unknown };
    const { requestId } = this.#rules;
    const isAnswer = id !== undefined && method === undefined;
    if (isAnswer) return withData(event, JSON.stringify(denial(error, id).body()));
    if (id === undefined || requestId === null) return withoutData(event);
    this.cancel();
    return withData(event, JSON.stringify(denial(error, requestId).body()));
  }
}
