import { GatewayError } from '../core/errors.ts';
import { parsed } from '../dialects/json.ts';
import { type Incoming, type Timeouts, type Upstream, UpstreamFailure } from '../http/upstream.ts';
import { upstreamUrl } from '../providers/address.ts';
import type { Authorize, TokenSource } from '../providers/provider.ts';
import { tlsFor } from './client-certificate.ts';
import { askInProcess } from './in-process.ts';
import type { Target } from './target.ts';

/**
 * Calls that the gateway makes to a provider in its own name, about batches and fine-tuning jobs: no client waits for the
 * answer, so they pass by the relay. What a batch or a job may take of limits is held before the first of them.
 */
export interface ProviderCallDeps {
  readonly upstream: Upstream;
  readonly simulate: (request: Request) => Promise<Response>;
  readonly tokens: TokenSource;
  readonly now: () => number;
}

/** A question to a provider, in JSON both ways. */
export interface Question {
  readonly method: 'GET' | 'POST';
  /** Below the provider's base. */
  readonly path: string;
  readonly search?: string;
  readonly body?: unknown;
}

/** Anything that goes out: a question, or the bytes of a file. */
export interface ProviderCall {
  readonly method: string;
  readonly path?: string;
  readonly search?: string;
  /** In place of a path below the provider's base: at another host that is stored with the credential, or is its own. */
  readonly url?: string;
  readonly contentType?: string;
  /** Of a body that is a stream, where it is known. */
  readonly length?: number | null;
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
  /** Where the other host wants another signature. */
  readonly authorize?: Authorize;
}

/** The provider cannot be asked at the moment, or makes no sense: nothing is known, so nothing changes. */
export class ProviderAway extends Error {
  /** What it said to that, if anything: without a status it may have done what it was asked for. */
  readonly status: number | null;
  readonly retryAfterMs: number;

  constructor(
    why: string,
    { status = null, retryAfterMs = 0 }: { status?: number | null; retryAfterMs?: number } = {},
  ) {
    super(why);
    this.name = 'ProviderAway';
    this.status = status;
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

/** Answers to questions are quick; a provider that is slower is asked again later. */
const QUESTION: Timeouts = { connectMs: 10_000, firstByteMs: 60_000, idleMs: 30_000, totalMs: 120_000 };
/** Files take their time, but a provider that sends a byte a minute must not hold the work for ever. */
const TRANSFER: Timeouts = { connectMs: 10_000, firstByteMs: 120_000, idleMs: 60_000, totalMs: 3_600_000 };
const LARGEST_ANSWER = 16 << 20;
const SHOWN_CHARACTERS = 500;
const LONGEST_WAIT_MS = 3_600_000;
const TEMPORARY = new Set([408, 425, 429]);

/** The JSON that a provider answers; undefined where it is none. */
export async function askProvider(
  target: Target,
  { body, ...question }: Question,
  deps: ProviderCallDeps,
  signal: AbortSignal,
): Promise<unknown> {
  const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
  const call = { ...question, contentType: 'application/json', body: bytes };
  return jsonIn(await send(target, call, QUESTION, deps, signal));
}

/** A good answer, its body unread. Throws `ProviderAway` or `ProviderRefused`. */
export const sendToProvider = (
  target: Target,
  call: ProviderCall,
  deps: ProviderCallDeps,
  signal: AbortSignal,
): Promise<Incoming> => send(target, call, TRANSFER, deps, signal);

async function send(
  target: Target,
  call: ProviderCall,
  timeouts: Timeouts,
  deps: ProviderCallDeps,
  signal: AbortSignal,
): Promise<Incoming> {
  let incoming = await sendOnce(target, call, timeouts, deps, signal);
  // A credential that a store keeps may have been changed there a moment ago.
  const renewed = incoming.status === 401 ? await target.renewed?.().catch(() => null) : null;
  if (renewed && !(call.body instanceof ReadableStream)) {
    incoming.cancel();
    incoming = await sendOnce(renewed, call, timeouts, deps, signal);
  }
  return incoming.status >= 200 && incoming.status < 300 ? incoming : refuse(incoming, deps.now());
}

function sendOnce(
  target: Target,
  call: ProviderCall,
  timeouts: Timeouts,
  { upstream, simulate, tokens, now }: ProviderCallDeps,
  signal: AbortSignal,
): Promise<Incoming> {
  const { provider, options, credential, machine, customHost, headers: stored } = target;
  const { method, body, length } = call;
  const url = call.url ?? upstreamUrl(provider, options, customHost, call.path ?? '', call.search ?? '');
  const headers = new Headers({ accept: 'application/json', 'accept-encoding': 'identity', ...provider.headers });
  // Of the virtual key, for the provider itself.
  for (const [name, value] of Object.entries((!call.url && stored) || {})) headers.set(name, value);
  if (body && call.contentType) headers.set('content-type', call.contentType);
  if (body instanceof ReadableStream && typeof length === 'number') headers.set('content-length', String(length));
  const signed = body instanceof Uint8Array ? body : null;
  const request = { provider: provider.name, credential, options, method, url, headers, body: signed, tokens };
  const outgoing = { method, url, headers, body, signal };
  const exchange = async () => {
    await (call.authorize ?? provider.authorize)({ ...request, ...(machine && { machine }), now: now() });
    if (provider.inProcess && !call.url) return askInProcess(simulate, outgoing);
    // A certificate is for the provider itself, not for a bucket beside it.
    return upstream.send({ ...outgoing, tls: call.url ? undefined : tlsFor(target, now()), timeouts });
  };
  return exchange().catch(away);
}

async function refuse(incoming: Incoming, now: number): Promise<never> {
  const { status, headers } = incoming;
  const text = await textOf(incoming).catch(() => '');
  if (TEMPORARY.has(status) || status >= 500)
    throw new ProviderAway(`it answered ${status}`, {
      status,
      retryAfterMs: waitIn(headers.get('retry-after'), now),
    });
  throw new ProviderRefused(status, parsed(text) ?? { message: text.slice(0, SHOWN_CHARACTERS) });
}

/** Seconds, or a date. */
function waitIn(header: string | null, now: number): number {
  if (!header) return 0;
  const ms = /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.max(0, Math.min(ms, LONGEST_WAIT_MS)) : 0;
}

/** The pieces of an answer. */
export async function* piecesOf(incoming: Incoming): AsyncGenerator<Uint8Array> {
  try {
    for (let piece = await incoming.read().catch(away); piece; piece = await incoming.read().catch(away)) yield piece;
  } finally {
    incoming.cancel();
  }
}

export async function textOf(incoming: Incoming): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of piecesOf(incoming)) {
    size += piece.byteLength;
    if (size > LARGEST_ANSWER) throw new ProviderAway(`its answer has more than ${LARGEST_ANSWER} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

export const jsonIn = async (incoming: Incoming): Promise<unknown> => parsed(await textOf(incoming));

/** What an answer holds. One that cannot be read counts as none. */
export function understood<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new ProviderAway(error instanceof Error ? error.message : String(error));
  }
}

function away(error: unknown): never {
  const isBroken = error instanceof UpstreamFailure && error.kind !== 'aborted';
  // A name that does not resolve, a token that cannot be had.
  const isUnreachable = error instanceof GatewayError && error.status >= 500;
  throw isBroken || isUnreachable ? new ProviderAway(error.message) : error;
}
