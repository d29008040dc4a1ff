import { GatewayError } from '../core/errors.ts';
import { newObjectId } from '../core/object-ids.ts';
import type { JsonObject } from '../dialects/ir.ts';
import { isObject } from '../dialects/json.ts';
import type { Turn } from './frame.ts';

/** Events that hold the whole response. */
const HOLDING = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
]);
const LAST = new Set(['response.completed', 'response.incomplete', 'response.failed']);
/** What clients read of the headers of an error. */
const TOLD_HEADERS = ['retry-after', 'x-request-id', 'x-gateway-request-id', 'x-gateway-error-origin'];

export const holdsResponse = (type: string): boolean => HOLDING.has(type);
export const isLast = (type: string): boolean => LAST.has(type);

/** An event with the lane that it is of. */
export function inLane(event: string, lane: string): string {
  const brace = lane === '' ? null : /^\s*\{\s*/.exec(event);
  if (!brace) return event;
  const members = event.slice(brace[0].length);
  return `{"stream_id":${JSON.stringify(lane)}${members.startsWith('}') ? '' : ','}${members}`;
}

/**
 * An error as an event. It is said twice: once as the stream of a response says it, once with its status and in an envelope,
 * which is how clients of a WebSocket tell that the turn is over.
 */
function errorEvent(
  status: number,
  error: JsonObject,
  { headers, ...more }: { headers?: Readonly<Record<string, string>> } & JsonObject = {},
): string {
  const { code = null, message = '', param = null } = error;
  const told = headers && Object.keys(headers).length > 0 ? { headers } : {};
  return JSON.stringify({
    type: 'error',
    status,
    code,
    message,
    param,
    error: { ...error, ...told },
    ...told,
    ...more,
  });
}

/** A failure of the gateway's own. */
export function failureEvent(error: GatewayError): string {
  const { error: own, ...more } = error.body();
  return errorEvent(error.status, own, { ...more, headers: error.headers });
}

/** The call of a turn was answered with an error: the same as an event. */
export async function refusalEvent(response: Response): Promise<string> {
  const text = await response.text();
  const headers: Record<string, string> = {};
  for (const name of TOLD_HEADERS) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  const body = parsed(text);
  const { error, ...more } = isObject(body) ? body : { error: null };
  const own = isObject(error) ? error : { message: text.slice(0, 2_000), type: 'api_error', param: null, code: null };
  return errorEvent(response.status, own, { ...more, headers });
}

/** An error within a stream, which says no status. */
export function streamErrorEvent(data: string): string {
  const event = parsed(data);
  if (!isObject(event))
    return failureEvent(new GatewayError('upstream_failed', ['the provider', 'its stream broke off']));
  const { type: _, status, error, sequence_number, ...flat } = event;
  const own = isObject(error) ? error : { type: 'api_error', ...flat };
  return errorEvent(typeof status === 'number' ? status : 502, own, {
    ...(sequence_number !== undefined && { sequence_number }),
  });
}

/** What an answer that is no stream would have been as one. */
export function* wholeEvents(response: JsonObject): Generator<{ type: string; data: string }> {
  const output = Array.isArray(response.output) ? response.output : [];
  let sequence_number = 0;
  const event = (type: string, members: JsonObject) => ({
    type,
    data: JSON.stringify({ type, sequence_number: sequence_number++, ...members }),
  });
  yield event('response.created', { response: { ...response, status: 'in_progress', output: [], usage: null } });
  for (const [output_index, item] of output.entries()) {
    yield event('response.output_item.added', { output_index, item });
    yield event('response.output_item.done', { output_index, item });
  }
  const { status } = response;
  const end = status === 'incomplete' || status === 'failed' ? `response.${status}` : 'response.completed';
  yield event(end, { response });
}

/** A turn that asks nothing of a model: a response without output, from which the next turn goes on. */
export const warmResponse = ({ model, previousId }: Turn, now: number): JsonObject & { readonly id: string } => ({
  id: newObjectId('response', now),
  object: 'response',
  created_at: Math.floor(now / 1_000),
  status: 'completed',
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  model: model ?? '',
  output: [],
  parallel_tool_calls: true,
  previous_response_id: previousId,
  store: false,
  temperature: null,
  tool_choice: 'auto',
  tools: [],
  top_p: null,
  usage: {
    input_tokens: 0,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 0,
  },
});

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
