import { fail } from '../../core/errors.ts';
import { FramingError } from '../../dialects/framing-error.ts';
import { SseParser } from '../../dialects/sse.ts';
import { spanNeeded } from '../../guardrails/guardrail.ts';
import type { Reading } from '../../guardrails/reading.ts';
import { WindowedEvents } from '../../guardrails/stream.ts';
import { type HookResult, isDenied, joined } from '../../guardrails/verdict.ts';
import { type Incoming, receivedHeaders } from '../../http/upstream.ts';
import { rewrittenHeaders } from '../rewritten.ts';
import { Collected, noteUsage, statusOf, withLastWord } from './answer-guard.ts';
import type { Guarding } from './exchange-guard.ts';

/** Of what waits for more to come. */
const MOST_HELD = 16 << 20;

/**
 * A stream that flows while it is judged. What is denied before anything was given on is 446; after that, reading
 * throws, and the code that answers the client ends the stream with an error.
 */
export async function windowed(guarding: Guarding, incoming: Incoming): Promise<Incoming> {
  const type = receivedHeaders(incoming)['content-type'] ?? '';
  const reader = new WindowReader(guarding, incoming, type);
  let first: Uint8Array | null | undefined = await reader.next();
  const read = async () => {
    const piece = first === undefined ? await reader.next() : first;
    first = undefined;
    return piece;
  };
  return {
    status: statusOf(guarding, incoming),
    statusText: '',
    headers: rewrittenHeaders(incoming, type),
    read: withLastWord(guarding, type, read),
    bytes: () => Promise.reject(new Error('a stream in windows is read piece by piece')),
    cancel: () => incoming.cancel(),
  };
}

class WindowReader {
  readonly #guarding: Guarding;
  readonly #incoming: Incoming;
  readonly #type: string;
  readonly #parser = new SseParser();
  readonly #events: WindowedEvents;
  /** What the provider sent. */
  readonly #collected = new Collected();
  /** What the client gets, for those that may see no more than the client. */
  readonly #passed = new Collected();
  #found: readonly HookResult[] = [];
  #isOver = false;
  /** What may go, as soon as anything was looked at: a denial after the first byte is no 446 any more. */
  #ready = '';

  constructor(guarding: Guarding, incoming: Incoming, type: string) {
    this.#guarding = guarding;
    this.#incoming = incoming;
    this.#type = type;
    // A guardrail that has to see the whole cannot be saved with windows.
    const spans = guarding.holding.map(spanNeeded).map((span) => (span === 'whole' ? Number.POSITIVE_INFINITY : span));
    this.#events = new WindowedEvents({
      side: { on: 'output', endpoint: guarding.call.endpoint },
      span: Math.max(...spans),
      look: (reading) => this.#look(reading),
    });
  }

  /** What may be given on next; null at the end. */
  async next(): Promise<Uint8Array | null> {
    while (!this.#isOver) {
      const piece = await this.#incoming.read();
      this.#isOver = piece === null;
      if (piece) this.#collected.add(piece);
      const text = piece ? await this.#events.push(this.#parsed(piece)) : await this.#rest();
      if (this.#events.size > MOST_HELD) this.#refuse(`more than ${MOST_HELD} bytes wait to be judged together`);
      this.#ready += text;
      if (piece && this.#guarding.callersWatching.length > 0) this.#passed.add(Buffer.from(text));
      if (this.#ready === '' || !(this.#events.hasLooked || this.#isOver)) continue;
      const given = Buffer.from(this.#ready);
      this.#ready = '';
      return given;
    }
    return null;
  }

  #parsed(piece: Uint8Array) {
    try {
      return this.#parser.push(piece);
    } catch (error) {
      if (error instanceof FramingError) this.#refuse(error.message);
      throw error;
    }
  }

  #refuse(why: string): never {
    this.#incoming.cancel();
    return fail('upstream_failed', 'the provider', why);
  }

  async #rest(): Promise<string> {
    const last = await this.#events.push(this.#parser.end());
    const text = last + (await this.#events.end());
    this.#guarding.settle('output', this.#found);
    const { operatorsWatching, callersWatching } = this.#guarding;
    if (operatorsWatching.length > 0) await this.#collected.judge(this.#guarding, this.#incoming, operatorsWatching);
    if (callersWatching.length > 0) {
      this.#passed.add(Buffer.from(text));
      await this.#passed.judge(this.#guarding, this.#incoming, callersWatching);
    }
    return text;
  }

  async #look(reading: Reading): Promise<Reading> {
    const { results, reading: seen } = await this.#guarding.judge(
      'output',
      reading,
      this.#incoming.status,
      this.#guarding.holding,
    );
    this.#found = joined(this.#found, results);
    if (!isDenied(results)) return seen;
    noteUsage(this.#guarding, this.#collected.bytes, this.#type);
    this.#incoming.cancel();
    this.#guarding.settle('output', this.#found);
    return seen;
  }
}
