import type { VirtualKeys } from '../../auth/virtual-keys.ts';
import type { Principal } from '../../core/principal.ts';
import { type Incoming, type Timeouts, type Upstream, UpstreamFailure } from '../../http/upstream.ts';
import { upstreamUrl } from '../../providers/address.ts';
import type { TokenSource } from '../../providers/provider.ts';
import { askInProcess } from '../../relay/in-process.ts';
import { findTarget, type Target } from '../../relay/target.ts';
import type { Question } from './api.ts';

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
  readonly path: string;
  readonly search?: string;
  readonly type?: string;
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
}

/** One provider, as whoever asks it about batches sees it. */
export interface Provider {
  readonly target: Target;
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
  const send = async ({ method, path, search = '', type, body }: Sending): Promise<Incoming> => {
    const { provider, options, credential, customHost } = target;
    const url = upstreamUrl(provider, options, customHost, path, search);
    const headers = new Headers({ accept: 'application/json', 'accept-encoding': 'identity', ...provider.headers });
    for (const [name, value] of Object.entries(target.headers ?? {})) headers.set(name, value);
    if (type) headers.set('content-type', type);
    const call = { method, url, headers, body, signal };
    const whole = body instanceof Uint8Array ? body : null;
    const { tokens, now } = deps;
    await provider.authorize({
      ...call,
      body: whole,
      provider: provider.name,
      credential,
      options,
      tokens,
      now: now(),
    });
    const incoming = await (provider.inProcess
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
    send,
    ask: async ({ body, ...question }) => {
      const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
      const text = await textOf(await send({ ...question, type: 'application/json', body: bytes }));
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw new Away('its answer is not JSON');
      }
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
