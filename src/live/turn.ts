import { GatewayError } from '../core/errors.ts';
import type { JsonObject } from '../dialects/ir.ts';
import { isObject } from '../dialects/json.ts';
import { SseParser } from '../dialects/sse.ts';
import {
  failureEvent,
  holdsResponse,
  isLast,
  parsed,
  refusalEvent,
  streamErrorEvent,
  warmResponse,
  wholeEvents,
} from './events.ts';
import { continuedBody, type Turn } from './frame.ts';
import { type ConnectionMemory, itemsOf, type Remembered } from './memory.ts';

export interface TurnDeps {
  /** Makes the call of a turn: one like any other. */
  readonly ask: (body: Uint8Array, signal: AbortSignal) => Promise<Response>;
  /** Throws when the caller may ask nothing any more. */
  readonly check: () => Promise<void>;
  readonly memory: ConnectionMemory;
  readonly now: () => number;
}

interface Event {
  readonly type: string;
  readonly data: string;
}

/** What a client hears of a turn: the events of the stream that its call is answered with. */
export async function* play(turn: Turn, deps: TurnDeps, signal: AbortSignal): AsyncGenerator<string> {
  const { memory } = deps;
  const before = memory.find(turn.previousId);
  if (!turn.generates) {
    await deps.check();
    const response = warmResponse(turn, deps.now());
    memory.keep(response.id, { items: turn.items, from: before.from });
    for (const { data } of wholeEvents(response)) yield data;
    return;
  }
  const response = await deps.ask(continuedBody(turn, before.items, before.base), signal);
  if (!response.ok) return yield refusalEvent(response);
  const isSaidAgain = before.base !== turn.previousId;
  let isOver = false;
  try {
    for await (const { type, data } of eventsIn(response)) {
      if (type === 'error') {
        isOver = true;
        yield streamErrorEvent(data);
        continue;
      }
      const made = holdsResponse(type) && (isSaidAgain || isLast(type)) ? responseIn(data) : null;
      if (made && isLast(type)) {
        isOver = true;
        remember(memory, made.response, { said: turn.items, from: before.from });
      }
      yield made && isSaidAgain ? withPrevious(made, turn.previousId) : data;
    }
  } catch (error) {
    if (signal.aborted || isOver) return;
    const why = error instanceof Error ? error.message : 'it was cut';
    return yield broken(`its stream broke off: ${why}`);
  }
  if (!isOver) yield broken('its stream ended before the response did');
}

const broken = (why: string): string => failureEvent(new GatewayError('upstream_failed', ['The provider', why]));

async function* eventsIn(response: Response): AsyncGenerator<Event> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const whole = parsed(await response.text());
    if (isObject(whole)) yield* wholeEvents(whole);
    return;
  }
  const parser = new SseParser();
  const reader = response.body!.getReader();
  try {
    for (;;) {
      const { value } = await reader.read();
      const events = value ? parser.push(value) : parser.end();
      for (const event of events) if (event.data.startsWith('{')) yield typed(event);
      if (!value) return;
    }
  } finally {
    // Hangs up on the provider when the client has left.
    reader.cancel().catch(() => {});
  }
}

function typed({ event, data }: { readonly event?: string; readonly data: string }): Event {
  if (event !== undefined) return { type: event, data };
  const members = parsed(data);
  return { type: isObject(members) && typeof members.type === 'string' ? members.type : '', data };
}

interface Made {
  readonly event: JsonObject;
  readonly response: JsonObject;
}

function responseIn(data: string): Made | null {
  const event = parsed(data);
  return isObject(event) && isObject(event.response) ? { event, response: event.response } : null;
}

/** The provider was told the conversation, and not what it goes on from. */
const withPrevious = ({ event, response }: Made, previousId: string | null): string =>
  JSON.stringify({ ...event, response: { ...response, previous_response_id: previousId } });

/** What is kept by the provider or the store is gone on from there. */
function remember(
  memory: ConnectionMemory,
  response: JsonObject,
  { said, from }: { readonly said: string; readonly from: Remembered['from'] },
): void {
  if (response.store === true || response.status === 'failed' || typeof response.id !== 'string') return;
  memory.keep(response.id, { items: itemsOf(said, response), from });
}
