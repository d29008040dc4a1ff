import { fail } from '../core/errors.ts';
import { PlainHeaders } from '../core/header-map.ts';
import { newId } from '../core/ids.ts';
import type { JsonObject } from '../dialects/ir.ts';
import type { SentHeaders } from '../http/headers.ts';
import type { Incoming, Timeouts, Upstream } from '../http/upstream.ts';
import { type ClientWebSocket, SocketRefused } from '../http/upstream-socket.ts';
import type { Attempt, OpenCall } from './call.ts';
import {
  type Aimed,
  aim,
  authorized,
  judgeSaid,
  lineOf,
  openedBy,
  type RealtimeCall,
  type RealtimeDeps,
  type RealtimeLine,
} from './realtime.ts';

/** A conversation whose sound goes from the client to the provider directly, by WebRTC. */
export interface AskedCall extends RealtimeCall {
  /** What the client offers, in the Session Description Protocol. */
  readonly sdp: string;
  /** Without its model, which the call names. */
  readonly session: JsonObject;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/** What ends a call at its provider, or joins it, whichever node does it. It holds a credential. */
export interface CallControl {
  /** Of the call, at the provider. */
  readonly url: string;
  /** Of its side channel. */
  readonly side: string;
  readonly headers: SentHeaders;
}

/** A call that the provider has taken. No sound flows before the client has the answer. */
export interface PlacedCall {
  readonly sdp: string;
  readonly control: CallControl;
  /** The session as the provider was told it. */
  readonly session: JsonObject;
  readonly notes: SentHeaders;
  /** Whether guardrails look at what is said. */
  readonly isGuarded: boolean;
  /** Opens the side channel, on which the provider tells what is said. Throws where it cannot be opened. */
  attach(): Promise<RealtimeLine>;
  /** Ends it, with a credential as it is now. */
  hangUp(): Promise<void>;
}

const PATH = '/realtime/calls';
const LARGEST_ANSWER = 256 << 10;
/** As a provider names a call; it becomes a part of a path. */
const CALL_ID = /^[\w-]{1,200}$/;
/** What a provider answers where a call is over already. */
const IS_OVER = new Set([400, 404, 409, 410]);
const HANG_UP: Timeouts = { connectMs: 10_000, firstByteMs: 20_000, idleMs: 10_000, totalMs: 30_000 };
/** A call that was placed this moment may not be known everywhere at the provider. */
const ATTACH_AGAIN_MS = [100, 300, 600, 1_000, 2_000];
const NOT_FOUND = 404;

/** Finds the provider of a call as for every call, and hands it the client's offer. A response: the provider's refusal. */
export const placeCall = (asked: AskedCall, deps: RealtimeDeps): Promise<PlacedCall | Response> =>
  openedBy(asked, asked.log!, (given, to) => placeAt(asked, given, to, deps), deps);

async function placeAt(
  asked: AskedCall,
  given: OpenCall,
  to: Attempt,
  deps: RealtimeDeps,
): Promise<PlacedCall | SocketRefused> {
  // Any node may have to end the call, and it is told of headers alone.
  if (to.target.tls)
    fail(
      'unsupported_by_provider',
      to.target.provider.name,
      'calls by WebRTC with a virtual key that has a client certificate or authorities of its own',
    );
  const aimed = await aim(asked, given, to, deps);
  const { call } = aimed;
  const session = await judgedSession(asked, aimed, deps);
  const form = formOf({ sdp: asked.sdp, session: JSON.stringify(session) });
  const request = { method: 'POST', path: PATH, search: '', sent: call.headers, body: form.body };
  const { url, headers } = await authorized(aimed, request, deps);
  headers.set('content-type', form.type);
  headers.set('accept', 'application/sdp');
  headers.set('accept-encoding', 'identity');
  call.log.asks(url, null);
  const sent = { method: 'POST', url, headers, body: form.body, timeouts: deps.timeouts, resend: false };
  const incoming = await deps.upstream.send({ ...sent, signal: asked.signal });
  call.log.answered(incoming.status, incoming.connectMs ?? null);
  const { host } = new URL(url);
  const body = await textOf(incoming, host);
  if (incoming.status >= 300)
    return new SocketRefused(incoming.status, { 'content-type': incoming.headers.get('content-type') ?? '' }, body);
  const id =
    idIn(incoming.headers.get('location')) ?? fail('call_not_watched', host, 'it does not say which one it is');
  return placed({ id, sdp: body, session, host }, aimed, deps);
}

async function placed(
  { id, sdp, session, host }: { id: string; sdp: string; session: JsonObject; host: string },
  aimed: Aimed,
  deps: RealtimeDeps,
): Promise<PlacedCall> {
  const controlNow = async (): Promise<CallControl> => {
    const request = { method: 'POST', path: `${PATH}/${id}`, search: '', sent: {}, body: null };
    const { url, headers } = await authorized(aimed, request, deps);
    const { url: side } = await authorized(aimed, sideOf(id, aimed), deps);
    return { url, side, headers: headers.toJSON() };
  };
  const { foundBy } = aimed.call;
  return {
    sdp,
    control: await controlNow(),
    session,
    isGuarded: aimed.isGuarded,
    notes: { ...foundBy, 'x-gateway-last-used-option-index': aimed.to.path },
    attach: () => attach(id, host, aimed, deps),
    hangUp: async () => hangUp(await controlNow(), deps.upstream),
  };
}

/** What guardrails say to the session, before the provider gets it. */
async function judgedSession(
  asked: AskedCall,
  { call, to, isGuarded }: Aimed,
  deps: RealtimeDeps,
): Promise<JsonObject> {
  const session: JsonObject = { ...asked.session, ...(call.named !== null && { model: call.named }) };
  if (!isGuarded) return session;
  const { instructions = null, tools = null } = session;
  const judged = await judgeSaid(asked.principal, { instructions, tools, input: [] }, asked, call, to, deps);
  if (!judged) return session;
  return {
    ...session,
    ...(session.instructions !== undefined && { instructions: judged.instructions }),
    ...(session.tools !== undefined && { tools: judged.tools }),
  };
}

const sideOf = (id: string, { asked }: Aimed) => ({
  ...{ method: 'GET', path: asked.tongue.path, search: `?call_id=${id}`, sent: {}, body: null },
});

async function attach(id: string, host: string, aimed: Aimed, deps: RealtimeDeps): Promise<RealtimeLine> {
  const { url, headers } = await authorized(aimed, sideOf(id, aimed), deps);
  const timeoutMs = deps.timeouts.connectMs || deps.timeouts.firstByteMs;
  for (const waitMs of [...ATTACH_AGAIN_MS, null])
    try {
      return lineOf(aimed, await deps.dial({ url, headers, protocols: [], timeoutMs }), deps);
    } catch (error) {
      if (!(error instanceof SocketRefused)) throw error;
      if (error.status !== NOT_FOUND || waitMs === null)
        fail('call_not_watched', host, `its side channel was answered with ${error.status}`);
      await Bun.sleep(waitMs);
    }
  throw new Error('unreachable');
}

/** One more side channel of a call. Null: the provider has no such call any more. */
export async function joinCall(
  { side: url, headers }: CallControl,
  protocols: readonly string[],
  { dial, timeouts }: Pick<RealtimeDeps, 'dial' | 'timeouts'>,
): Promise<ClientWebSocket | null> {
  const timeoutMs = timeouts.connectMs || timeouts.firstByteMs;
  try {
    return await dial({ url, headers: new PlainHeaders({ ...headers }), protocols, timeoutMs });
  } catch (error) {
    if (error instanceof SocketRefused && error.status === NOT_FOUND) return null;
    if (!(error instanceof SocketRefused)) throw error;
    return fail('call_not_joined', new URL(url).host, error.status);
  }
}

/** Ends a call. Resolves when it is over; throws where that is not known. */
export async function hangUp({ url, headers }: CallControl, upstream: Upstream): Promise<void> {
  const incoming = await upstream.send({
    method: 'POST',
    url: `${url}/hangup`,
    headers: new Headers({ ...headers, 'accept-encoding': 'identity' }),
    body: null,
    timeouts: HANG_UP,
  });
  const { status } = incoming;
  incoming.cancel();
  if (status >= 300 && !IS_OVER.has(status)) fail('call_not_ended', new URL(url).host, status);
}

/** `/v1/realtime/calls/rtc_…`, with or without a host. */
function idIn(location: string | null): string | null {
  const [path = ''] = (location ?? '').split(/[?#]/, 1);
  const id = path.slice(path.lastIndexOf('/') + 1);
  return CALL_ID.test(id) ? id : null;
}

async function textOf(incoming: Incoming, host: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let piece = await incoming.read(); piece; piece = await incoming.read()) {
    size += piece.byteLength;
    if (size > LARGEST_ANSWER) {
      incoming.cancel();
      fail('upstream_failed', host, `its answer is larger than ${LARGEST_ANSWER} bytes`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

const TYPES: Readonly<Record<string, string>> = { sdp: 'application/sdp', session: 'application/json' };

/** By hand, because a `FormData` may change the ends of lines, and an offer is its lines. */
function formOf(fields: Readonly<Record<string, string>>): { type: string; body: Uint8Array } {
  const boundary = `gateway-${newId<string>()}`;
  const parts = Object.entries(fields).map(
    ([name, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\ncontent-type: ${TYPES[name]}\r\n\r\n${value}\r\n`,
  );
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.from(`${parts.join('')}--${boundary}--\r\n`),
  };
}
