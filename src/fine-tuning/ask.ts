import { parsed } from '../dialects/json.ts';
import { type Incoming, type Timeouts, type Upstream, UpstreamFailure } from '../http/upstream.ts';
import { upstreamUrl } from '../providers/address.ts';
import type { Authorize, TokenSource } from '../providers/provider.ts';
import { askInProcess } from '../relay/in-process.ts';
import type { Target } from '../relay/target.ts';
import type { Ask } from './backends/backend.ts';

export interface AskDeps {
  readonly upstream: Upstream;
  readonly simulate: (request: Request) => Promise<Response>;
  readonly tokens: TokenSource;
  readonly timeouts: Timeouts;
  readonly now: () => number;
}

/** The provider cannot be asked at the moment, or makes no sense: nothing is known about the job, so nothing changes. */
export class ProviderAway extends Error {
  readonly retryAfterMs: number;

  constructor(why: string, retryAfterMs = 0) {
    super(why);
    this.name = 'ProviderAway';
    this.retryAfterMs = retryAfterMs;
  }
}

/** The provider said no, and will say so again. */
export class ProviderRefused extends Error {
  readonly status: number;
  readonly answer: unknown;

  constructor(status: number, answer: unknown) {
    super(`the provider answered ${status}`);
    this.name = 'ProviderRefused';
    this.status = status;
    this.answer = answer;
  }
}

/** Anything that goes out: a question, or the bytes of a file. */
export interface Outgoing {
  readonly method: string;
  readonly path?: string;
  readonly search?: string;
  /** In place of a path below the provider's base. */
  readonly url?: string;
  readonly contentType?: string;
  readonly length?: number | null;
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
  readonly signed?: Authorize;
}

const MOST_BYTES = 16 << 20;
/** Answers to questions about jobs are quick; whoever is slower is asked again. */
const QUESTION: Timeouts = { connectMs: 10_000, firstByteMs: 60_000, idleMs: 30_000, totalMs: 120_000 };
const TEMPORARY = new Set([408, 425, 429]);

/** The JSON that a provider answers. */
export async function ask(target: Target, request: Ask, deps: AskDeps, signal: AbortSignal): Promise<unknown> {
  const { body, ...rest } = request;
  const bytes = body === undefined ? null : new TextEncoder().encode(JSON.stringify(body));
  const incoming = await send(
    target,
    { ...rest, body: bytes, contentType: 'application/json' },
    { ...deps, timeouts: QUESTION },
    signal,
  );
  return jsonIn(incoming);
}

export const jsonIn = async (incoming: Incoming): Promise<unknown> => parsed(await textIn(incoming));

/** An answer that is one, its body unread. Throws `ProviderAway` or `ProviderRefused`. */
export async function send(target: Target, out: Outgoing, deps: AskDeps, signal: AbortSignal): Promise<Incoming> {
  const { provider, options, credential } = target;
  const { method, body } = out;
  const url = out.url ?? upstreamUrl(provider, options, target.customHost, out.path ?? '', out.search ?? '');
  const headers = new Headers({ accept: 'application/json', 'accept-encoding': 'identity', ...provider.headers });
  for (const [name, value] of Object.entries((!out.url && target.headers) || {})) headers.set(name, value);
  if (body && out.contentType) headers.set('content-type', out.contentType);
  if (body instanceof ReadableStream && typeof out.length === 'number')
    headers.set('content-length', String(out.length));
  const authorize = out.signed ?? provider.authorize;
  await authorize({
    provider: provider.name,
    credential,
    options,
    method,
    url,
    headers,
    body: body instanceof Uint8Array ? body : null,
    tokens: deps.tokens,
    now: deps.now(),
  });
  const call = { method, url, headers, body, signal };
  const incoming = await (provider.inProcess && !out.url
    ? askInProcess(deps.simulate, call)
    : deps.upstream.send({ ...call, timeouts: deps.timeouts })
  ).catch(away);
  if (incoming.status >= 200 && incoming.status < 300) return incoming;
  return refuse(incoming, deps.now());
}

async function refuse(incoming: Incoming, now: number): Promise<never> {
  const { status, headers } = incoming;
  const text = await textIn(incoming).catch(() => '');
  if (TEMPORARY.has(status) || status >= 500)
    throw new ProviderAway(`it answered ${status}`, waitIn(headers.get('retry-after'), now));
  throw new ProviderRefused(status, parsed(text) ?? { message: text.slice(0, 500) });
}

/** Seconds, or a date. */
function waitIn(header: string | null, now: number): number {
  if (!header) return 0;
  const ms = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.max(0, Math.min(ms, 3_600_000)) : 0;
}

async function textIn(incoming: Incoming): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let piece = await incoming.read().catch(away); piece; piece = await incoming.read().catch(away)) {
    size += piece.byteLength;
    if (size > MOST_BYTES) {
      incoming.cancel();
      throw new ProviderAway(`its answer has more than ${MOST_BYTES} bytes`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** What an answer holds. One that cannot be read counts as none. */
export function understood<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new ProviderAway(error instanceof Error ? error.message : String(error));
  }
}

function away(error: unknown): never {
  if (error instanceof UpstreamFailure && error.kind !== 'aborted') throw new ProviderAway(error.message);
  throw error;
}
