import * as z from 'zod';
import { fail } from '../../core/errors.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject } from '../../dialects/json.ts';
import { arrivingBody } from '../../http/arriving.ts';
import { readParts } from '../../http/multipart.ts';
import { type Call, options, post, type Route } from '../../http/route.ts';
import { OPENAI } from '../../relay/realtime.ts';
import type { AskedCall, PlacedCall } from '../../relay/realtime-call.ts';
import { parsed } from '../events.ts';
import { boundHeaders, modelOf, type RealtimeDeps } from './routes.ts';
import type { RealtimeSession } from './session.ts';

export interface CallDeps extends RealtimeDeps {
  readonly placeCall: (call: AskedCall) => Promise<PlacedCall | Response>;
}

/** What a client asks for: an offer, and a session, with its model. */
interface Offer {
  readonly sdp: string;
  readonly session: JsonObject | null;
}

const NEEDED = 'completions.write';
const CALLS = '/v1/realtime/calls';
const HANGUP = '/v1/realtime/calls/:call_id/hangup';
/** Secrets are for pages, of any origin. A browser sends no cookie there that such an answer could be read with. */
const fromAnywhere = () => ({ 'access-control-allow-origin': '*', 'access-control-expose-headers': 'location' });
const SDP_TYPE = 'application/sdp';
const LARGEST_SDP = 256 << 10;
const LARGEST_SESSION = 1 << 20;
const CREATED = 201;

const callForm = () =>
  z.object({
    sdp: z.string().describe("The client's offer, in the Session Description Protocol."),
    session: z.string().optional().describe('The session as JSON, with its model.'),
  });

/** Conversations in real time by WebRTC: the offer and its answer pass, sound goes from the client to the provider directly. */
export const callRoutes = (deps: CallDeps): Route[] => [
  post(
    CALLS,
    {
      scopes: [NEEDED],
      identify: deps.secrets.identify,
      stamp: fromAnywhere,
      summary: 'A conversation in real time by WebRTC: an SDP offer, answered with the SDP of the provider',
      form: callForm,
      isProviders: true,
    },
    (call) => placeOne(call, deps),
  ),
  post(
    HANGUP,
    {
      scopes: [NEEDED],
      identify: deps.secrets.identify,
      stamp: fromAnywhere,
      summary: 'End a conversation by WebRTC that this key has begun',
      isProviders: true,
    },
    async (call) => {
      await deps.calls.hangUp(call.principal, call.params.call_id);
      return new Response(null, { status: 200, headers: { ...call.stamp } });
    },
  ),
  ...[CALLS, HANGUP].map((path) =>
    options(
      path,
      { scopes: 'public', isProviders: true, stamp: fromAnywhere, summary: 'What a page of another origin may send' },
      preflight,
    ),
  ),
];

const preflight = (): Response =>
  new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'content-type, authorization',
      'access-control-max-age': '7200',
    },
  });

async function placeOne(call: Call, deps: CallDeps): Promise<Response> {
  const { secrets, calls, open, lifeMs, idleMs, report } = deps;
  const { principal, requestId } = call;
  const claims = secrets.read(call.headers);
  const headers = claims ? boundHeaders(call.headers, claims) : call.headers;
  const offer = await readOffer(call.request);
  if (claims && offer.session) fail('session_bound', 'session');
  const inQuery = new URLSearchParams(call.search).get('model');
  const { model: named, ...session } = claims?.session ?? offer.session ?? {};
  const model = claims ? modelOf(claims, inQuery) : oneModel(named, inQuery);
  if (model === null && session.type !== 'transcription')
    fail('invalid_request', 'session.model', 'is missing; it names the model, or ?model= does');
  let watched: RealtimeSession | null = null;
  const leave = open.enter(principal.keyId, () => watched?.look());
  try {
    if (claims) await secrets.use(claims, principal);
    const placed = await deps.placeCall({
      ...{ tongue: OPENAI, principal, headers, model, sdp: offer.sdp },
      session: { type: 'realtime', ...session },
      query: new URLSearchParams(),
      protocols: [],
      providerKey: claims ? null : call.providerKey,
      stamp: call.stamp,
      clientAddress: call.clientAddress,
      log: call.log,
      signal: call.request.signal,
    });
    if (placed instanceof Response) {
      leave();
      return placed;
    }
    const talks = {
      ...{ lifeMs, idleMs },
      identify: async () => {
        const who = claims ? await secrets.maker(claims) : await deps.callers.identify(headers, { csrf: 'needed' });
        return who.scopes.has(NEEDED) ? who : fail('insufficient_scope', NEEDED);
      },
      over: leave,
      report: (error: unknown) => report(requestId, error),
      clock: () => performance.now(),
    };
    const opened = (session: RealtimeSession) => {
      watched = session;
    };
    const id = await calls.watch(principal, placed, talks, { isBound: claims !== null, opened });
    const answer = { 'content-type': SDP_TYPE, location: `/v1/realtime/calls/${id}`, 'cache-control': 'no-store' };
    return new Response(placed.sdp, { status: CREATED, headers: { ...placed.notes, ...answer, ...call.stamp } });
  } catch (error) {
    leave();
    throw error;
  }
}

function oneModel(named: unknown, inQuery: string | null): string | null {
  if (named !== undefined && (typeof named !== 'string' || named === ''))
    fail('invalid_request', 'session.model', 'must be the name of a model');
  if (inQuery !== null && named !== undefined && named !== inQuery)
    fail('invalid_request', 'model', 'is another one in the address than in the session');
  return (named as string | undefined) ?? (inQuery || null);
}

/** The offer as a form, or, as older clients and those with a secret send it, as it is. */
async function readOffer(request: Request): Promise<Offer> {
  const type = (request.headers.get('content-type') ?? '').toLowerCase();
  if (type.split(';', 1)[0]!.trim() === SDP_TYPE) {
    const body = arrivingBody(request);
    const sdp = await textOf(body ? pieces(body) : [], 'sdp', LARGEST_SDP);
    return { sdp: checkedSdp(sdp), session: null };
  }
  if (!type.startsWith('multipart/form-data'))
    fail('unsupported_media_type', type.slice(0, 100), `multipart/form-data or ${SDP_TYPE}`);
  let sdp: string | null = null;
  let session: string | null = null;
  for await (const { name, content } of readParts(request)) {
    if (name === 'sdp' && sdp === null) sdp = await textOf(content, name, LARGEST_SDP);
    else if (name === 'session' && session === null) session = await textOf(content, name, LARGEST_SESSION);
    else
      fail('invalid_request', name.slice(0, 100), 'is not a field of a call, or is given twice; give sdp and session');
  }
  return { sdp: checkedSdp(sdp ?? ''), session: session === null ? null : sessionIn(session) };
}

function checkedSdp(sdp: string): string {
  return sdp.startsWith('v=0')
    ? sdp
    : fail('invalid_request', 'sdp', 'must be an offer in the Session Description Protocol, which begins with v=0');
}

function sessionIn(text: string): JsonObject {
  const session = parsed(text);
  if (!isObject(session)) fail('invalid_request', 'session', 'must be a JSON object');
  const { type = 'realtime' } = session;
  if (type !== 'realtime' && type !== 'transcription')
    fail('invalid_request', 'session.type', 'give "realtime" or "transcription"');
  return session;
}

async function* pieces(body: { read(): Promise<Uint8Array | null> }): AsyncGenerator<Uint8Array> {
  for (let piece = await body.read(); piece; piece = await body.read()) yield piece;
}

async function textOf(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  name: string,
  most: number,
): Promise<string> {
  const all: Uint8Array[] = [];
  let size = 0;
  for await (const piece of content) {
    size += piece.byteLength;
    if (size > most) fail('invalid_request', name, `has more than ${most} bytes`);
    all.push(Buffer.from(piece));
  }
  return Buffer.concat(all).toString();
}
