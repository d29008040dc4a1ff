import { fail } from '../core/errors.ts';
import type { Usage } from '../core/usage.ts';
import type { Dialect, Encoded, Inbound, Outbound } from '../dialects/dialect.ts';
import { FramingError } from '../dialects/framing-error.ts';
import type { ModelRequest } from '../dialects/ir.ts';
import { formatSse, type ServerSentEvent, SseParser } from '../dialects/sse.ts';
import type { Incoming } from '../http/upstream.ts';

/** A call in the provider's words, and how its answer becomes one in the client's. */
export interface Translated {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** What the client must hear about: what was left out or said in another way. */
  readonly notes: Readonly<Record<string, string>>;
  readonly isStream: boolean;
  /** The provider's answer as the client understands it. */
  answer(incoming: Incoming, report: (usage: Usage) => void): Promise<Incoming>;
}

export interface TranslateOptions {
  readonly from: Dialect;
  readonly to: Dialect;
  readonly quirks?: Parameters<Outbound['encodeRequest']>[1];
  readonly requestId: string;
  readonly now: () => number;
  readonly isStrict: boolean;
  readonly provider: string;
  /** Turns the provider's stream into events. Default: server-sent events. */
  readonly framing?: () => { push(piece: Uint8Array): readonly ServerSentEvent[]; end(): readonly ServerSentEvent[] };
}

/** Reads the client's body and writes the provider's. Throws when something that matters cannot be said. */
export function translate(body: Uint8Array, options: TranslateOptions): Translated {
  const { from, to, quirks, provider } = options;
  const inbound = from.inbound!;
  const outbound = to.outbound!;
  const request = inbound.decodeRequest(parsed(body));
  // Usage is wanted for every stream, whether or not the client asked for it.
  const asked = request.stream ? { ...request, includeUsage: true } : request;
  const encoded = outbound.encodeRequest(asked, quirks);
  const refused = encoded.dropped.find(({ matters }) => matters);
  if (refused) fail('not_expressible', refused.path, provider, refused.why);
  return {
    body: Buffer.from(JSON.stringify(encoded.body)),
    headers: encoded.headers ?? {},
    notes: notesOf(encoded),
    isStream: request.stream === true,
    answer: (incoming, report) => answer(incoming, report, { request, inbound, outbound, options }),
  };
}

/** As the header line that names them; longer lists end with their count. */
function notesOf({ dropped, changed }: Encoded): Readonly<Record<string, string>> {
  const line = (paths: readonly string[]) => {
    const shown = paths.slice(0, 20).map((path) => path.replace(/[^\x20-\x7e]/g, '?'));
    return paths.length > shown.length
      ? `${shown.join(', ')} and ${paths.length - shown.length} more`
      : shown.join(', ');
  };
  return {
    ...(dropped.length > 0 && { 'x-gateway-dropped': line(dropped.map(({ path }) => path)) }),
    ...(changed.length > 0 && { 'x-gateway-changed': line(changed.map(({ path, how }) => `${path} (${how})`)) }),
  };
}

interface Sides {
  readonly request: ModelRequest;
  readonly inbound: Inbound;
  readonly outbound: Outbound;
  readonly options: TranslateOptions;
}

async function answer(incoming: Incoming, report: (usage: Usage) => void, sides: Sides): Promise<Incoming> {
  if (incoming.status >= 400) return refusal(incoming, sides);
  return sides.request.stream ? stream(incoming, report, sides) : whole(incoming, report, sides);
}

const contextOf = ({ request, options }: Sides) => ({
  request,
  id: options.requestId,
  now: options.now(),
  isStrict: options.isStrict,
});

async function refusal(incoming: Incoming, { inbound, outbound }: Sides): Promise<Incoming> {
  const bytes = await incoming.bytes();
  const text = new TextDecoder().decode(bytes);
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Some refusals are pages of a load balancer.
  }
  const encoded = inbound.encodeError(outbound.decodeError(incoming.status, body));
  return replaced(incoming, { status: encoded.status, type: 'application/json', bytes: jsonBytes(encoded.body) });
}

async function whole(incoming: Incoming, report: (usage: Usage) => void, sides: Sides): Promise<Incoming> {
  const reply = read(sides, parsedReply(await incoming.bytes(), sides.options.provider));
  if (reply.usage) report(reply.usage);
  const { body } = sides.inbound.encodeReply(reply, contextOf(sides));
  return replaced(incoming, { status: incoming.status, type: 'application/json', bytes: jsonBytes(body) });
}

function read({ outbound, options }: Sides, body: unknown) {
  try {
    return outbound.decodeReply(body);
  } catch (error) {
    if (error instanceof FramingError) fail('upstream_failed', options.provider, error.message);
    throw error;
  }
}

/** Each piece of the provider's stream becomes the events it completes; a piece that completes none waits for the next. */
function stream(incoming: Incoming, report: (usage: Usage) => void, sides: Sides): Incoming {
  const parser = sides.options.framing?.() ?? sseFraming();
  const decoder = sides.outbound.decodeStream();
  const encoder = sides.inbound.encodeStream(contextOf(sides));
  let usage: Usage = {};
  let isOver = false;
  const translated = (events: readonly ServerSentEvent[], isEnd: boolean): string => {
    let text = '';
    const send = (out: readonly ServerSentEvent[]) => {
      for (const event of out) text += formatSse(event);
    };
    const pass = (replyEvents: ReturnType<typeof decoder.push>) => {
      for (const event of replyEvents) {
        if (event.type === 'usage') usage = { ...usage, ...event.usage };
        send(encoder.push(event));
      }
    };
    for (const event of events) pass(decoder.push(event));
    if (isEnd) {
      pass(decoder.end());
      send(encoder.end());
      report(usage);
    }
    return text;
  };
  return {
    status: incoming.status,
    statusText: '',
    headers: translatedHeaders(incoming, 'text/event-stream; charset=utf-8'),
    read: async () => {
      while (!isOver) {
        const piece = await incoming.read();
        isOver = piece === null;
        const text = piece ? translated(parser.push(piece), false) : translated(parser.end(), true);
        if (text !== '') return Buffer.from(text);
      }
      return null;
    },
    bytes: () => Promise.reject(new Error('a translated stream is read piece by piece')),
    cancel: () => {
      if (!isOver) report(usage);
      incoming.cancel();
    },
  };
}

function sseFraming() {
  const parser = new SseParser();
  return { push: (piece: Uint8Array) => parser.push(piece), end: () => parser.end() };
}

/** Headers that speak of the body as the provider sent it. */
const OF_THE_BODY = [
  'content-length',
  'content-encoding',
  'content-type',
  'transfer-encoding',
  'etag',
  'content-md5',
  'digest',
];

function translatedHeaders(incoming: Incoming, type: string): Headers {
  const headers = new Headers(incoming.headers);
  for (const name of OF_THE_BODY) headers.delete(name);
  headers.set('content-type', type);
  return headers;
}

function replaced(
  incoming: Incoming,
  { status, type, bytes }: { status: number; type: string; bytes: Uint8Array },
): Incoming {
  const headers = translatedHeaders(incoming, type);
  headers.set('content-length', String(bytes.byteLength));
  let rest: Uint8Array | null = bytes;
  const take = () => {
    const piece = rest;
    rest = null;
    return piece;
  };
  return {
    status,
    statusText: '',
    headers,
    read: async () => take(),
    bytes: async () => take() ?? new Uint8Array(),
    cancel: () => {},
  };
}

const jsonBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    return fail('invalid_json', error instanceof SyntaxError ? error.message : 'it is not UTF-8');
  }
}

function parsedReply(bytes: Uint8Array, provider: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return fail('upstream_failed', provider, 'its answer is not JSON');
  }
}
