import { exposedUri } from '../tools/names.ts';
import { isObject, type Json } from './conversation.ts';

/** Changes the answer to a request; the same object means that nothing has to change. */
export type Change = (message: Json) => Json;

const MOST_BYTES = 16 << 20;

/** The client has a session with this address, and would take another one for its own from then on. */
export function withoutSession({ status, headers }: Response): { readonly status: number; readonly headers: Headers } {
  const kept = new Headers(headers);
  kept.delete('mcp-session-id');
  kept.delete('content-length');
  return { status, headers: kept };
}

/** A response whose one answer is changed on the way. Everything that stays as it is keeps its bytes. */
export async function mapAnswer(response: Response, change: Change): Promise<Response> {
  const { status, headers } = withoutSession(response);
  if (!response.ok || !response.body) return new Response(response.body, { status, headers });
  const isJson = /^application\/json\b/i.test(headers.get('content-type') ?? '');
  if (headers.has('content-encoding') || !isJson) return new Response(response.body, { status, headers });
  const { bytes, rest } = await beginningOf(response.body);
  if (rest) return new Response(together(bytes, rest), { status, headers });
  const next = changed(Buffer.from(bytes).toString(), change);
  return new Response(next ?? (bytes as Uint8Array<ArrayBuffer>), { status, headers });
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** A body whole, or as much of a larger one as is held in memory, and the way to the rest. */
async function beginningOf(body: ReadableStream<Uint8Array>): Promise<{ bytes: Uint8Array; rest: Reader | null }> {
  const reader = body.getReader() as Reader;
  const pieces: Uint8Array[] = [];
  for (let size = 0; size <= MOST_BYTES; ) {
    const { done, value } = await reader.read();
    if (done) return { bytes: Buffer.concat(pieces), rest: null };
    size += value.byteLength;
    pieces.push(value);
  }
  return { bytes: Buffer.concat(pieces), rest: reader };
}

/** What is too large to be looked at passes as it is. */
const together = (beginning: Uint8Array, rest: Reader): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => controller.enqueue(beginning),
    async pull(controller) {
      const { done, value } = await rest.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => rest.cancel(reason),
  });

/** Null: as it was. */
function changed(text: string | null, change: Change): string | null {
  if (text === null || !text.includes('"result"')) return null;
  try {
    const message: unknown = JSON.parse(text);
    if (!isObject(message) || !isObject(message.result)) return null;
    const next = change(message);
    return next === message ? null : JSON.stringify(next);
  } catch {
    return null;
  }
}

/** Addresses of resources in a result, as the client can ask for them here. */
export function withExposedUris(slug: string, result: Json): Json {
  let isSame = true;
  const exposed = (holder: unknown): unknown => {
    if (!isObject(holder) || typeof holder.uri !== 'string') return holder;
    isSame = false;
    return { ...holder, uri: exposedUri(slug, holder.uri) };
  };
  const block = (value: unknown): unknown => {
    if (!isObject(value)) return value;
    if (value.type === 'resource_link') return exposed(value);
    if (value.type === 'resource') return { ...value, resource: exposed(value.resource) };
    return value;
  };
  const each = (value: unknown, map: (item: unknown) => unknown) => (Array.isArray(value) ? value.map(map) : value);
  const next = {
    ...result,
    ...('content' in result && { content: each(result.content, block) }),
    ...('contents' in result && { contents: each(result.contents, exposed) }),
    ...('messages' in result && {
      messages: each(result.messages, (message) =>
        isObject(message) ? { ...message, content: block(message.content) } : message,
      ),
    }),
  };
  return isSame ? result : next;
}
