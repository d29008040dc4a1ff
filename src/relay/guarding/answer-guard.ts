import { fail } from '../../core/errors.ts';
import { appendMember } from '../../core/json-bytes.ts';
import { formatSse } from '../../dialects/sse.ts';
import type { Guardrail } from '../../guardrails/guardrail.ts';
import { type Reading, readBody } from '../../guardrails/reading.ts';
import { Unreadable } from '../../guardrails/texts.ts';
import { FAILED, GuardrailDenied } from '../../guardrails/verdict.ts';
import { type Incoming, receivedHeaders } from '../../http/upstream.ts';
import type { Lead } from '../../routing/cache.ts';
import { readUsage } from '../../telemetry/usage.ts';
import { keeping } from '../cached.ts';
import type { OnPassed } from '../call.ts';
import { rewrittenHeaders } from '../rewritten.ts';
import type { Guarding } from './exchange-guard.ts';
import { storedAfterVerdict } from './kept-guard.ts';
import { windowed } from './stream-guard.ts';

export interface GuardedAnswerOptions {
  readonly onPassed?: OnPassed;
}

export interface JudgedAnswerOptions extends GuardedAnswerOptions {
  /** Of the cache, which gets what the provider gave. */
  readonly turn: Lead | null;
  readonly now: () => number;
}

/** Puts an answer into the cache and before its guardrails, in this order: what is kept is judged again each time. */
export async function judgeAnswer(
  guarding: Guarding,
  incoming: Incoming,
  { turn, now, onPassed }: JudgedAnswerOptions,
): Promise<Incoming> {
  const lead = turn && storedAfterVerdict(turn);
  guarding.forgetAnswer();
  const judged = await guardAnswer(guarding, lead ? keeping(incoming, lead, now) : incoming, { onPassed });
  lead?.release();
  return judged;
}

/** If more were held back, the gateway would run out of memory before the model runs out of words. */
const MOST_BYTES = 64 << 20;

const isStream = (type: string) => /^(?:text\/event-stream|application\/vnd\.amazon\.eventstream)\b/i.test(type);
const isSse = (type: string) => /^text\/event-stream\b/i.test(type);

/** Refusals and answers without a body are the provider's own. */
const isJudged = (status: number) => status >= 200 && status < 400 && status !== 204 && status !== 304;

/** Judges an answer, holding it back as far as its guardrails need that. */
export async function guardAnswer(
  guarding: Guarding,
  incoming: Incoming,
  options: GuardedAnswerOptions = {},
): Promise<Incoming> {
  if (!isJudged(incoming.status)) return incoming;
  const type = receivedHeaders(incoming)['content-type'] ?? '';
  if (!guarding.judgesAnswers)
    return isStream(type) ? marked(guarding, incoming, type) : told(guarding, incoming, type);
  if (guarding.isAside && !guarding.told) return watched(guarding, incoming, type);
  if (!isStream(type)) return whole(guarding, incoming, type, options);
  const { holding } = guarding;
  if (holding.length === 0) return watched(guarding, incoming, type);
  const mayFlow = isSse(type) && !options.onPassed && holding.every(({ actions }) => actions.stream === 'window');
  return mayFlow ? windowed(guarding, incoming) : whole(guarding, incoming, type, options);
}

/** The answer as it is, under the status that says that its request failed a guardrail. */
function marked(guarding: Guarding, incoming: Incoming, type: string): Incoming {
  if (!guarding.told) return incoming;
  return {
    status: statusOf(guarding, incoming),
    statusText: '',
    headers: passedHeaders(incoming, type),
    read: withLastWord(guarding, type, () => incoming.read()),
    bytes: () => incoming.bytes(),
    cancel: () => incoming.cancel(),
  };
}

/** Of an answer that passes piece by piece; what comes after its last piece has not been counted. */
function passedHeaders(incoming: Incoming, type: string): Headers {
  const headers = new Headers(incoming.headers);
  if (isSse(type)) headers.delete('content-length');
  return headers;
}

export const statusOf = ({ hasFailed }: Guarding, { status }: Incoming): number => (hasFailed ? FAILED : status);

/** After the last piece of a stream, what was found; only for clients that do not mind events their vendor has not. */
export function withLastWord(guarding: Guarding, type: string, read: () => Promise<Uint8Array | null>) {
  let isOver = false;
  return async (): Promise<Uint8Array | null> => {
    if (isOver) return null;
    const piece = await read();
    if (piece !== null) return piece;
    isOver = true;
    return isSse(type) ? lastWord(guarding) : null;
  };
}

function lastWord({ told, call }: Guarding): Uint8Array | null {
  if (!told || call.isStrict) return null;
  const data = JSON.stringify({ hook_results: told });
  return Buffer.from(formatSse(call.endpoint === 'messages' ? { event: 'hook_results', data } : { data }));
}

/** Only the request was judged; where the caller is to hear of that, it stands in the answer. */
async function told(guarding: Guarding, incoming: Incoming, type: string): Promise<Incoming> {
  if (!guarding.told) return incoming;
  if (!/\bjson\b/i.test(type) || receivedHeaders(incoming)['content-encoding']) return marked(guarding, incoming, type);
  return answered(guarding, incoming, await readAll(incoming), type);
}

async function whole(
  guarding: Guarding,
  incoming: Incoming,
  type: string,
  { onPassed }: GuardedAnswerOptions,
): Promise<Incoming> {
  const bytes = await readAll(incoming);
  const judged = await judgedBody(guarding, bytes, incoming, type);
  await onPassed?.(judged.bytes, type);
  return answered(guarding, incoming, judged.bytes, type);
}

async function judgedBody(guarding: Guarding, bytes: Uint8Array, incoming: Incoming, type: string): Promise<Reading> {
  const reading = readAnswer(guarding, bytes, incoming, type);
  try {
    const { reading: passed, results } = await guarding.judge('output', reading, incoming.status);
    guarding.settle('output', results);
    // Another target may be asked instead, and then this answer goes nowhere.
    if (guarding.hasFailed) noteUsage(guarding, bytes, type);
    return passed;
  } catch (error) {
    // The provider was paid all the same.
    if (error instanceof GuardrailDenied) noteUsage(guarding, bytes, type);
    throw error;
  }
}

export function noteUsage({ call: { log } }: Guarding, bytes: Uint8Array, type: string) {
  if (log.usage) return;
  const { usage = null, model } = readUsage({ contentType: type, head: bytes, tail: null });
  log.usage = usage;
  if (model) log.answeredBy = model;
}

function readAnswer({ call }: Guarding, bytes: Uint8Array, incoming: Incoming, type: string): Reading {
  const encoding = receivedHeaders(incoming)['content-encoding'] ?? null;
  try {
    return readBody(bytes, { type, encoding }, { on: 'output', endpoint: call.endpoint });
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    const opaque = readBody(bytes, { type: 'application/json', encoding: 'none' }, { on: 'output', endpoint: 'proxy' });
    return { ...opaque, obstacle: error.message };
  }
}

/** An answer that has passed, with what was found where the caller is to hear of it. */
function answered(guarding: Guarding, incoming: Incoming, bytes: Uint8Array, type: string): Incoming {
  const status = statusOf(guarding, incoming);
  const last = isSse(type) ? lastWord(guarding) : null;
  const body = isStream(type) ? Buffer.concat(last ? [bytes, last] : [bytes]) : withResults(guarding, bytes, type);
  const headers = rewrittenHeaders(incoming, type);
  const encoding = receivedHeaders(incoming)['content-encoding'];
  // What cannot be read is given on as it came, where no guardrail denies it.
  if (encoding) headers.set('content-encoding', encoding);
  if (!isStream(type)) headers.set('content-length', String(body.byteLength));
  let rest: Uint8Array | null = body;
  const take = () => {
    const piece = rest;
    rest = null;
    return piece;
  };
  return {
    status,
    statusText: '',
    headers,
    read: async () => take(),
    bytes: async () => take() ?? new Uint8Array(),
    cancel: () => {},
  };
}

function withResults({ told }: Guarding, bytes: Uint8Array, type: string): Uint8Array {
  return told && /\bjson\b/i.test(type) ? appendMember(bytes, 'hook_results', JSON.stringify(told)) : bytes;
}

async function readAll(incoming: Incoming): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let piece = await incoming.read(); piece; piece = await incoming.read()) {
    size += piece.byteLength;
    if (size > MOST_BYTES) tooLarge(incoming);
    pieces.push(piece);
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

function tooLarge(incoming: Incoming): never {
  incoming.cancel();
  return fail('upstream_failed', 'the provider', `its answer has more than the ${MOST_BYTES} bytes that can be judged`);
}

/** What has passed of an answer, to be judged when it is over. */
export class Collected {
  readonly #pieces: Uint8Array[] = [];
  #size = 0;

  add(piece: Uint8Array) {
    this.#size += piece.byteLength;
    // A copy, because the receiver of the piece may transfer its buffer.
    if (this.#size <= MOST_BYTES) this.#pieces.push(piece.slice());
  }

  get bytes(): Uint8Array {
    return Buffer.concat(this.#pieces);
  }

  async judge(guarding: Guarding, incoming: Incoming, guardrails: readonly Guardrail[]): Promise<void> {
    const type = receivedHeaders(incoming)['content-type'] ?? '';
    const reading = readAnswer(guarding, this.bytes, incoming, type);
    const seen = this.#size <= MOST_BYTES ? reading : { ...reading, obstacle: `it has more than ${MOST_BYTES} bytes` };
    const { results } = await guarding.judge('output', seen, incoming.status, guardrails);
    guarding.settle('output', results);
  }
}

/** Nothing waits for these verdicts: the answer passes, and is judged when it is over. */
function watched(guarding: Guarding, incoming: Incoming, type: string): Incoming {
  const collected = new Collected();
  const read = async (): Promise<Uint8Array | null> => {
    const piece = await incoming.read();
    if (piece) collected.add(piece);
    else await collected.judge(guarding, incoming, guarding.watching);
    return piece;
  };
  return {
    status: statusOf(guarding, incoming),
    statusText: '',
    headers: passedHeaders(incoming, type),
    read: withLastWord(guarding, type, read),
    bytes: async () => {
      const all: Uint8Array[] = [];
      for (let piece = await read(); piece; piece = await read()) all.push(piece);
      return Buffer.concat(all);
    },
    cancel: () => incoming.cancel(),
  };
}
