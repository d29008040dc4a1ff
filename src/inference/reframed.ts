import { SseParser } from '../dialects/sse.ts';

interface Frame {
  readonly type: string;
  readonly start: string;
  readonly between: string;
  readonly end: string;
}

const ARRAY: Frame = { type: 'application/json; charset=UTF-8', start: '[', between: ',\n', end: ']' };
const LINES: Frame = { type: 'application/x-ndjson', start: '', between: '\n', end: '\n' };

/** A stream of events as one JSON array, whose elements come one by one: what Google answers without `alt=sse`. */
export const asJsonArray = (response: Response): Response => reframed(response, ARRAY);

/** A stream of events as lines of JSON: what Ollama answers. */
export const asJsonLines = (response: Response): Response => reframed(response, LINES);

/** What is no stream stays as it is. A stream that breaks is cut here, too, and so is not taken for a whole one. */
function reframed(response: Response, { type, start, between, end }: Frame): Response {
  const { body, headers, status } = response;
  if (!body || !headers.get('content-type')?.startsWith('text/event-stream')) return response;
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const parser = new SseParser();
  let isFirst = true;
  const element = ({ data }: { readonly data: string }): string => {
    const before = isFirst ? start : between;
    isFirst = false;
    return before + data;
  };
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await reader.read();
          const text = (done ? parser.end() : parser.push(value)).map(element).join('');
          if (done) {
            controller.enqueue(Buffer.from(text + (isFirst ? start : '') + end));
            return controller.close();
          }
          if (text !== '') return controller.enqueue(Buffer.from(text));
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const given = new Headers(headers);
  given.set('content-type', type);
  return new Response(stream, { status, headers: given });
}
