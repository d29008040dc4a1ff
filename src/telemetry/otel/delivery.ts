import { PlainHeaders } from '../../core/header-map.ts';
import type { Upstream } from '../../http/upstream.ts';
import type { Destination } from './settings.ts';

/** What became of one request. */
export type Delivered =
  | { readonly kind: 'taken'; readonly rejected: number }
  /** It will never be taken. */
  | { readonly kind: 'refused'; readonly why: string }
  /** It may be taken later. */
  | { readonly kind: 'away'; readonly why: string; readonly afterMs: number | null };

/** The only statuses after which OTLP asks to try again. */
const TRY_AGAIN = new Set([429, 502, 503, 504]);
const LONGEST_PAUSE_MS = 60_000;
const MOST_ANSWER_BYTES = 64 * 1024;

/** One request to a destination. Never throws, and says nothing of addresses, headers or answers: it is shown. */
export async function deliver(upstream: Upstream, destination: Destination, body: Uint8Array): Promise<Delivered> {
  const { url, headers, protocol, isCompressed, timeoutMs } = destination;
  const sent = isCompressed ? Bun.gzipSync(body as Uint8Array<ArrayBuffer>, { level: 1 }) : body;
  try {
    const incoming = await upstream.send({
      method: 'POST',
      url,
      headers: new PlainHeaders({
        ...headers,
        'content-type': protocol === 'http/json' ? 'application/json' : 'application/x-protobuf',
        ...(isCompressed && { 'content-encoding': 'gzip' }),
        'accept-encoding': 'identity',
        'user-agent': headers['user-agent'] ?? 'OTel-OTLP-Exporter-Gateway',
      }),
      body: sent,
      timeouts: { connectMs: timeoutMs, firstByteMs: timeoutMs, idleMs: timeoutMs, totalMs: timeoutMs },
    });
    const { status } = incoming;
    if (status < 200 || status > 299) {
      incoming.cancel();
      if (TRY_AGAIN.has(status))
        return { kind: 'away', why: `answers ${status}`, afterMs: pauseIn(incoming.headers.get('retry-after')) };
      return { kind: 'refused', why: `answers ${status}` };
    }
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (let piece = await incoming.read(); piece; piece = await incoming.read()) {
      size += piece.byteLength;
      if (size > MOST_ANSWER_BYTES) {
        incoming.cancel();
        return { kind: 'taken', rejected: 0 };
      }
      pieces.push(piece);
    }
    return { kind: 'taken', rejected: rejectedIn(Buffer.concat(pieces), protocol) };
  } catch {
    return { kind: 'away', why: 'does not answer', afterMs: null };
  }
}

function pauseIn(header: string | null): number | null {
  if (header === null) return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(LONGEST_PAUSE_MS, Math.max(0, ms)) : null;
}

/** How many items a destination left out of a request that it took: `partial_success.rejected_…`. */
function rejectedIn(answer: Buffer, protocol: Destination['protocol']): number {
  if (protocol === 'http/json') return rejectedInJson(answer);
  // Field 1 is the partial success, whose field 1 is the number.
  if (answer.length < 4 || answer[0] !== 0x0a || answer[2] !== 0x08) return 0;
  let number = 0;
  for (let at = 3, shift = 1; at < answer.length; at++, shift *= 128) {
    number += (answer[at]! & 127) * shift;
    if (answer[at]! < 128) return number;
  }
  return 0;
}

function rejectedInJson(answer: Buffer): number {
  try {
    const { partialSuccess = {} } = JSON.parse(answer.toString()) as { partialSuccess?: Record<string, unknown> };
    const rejected = Number(partialSuccess.rejectedSpans ?? partialSuccess.rejectedDataPoints ?? 0);
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    return 0;
  }
}
