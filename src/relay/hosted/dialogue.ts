import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject, objectIn, parsed, textIn } from '../../dialects/json.ts';
import { SseParser } from '../../dialects/sse.ts';
import type { HostedFunction } from './hosted-tool.ts';
import { MOST_ROUNDS, RoundFailed, TOO_MANY } from './loop.ts';
import type { Round } from './request.ts';

/** A call of a tool that runs here, as the model made it. */
export interface OwnCall {
  /** By which the model knows it. */
  readonly callId: string;
  readonly arguments: string;
  readonly by: HostedFunction;
}

/** What came of it. */
export interface OwnResult {
  readonly output: string;
  readonly isError: boolean;
}

/**
 * One answer in several rounds, in the words of an API that keeps nothing: chat, or messages. Items of it are what the client
 * hears, as data of events.
 */
export interface Dialogue {
  /** What the model is asked in a round. */
  asks(round: Round): JsonObject;
  /** An event of a round that is streamed. */
  take(event: JsonObject): Iterable<JsonObject>;
  /** A round that is answered at once. */
  takeWhole(answer: JsonObject): void;
  /**
   * The calls of the round that run here. None where the client has calls to answer as well: what came of ours could not
   * be told to the model in the client's next request, so the model is to call them again then.
   */
  readonly pending: readonly OwnCall[];
  /** Whether the round came to its end. */
  readonly isWhole: boolean;
  ran(call: OwnCall, result: OwnResult): Iterable<JsonObject>;
  /** All calls of the round have run. */
  next(): void;
  /** The last that the client hears of a stream. */
  end(): Iterable<JsonObject>;
  /** The answer, for a client that wants no stream. */
  whole(): JsonObject;
}

/** Of one answer. */
const MOST_CALLS = 128;

/** Plays the rounds after the first has begun; yields what the client hears. */
export async function* playRounds(
  first: Response,
  dialogue: Dialogue,
  ask: (body: JsonObject) => Promise<Response>,
): AsyncGenerator<JsonObject> {
  let response = first;
  let calls = 0;
  for (let round = 1; ; round++) {
    if (isStream(response)) for await (const event of dataIn(response)) yield* dialogue.take(event);
    else dialogue.takeWhole(objectIn(parsed(await response.text())));
    if (!dialogue.isWhole) throw new GatewayError('upstream_failed', ['The provider', 'its stream ended too early']);
    if (dialogue.pending.length === 0) return yield* dialogue.end();
    for (const call of dialogue.pending) {
      const ordinal = calls++;
      if (ordinal >= MOST_CALLS) {
        yield* dialogue.ran(call, { output: TOO_MANY, isError: true });
        continue;
      }
      const { output, item } = await call.by.runs({ id: call.callId, arguments: call.arguments, ordinal });
      yield* dialogue.ran(call, { output, isError: Boolean(item.error) });
    }
    dialogue.next();
    response = await ask(dialogue.asks({ isFirst: false, isLast: round >= MOST_ROUNDS - 1 || calls >= MOST_CALLS }));
    if (!response.ok) throw new RoundFailed(response);
  }
}

const isStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') ?? false;

async function* dataIn(response: Response): AsyncGenerator<JsonObject> {
  const parser = new SseParser();
  const reader = response.body!.getReader();
  try {
    for (;;) {
      const { value } = await reader.read();
      for (const { data } of value ? parser.push(value) : parser.end()) {
        const event = parsed(data);
        if (!isObject(event)) continue;
        if (isObject(event.error)) throw broken(event.error);
        yield event;
      }
      if (!value) return;
    }
  } finally {
    // Hangs up on the provider when the client has left.
    reader.cancel().catch(() => {});
  }
}

const broken = (error: JsonObject): GatewayError =>
  new GatewayError('upstream_failed', ['The provider', textIn(error.message) ?? 'it gave no reason']);
