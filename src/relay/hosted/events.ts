import { GatewayError } from '../../core/errors.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject, objectIn, parsed, textIn } from '../../dialects/json.ts';
import { SseParser } from '../../dialects/sse.ts';

/** The events of a round; of one that was answered whole, those that say as much. */
export async function* eventsIn(response: Response): AsyncGenerator<JsonObject> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const answer = objectIn(parsed(await response.text()));
    const items = Array.isArray(answer.output) ? answer.output : [];
    for (const [output_index, item] of items.entries()) yield { type: 'response.output_item.done', output_index, item };
    yield { type: `response.${textIn(answer.status) ?? 'completed'}`, response: answer };
    return;
  }
  const parser = new SseParser();
  const reader = response.body!.getReader();
  try {
    for (;;) {
      const { value } = await reader.read();
      for (const { data } of value ? parser.push(value) : parser.end()) {
        const event = parsed(data);
        if (!isObject(event)) continue;
        if (event.type === 'error') throw broken(event);
        yield event;
      }
      if (!value) return;
    }
  } finally {
    // Hangs up on the provider when the client has left.
    reader.cancel().catch(() => {});
  }
}

function broken(event: JsonObject): GatewayError {
  const why = textIn(event.message) ?? textIn(objectIn(event.error).message) ?? 'it gave no reason';
  return new GatewayError('upstream_failed', ['The provider', why]);
}
