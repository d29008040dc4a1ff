import { setTimeout as sleep } from 'node:timers/promises';
import { countedBytes } from './body.ts';
import { type Answer, type Call, json } from './exchange.ts';
import { integer } from './faults.ts';
import { Refusal } from './refusal.ts';

/** The plain routes that speak no vendor's format; null for every other path. */
export function probe(call: Call): Promise<Answer> | Answer | null {
  const { method, path } = call;
  if (path === '/echo') return echo(call);
  if (path === '/sink' && method === 'POST') return sink(call);
  if (method === 'GET' && path === '/cookies') return cookies();
  if (method === 'GET' && path === '/range') return range(call.headers.get('range') ?? 'bytes=0-99');
  if (method === 'GET' && path.startsWith('/bytes/')) {
    return bytes(integer(path.slice('/bytes/'.length), 'bytes', 0, Number.MAX_SAFE_INTEGER));
  }
  if (path.startsWith('/status/')) return status(integer(path.slice('/status/'.length), 'status', 200, 599));
  return null;
}

export const bytes = (total: number): Answer => ({
  body: { type: 'pieces', pieces: countedBytes(total), contentType: 'application/octet-stream' },
});

const SHOWN_BYTES = 65_536;

/** What arrived. A body that was already read as text is taken from there. */
export async function echo(call: Call): Promise<Answer> {
  const hash = new Bun.CryptoHasher('sha256');
  const beginning: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bodyChunks(call)) {
    hash.update(chunk);
    if (size < SHOWN_BYTES) beginning.push(chunk);
    size += chunk.length;
  }
  const url = new URL(call.request.url);
  const queryStart = call.request.url.indexOf('?');
  return json({
    method: call.method,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    search: queryStart === -1 ? '' : call.request.url.slice(queryStart),
    headers: Object.fromEntries(call.headers),
    body_sha256: hash.digest('hex'),
    body_bytes: size,
    body_text: size < SHOWN_BYTES ? Buffer.concat(beginning).toString() : undefined,
  });
}

async function* bodyChunks(call: Call): AsyncGenerator<Uint8Array> {
  if (call.request.bodyUsed) yield Buffer.from(await call.text());
  else if (call.request.body) yield* call.request.body;
}

const status = (code: number): Answer => json({ simulated: true, status: code }, code);

const cookies = (): Answer => ({
  ...json({ simulated: true }),
  cookies: ['first=1; Path=/; HttpOnly', 'second=2; Path=/; Expires=Wed, 01 Jan 2031 00:00:00 GMT'],
});

const RANGE_BYTES = 1000;

function range(asked: string): Answer {
  const [, from = '', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(asked) ?? [];
  const first = Number(from);
  const last = Math.min(to === '' ? RANGE_BYTES - 1 : Number(to), RANGE_BYTES - 1);
  if (from === '' || first > last) {
    const refused = json({ simulated: true, message: `"${asked}" is no range of ${RANGE_BYTES} bytes.` }, 416);
    return { ...refused, headers: { 'content-range': `bytes */${RANGE_BYTES}` } };
  }
  const part = Uint8Array.from({ length: last - first + 1 }, (_, index) => (first + index) & 0xff);
  return {
    status: 206,
    headers: { 'content-range': `bytes ${first}-${last}/${RANGE_BYTES}`, 'accept-ranges': 'bytes' },
    body: { type: 'bytes', bytes: part, contentType: 'application/octet-stream' },
  };
}

// Timers count no further.
const LONGEST_SLEEP_MS = 2 ** 31 - 1;

/** Swallows a body, no faster than `?rate=` bytes per second. */
async function sink(call: Call): Promise<Answer> {
  const asked = call.query.get('rate');
  const rate = asked === null ? Number.POSITIVE_INFINITY : integer(asked, 'rate', 1, Number.MAX_SAFE_INTEGER);
  const started = performance.now();
  let size = 0;
  try {
    for await (const chunk of call.request.body ?? []) {
      size += chunk.length;
      const aheadMs = (size / rate) * 1000 - (performance.now() - started);
      if (aheadMs > 1) await sleep(Math.min(aheadMs, LONGEST_SLEEP_MS), undefined, { signal: call.request.signal });
    }
  } catch {
    throw new Refusal(400, `The body ended early, after ${size} bytes.`);
  }
  return json({ bytes: size });
}
