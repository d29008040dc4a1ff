import type { EndpointType } from '../core/endpoints.ts';
import { Fold } from '../dialects/fold.ts';
import { CONVERSATIONS, dialects } from '../dialects/index.ts';
import type { ServerSentEvent } from '../dialects/sse.ts';

/** The answer that a stream comes to, as if it had not been streamed; null for endpoints that have no such form. */
export function foldedJson(events: readonly ServerSentEvent[], endpoint: EndpointType): unknown {
  const name = CONVERSATIONS[endpoint];
  const { inbound, outbound } = name ? dialects[name] : {};
  if (!inbound || !outbound) return null;
  const fold = new Fold();
  const decoder = outbound.decodeStream();
  for (const event of events) for (const each of decoder.push(event)) fold.push(each);
  for (const each of decoder.end()) fold.push(each);
  const { reply } = fold.result();
  return inbound.encodeReply(reply, { request: { model: '' }, id: '', now: 0 }).body;
}
