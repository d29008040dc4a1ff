import { textOf } from '../core/bytes.ts';
import { fail } from '../core/errors.ts';
import { findMembers, removeMembers } from '../core/json-bytes.ts';
import { READ_LIMITS, shapeFault } from '../core/json-shape.ts';
import { setMember } from '../routing/params.ts';

/** What a frame of the client's asks for: one turn of a conversation. */
export interface Turn {
  /** The lane it is done in; empty: the one without a name. */
  readonly lane: string;
  /** False: nothing is asked of a model, what is said is only remembered. */
  readonly generates: boolean;
  readonly previousId: string | null;
  /** The items of its input, as JSON with commas between them. */
  readonly items: string;
  /** Its members as they were sent, without those that only a WebSocket knows. */
  readonly body: Uint8Array;
  readonly model: string | null;
}

/** So large a frame is refused in words. */
export const LARGEST_FRAME = 16 << 20;
const LANE = /^[\x21-\x7e]{1,64}$/;
/** Said by the frame and by no body of a call. `stream` is said for it. */
const OF_THE_SOCKET = ['type', 'stream_id', 'generate', 'stream', 'background', 'previous_response_id'];

/** The lane of a frame that is refused, where that can be told. */
export function laneIn(frame: unknown): string {
  const named = frame !== null && typeof frame === 'object' ? (frame as { stream_id?: unknown }).stream_id : null;
  return typeof named === 'string' && LANE.test(named) ? named : '';
}

/** The JSON of a frame. Throws what is wrong with it as text. */
export function parseFrame(text: string, bytes: Uint8Array): unknown {
  if (bytes.byteLength > LARGEST_FRAME) fail('body_too_large', LARGEST_FRAME);
  const fault = shapeFault(bytes, READ_LIMITS);
  if (fault) fail('invalid_request', fault.member ?? 'frame', fault.why);
  try {
    return JSON.parse(text);
  } catch (error) {
    return fail('invalid_json', error instanceof Error ? error.message : 'it cannot be read');
  }
}

/** What a frame asks for. Bytes stay as they are, but for what only a WebSocket knows. */
export function readTurn(frame: unknown, bytes: Uint8Array): Turn {
  if (frame === null || typeof frame !== 'object' || Array.isArray(frame))
    return fail('invalid_request', 'frame', 'must be an object with a type, such as {"type":"response.create",…}');
  const { type, stream_id, generate, stream, background, previous_response_id, input, model } = frame as Members;
  if (type !== 'response.create')
    fail('invalid_request', 'type', `is ${shown(type)}; response.create is what can be asked here`);
  if (stream_id !== undefined && (typeof stream_id !== 'string' || !LANE.test(stream_id)))
    fail('invalid_request', 'stream_id', 'give 1 to 64 printable ASCII characters, no space');
  if (generate !== undefined && typeof generate !== 'boolean')
    fail('invalid_request', 'generate', 'give true or false');
  if (stream !== undefined && stream !== null && stream !== true)
    fail('invalid_request', 'stream', 'leave it out: every answer on a WebSocket is a stream');
  if (background !== undefined && background !== null && background !== false)
    fail('invalid_request', 'background', 'leave it out: a turn on a WebSocket does not outlive it');
  if (previous_response_id !== undefined && previous_response_id !== null && typeof previous_response_id !== 'string')
    fail('invalid_request', 'previous_response_id', 'give the id of a response');
  if (input !== undefined && input !== null && typeof input !== 'string' && !Array.isArray(input))
    fail('invalid_request', 'input', 'give a text or a list of items');
  const bare = OF_THE_SOCKET.reduce((rest, name) => removeMembers(rest, findMembers(rest, name)), bytes);
  return {
    lane: stream_id ?? '',
    generates: generate !== false,
    previousId: previous_response_id || null,
    items: itemsIn(input, bytes),
    body: setMember(bare, 'stream', 'true'),
    model: typeof model === 'string' ? model : null,
  };
}

type Members = Readonly<Record<'type' | 'generate' | 'stream' | 'background' | 'input' | 'model', unknown>> & {
  readonly stream_id?: string;
  readonly previous_response_id?: string | null;
};

function itemsIn(input: unknown, bytes: Uint8Array): string {
  if (typeof input === 'string') return JSON.stringify({ type: 'message', role: 'user', content: input });
  if (!Array.isArray(input) || input.length === 0) return '';
  const { start, end } = findMembers(bytes, 'input').at(-1)!;
  return textOf(bytes, start + 1, end - 1).trim();
}

/** The body of a call that goes on from what is remembered: all of it is said again. */
export function continuedBody({ body, items }: Turn, earlier: readonly string[], base: string | null): Uint8Array {
  const whole = [...earlier, items].filter(Boolean).join(',');
  const said = earlier.length > 0 ? setMember(body, 'input', `[${whole}]`) : body;
  return base === null ? said : setMember(said, 'previous_response_id', JSON.stringify(base));
}

const shown = (value: unknown): string => (typeof value === 'string' ? `"${value.slice(0, 80)}"` : 'missing');
