import { fail, type GatewayError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import { READ_LIMITS, shapeFault } from '../../core/json-shape.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject } from '../../dialects/json.ts';
import { parsed } from '../events.ts';

/** A larger one is refused in words. */
const LARGEST_FRAME = 16 << 20;
/** How a frame of sound begins, of the client's and of the provider's. */
const SOUND_SENT = /^\{(?:"event_id":"[\w-]{0,512}",)?"type":"(?:session\.)?input_audio_buffer\.append","audio":"/;
/** As most clients and providers write it. */
const PLAIN_SOUND = '{"type":"input_audio_buffer.append","audio":"';
const PLAIN_TYPE = '{"type":"';
const TYPE = /^\{\s*(?:"event_id"\s*:\s*"[^"\\]*"\s*,\s*)?"type"\s*:\s*"([\w.]+)"/;
const TYPE_WITHIN = 600;
const LONGEST_TYPE = 100;

/** An event that is read whole. */
export interface RealtimeEvent extends JsonObject {
  readonly type: string;
}

/**
 * How many characters of sound a client's frame brings; null: it is something else. Its end is looked for, too: behind the sound
 * could stand another type, and of two the provider takes the last.
 */
export function soundIn(frame: string): number | null {
  if (frame.startsWith(PLAIN_SOUND)) return endsIn(frame, PLAIN_SOUND.length);
  const start = SOUND_SENT.exec(frame.length > TYPE_WITHIN ? frame.slice(0, TYPE_WITHIN) : frame)?.[0].length;
  return start === undefined ? null : endsIn(frame, start);
}

const endsIn = (frame: string, start: number): number | null =>
  frame.endsWith('"}') && frame.indexOf('"', start) === frame.length - 2 ? frame.length - 2 - start : null;

/** A client's frame. Throws 400 where it is none that can be understood in one way only. */
export function clientEvent(frame: string | Uint8Array): RealtimeEvent {
  if (typeof frame !== 'string') fail('invalid_request', 'frame', 'is binary; send JSON as a text');
  if (frame.length > LARGEST_FRAME) fail('body_too_large', LARGEST_FRAME);
  const fault = shapeFault(Buffer.from(frame), READ_LIMITS);
  if (fault) fail('invalid_request', fault.member ?? 'frame', fault.why);
  const event = parsed(frame);
  if (!isObject(event)) fail('invalid_request', 'frame', 'is no JSON object');
  if (typeof event.type !== 'string') fail('invalid_request', 'type', 'must be the name of an event');
  return event as RealtimeEvent;
}

/** The type of a provider's event, by its beginning; long ones are not read for it. */
export function typeOf(frame: string): string | null {
  if (frame.startsWith(PLAIN_TYPE)) {
    const end = frame.indexOf('"', PLAIN_TYPE.length);
    if (end > 0 && end < LONGEST_TYPE) return frame.slice(PLAIN_TYPE.length, end);
  }
  const found = TYPE.exec(frame.length > TYPE_WITHIN ? frame.slice(0, TYPE_WITHIN) : frame);
  if (found) return found[1]!;
  const event = frame.length > LARGEST_FRAME ? null : parsed(frame);
  return isObject(event) && typeof event.type === 'string' ? event.type : null;
}

/** An error as this API tells it. `cause` is the client's event that it is about. */
export function errorEvent(failure: GatewayError, cause: unknown = null): string {
  const { error } = failure.body();
  return JSON.stringify({
    type: 'error',
    event_id: `event_${newId<string>()}`,
    error: { ...error, event_id: typeof cause === 'string' ? cause : null },
  });
}
