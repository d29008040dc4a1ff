import { rangeOf } from '../http/byte-range.ts';
import { FOREIGN_HEADERS } from '../http/foreign.ts';
import { headerOf } from '../http/headers.ts';
import { closingLog } from '../http/pulled-stream.ts';
import type { Call } from '../http/route.ts';
import type { FileRow } from '../storage/schema.ts';
import type { Files } from './files.ts';

/** Less than this is read at once and answered with its length; Bun sends streams without one. */
const SMALL = 256 * 1024;

/** `GET /files/:id/content`: the bytes, or a range of them, as fast as the client takes them. */
export async function download(call: Call, file: FileRow, files: Files): Promise<Response> {
  const { headers, log } = call;
  const tag = `"${file.id}"`;
  const ifRange = headerOf(headers, 'if-range');
  const range = ifRange === null || ifRange === tag ? rangeOf(headerOf(headers, 'range'), file.bytes) : null;
  const { start, end } = range ?? { start: 0, end: file.bytes };
  const status = range ? 206 : 200;
  const init = {
    status,
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(end - start),
      // Whatever was uploaded, a browser neither shows it nor guesses what it is.
      'content-disposition': `attachment; filename*=UTF-8''${encoded(file.filename)}`,
      ...FOREIGN_HEADERS,
      'accept-ranges': 'bytes',
      etag: tag,
      ...(range && { 'content-range': `bytes ${start}-${end - 1}/${file.bytes}` }),
    },
  };
  if (call.request.method === 'HEAD') return new Response(null, init);
  const content = await files.open(file, { start, end });
  if (end - start <= SMALL) return new Response(await new Response(content).bytes(), init);
  return new Response(closingLog(content, log, status), init);
}

/** RFC 8187: what encodeURIComponent leaves alone and a header must not hold is encoded as well. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
