import type { JsonObject, ModelRequest, Turn } from '../ir.ts';
import { isObject, objectIn, parsed, textIn } from '../json.ts';
import type { ServerSentEvent } from '../sse.ts';

/** What a request asks of the store of responses, beside the model. */
export interface Kept {
  /** The response is to be kept. */
  readonly isStored: boolean;
  /** The response that this one goes on from. */
  readonly previousId: string | undefined;
}

/** Splits a request into what the keeper of responses sees to and what the provider gets. */
export function takeKept(request: ModelRequest): { readonly kept: Kept; readonly request: ModelRequest } {
  const { store, previous_response_id, ...rest } = request.ext?.responses ?? {};
  const kept = { isStored: store === true, previousId: textIn(previous_response_id) };
  const { responses, ...others } = request.ext ?? {};
  const ext = Object.keys(rest).length > 0 ? { ...others, responses: rest } : others;
  return { kept, request: { ...request, ext } };
}

/** The request after what was said in earlier responses. Instructions stay first: they are this request's own. */
export function continued(request: ModelRequest, earlier: readonly Turn[]): ModelRequest {
  const [first, ...others] = request.turns;
  const turns = first?.at === 'instructions' ? [first, ...joined(earlier, others)] : joined(earlier, request.turns);
  return { ...request, turns };
}

/** Results of tools in a row are one turn, and so is what the assistant says in a row. */
function joined(earlier: readonly Turn[], now: readonly Turn[]): Turn[] {
  const last = earlier.at(-1);
  const [next, ...rest] = now;
  if (!last || !next || last.role !== next.role || (next.role !== 'tool' && next.role !== 'assistant'))
    return [...earlier, ...now];
  return [...earlier.slice(0, -1), { ...last, parts: [...last.parts, ...next.parts] }, ...rest];
}

const LAST_EVENTS = ['response.completed', 'response.incomplete', 'response.failed'];

/** The whole response, which the last event of its stream has; null for every other event. */
export function finalResponse({ event, data }: ServerSentEvent): (JsonObject & { readonly id: string }) | null {
  if (event === undefined || !LAST_EVENTS.includes(event)) return null;
  const { response } = objectIn(parsed(data));
  return isObject(response) && typeof response.id === 'string' ? { ...response, id: response.id } : null;
}
