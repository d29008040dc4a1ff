import type { VirtualKeys } from '../../auth/virtual-keys.ts';
import type { Principal } from '../../core/principal.ts';
import { type Incoming, type Timeouts, type Upstream, UpstreamFailure } from '../../http/upstream.ts';
import { upstreamUrl } from '../../providers/address.ts';
import type { Authorize, TokenSource } from '../../providers/provider.ts';
import { askInProcess } from '../../relay/in-process.ts';
import { findTarget, type Target } from '../../relay/target.ts';
import type { Place, Question } from './api.ts';
import { placeOf } from './apis.ts';

export interface AskDeps {
  readonly virtualKeys: VirtualKeys;
  readonly upstream: Upstream;
  readonly simulate: (request: Request) => Promise<Response>;
  readonly tokens: TokenSource;
  readonly now: () => number;
}

/** The provider said no, and will say so again. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, why: string) {
    super(`The provider answered ${status}: ${why}`);
    this.name = 'Refused';
    this.status = status;
  }
}

/** The provider is away, or wants to be asked later: nothing is known. */
export class Away extends Error {
  override readonly name = 'Away';
}

export interface Sending {
  readonly method: string;
  /** Below the provider's base. */
  readonly path?: string;
  readonly search?: string;
  /** In place of a path: at the host of the provider's buckets. */
  readonly url?: string;
  readonly type?: string;
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
  /** Where that host wants another signature. */
  readonly authorize?: Authorize;
}

/** One provider, as whoever asks it about batches sees it. */
export interface Provider {
  readonly target: Target;
  readonly place: Place;
  ask(question: Question): Promise<unknown>;
  /** An answer that is a good one, its body unread. */
  send(sending: Sending): Promise<Incoming>;
}

const TIMEOUTS: Timeouts = { connectMs: 10_000, firstByteMs: 120_000, idleMs: 60_000, totalMs: 0 };
const LARGEST_ANSWER = 16 << 20;
const SHOWN_CHARACTERS = 500;
const LATER = new Set([408, 409, 425, 429]);

/** The provider behind a virtual key; what is asked of it counts against no limit. */
export async function providerBehind(
  { who, virtualKey, signal }: { who: Principal; virtualKey: string; signal: AbortSignal },
  deps: AskDeps,
): Promise<Provider> {
  const selection = { by: 'virtual-key', slug: virtualKey } as const;
  const target = await findTarget(selection, who, { headers: {}, providerKey: null }, deps.virtualKeys);
  const place = placeOf(await deps.virtualKeys.resolve(who, virtualKey), target.options);
  const send = async ({ method, path = '', search = '', type, body, ...other }: Sending): Promise<Incoming> => {
    const { provider, options, credential, customHost } = target;
    const url = other.url ?? upstreamUrl(provider, options, customHost, path, search);
    const headers = new Headers({ accept: 'application/json', 'accept-encoding': 'identity', ...provider.headers });
    // Of the virtual key, for the provider itself.
    for (const [name, value] of Object.entries((!other.url && target.headers) || {})) headers.set(name, value);
    if (type) headers.set('content-type', type);
    const call = { method, url, headers, body, signal };
    const whole = body instanceof Uint8Array ? body : null;
    const { tokens, now } = deps;
    await (other.authorize ?? provider.authorize)({
      ...call,
      body: whole,
      provider: provider.name,
      credential,
      options,
      tokens,
      now: now(),
    });
    const incoming = await (provider.inProcess && !other.url
      ? askInProcess(deps.simulate, call)
      : deps.upstream.send({ ...call, timeouts: TIMEOUTS })
    ).catch(asAway);
    if (incoming.status >= 200 && incoming.status < 300) return incoming;
    const why = await textOf(incoming).catch(() => '');
    if (LATER.has(incoming.status) || incoming.status >= 500) throw new Away(`it answered ${incoming.status}`);
    throw new Refused(incoming.status, reasonIn(why));
  };
  return {
    target,
    place,
    send,
    ask: async ({ body, ...question }) => {
      const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
      const text = await textOf(await send({ ...question, type: 'application/json', body: bytes }));
      return parsed(text);
    },
  };
}

/** The pieces of an answer. */
export async function* piecesOf(incoming: Incoming): AsyncGenerator<Uint8Array> {
  try {
    for (let piece = await incoming.read().catch(asAway); piece; piece = await incoming.read().catch(asAway))
      yield piece;
  } finally {
    incoming.cancel();
  }
}

export async function textOf(incoming: Incoming): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of piecesOf(incoming)) {
    size += piece.byteLength;
    if (size > LARGEST_ANSWER) throw new Away(`its answer is larger than ${LARGEST_ANSWER} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Away('its answer is not JSON');
  }
}

function reasonIn(text: string): string {
  try {
    const { error, message } = JSON.parse(text) as { error?: { message?: unknown }; message?: unknown };
    const why = error?.message ?? message;
    if (typeof why === 'string') return why.slice(0, SHOWN_CHARACTERS);
  } catch {
    // Some refusals are pages.
  }
  return text.slice(0, SHOWN_CHARACTERS) || 'it gave no reason.';
}

function asAway(error: unknown): never {
  throw error instanceof UpstreamFailure && error.kind !== 'aborted' ? new Away(error.message) : error;
}
