import type { Callers } from '../../auth/callers.ts';
import { fail } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import type { SentHeaders } from '../../http/headers.ts';
import { type Call, type Route, socket } from '../../http/route.ts';
import { Upgrade } from '../../http/socket.ts';
import { OPENAI, type RealtimeCall, type RealtimeLine } from '../../relay/realtime.ts';
import type { OpenSockets } from '../open-sockets.ts';
import type { Calls } from './calls.ts';
import { JoinedTalk } from './joined-talk.ts';
import { changedIn, OpenAiTalk } from './openai.ts';
import type { SecretClaims, Secrets } from './secrets.ts';
import { RealtimeSession } from './session.ts';

export interface RealtimeDeps {
  readonly openRealtime: (call: RealtimeCall) => Promise<RealtimeLine | Response>;
  readonly callers: Pick<Callers, 'identify'>;
  readonly secrets: Secrets;
  readonly calls: Calls;
  readonly open: OpenSockets;
  readonly lifeMs: number;
  readonly idleMs: number;
  readonly report: (requestId: string, error: unknown) => void;
}

const NEEDED = 'completions.write';
/** What a query may say of whom to ask: exactly one of them. */
const SUBJECTS = ['model', 'intent', 'deployment'];

/** Conversations in real time, at providers that speak as OpenAI does. */
export const realtimeSockets = (deps: RealtimeDeps): Route[] => [
  socket(
    '/v1/realtime',
    {
      scopes: [NEEDED],
      identify: deps.secrets.identify,
      summary: "Conversations in real time, in OpenAI's format: sound and text, both ways",
    },
    (call) => openConversation(call, deps),
  ),
];

async function openConversation(call: Call, deps: RealtimeDeps): Promise<Upgrade | Response> {
  const { open, openRealtime, lifeMs, idleMs, report } = deps;
  const { principal, requestId } = call;
  const claims = deps.secrets.read(call.headers);
  const headers = claims ? boundHeaders(call.headers, claims) : call.headers;
  const query = new URLSearchParams(call.search);
  const callId = query.get('call_id');
  if (callId !== null) {
    if (claims) fail('session_bound', 'call_id');
    if (SUBJECTS.some((name) => query.has(name)))
      fail('invalid_request', 'call_id', 'stands alone; a call has its model already');
    return joinOne(call, callId, deps);
  }
  const asked = query.get('model') ?? query.get('deployment');
  const model = claims ? modelOf(claims, asked) : asked;
  if (!claims && !SUBJECTS.some((name) => query.get(name)))
    fail('invalid_request', 'model', 'is missing; give ?model=');
  query.delete('model');
  query.delete('deployment');
  const protocols = protocolsOf(headers);
  let session: RealtimeSession | null = null;
  const leave = open.enter(principal.keyId, () => session?.look());
  try {
    if (claims) await deps.secrets.use(claims, principal);
    const line = await openRealtime({
      ...{ tongue: OPENAI, principal, headers, model, query, protocols },
      providerKey: claims ? null : call.providerKey,
      stamp: call.stamp,
      clientAddress: call.clientAddress,
      log: call.log,
    });
    if (line instanceof Response) {
      leave();
      return line;
    }
    const frozen = claims && (await frozenOf(claims, line, principal));
    const talks = {
      ...{ lifeMs, idleMs },
      identify: async () => {
        const who = claims
          ? await deps.secrets.maker(claims)
          : await deps.callers.identify(headers, { csrf: 'needed' });
        return who.scopes.has(NEEDED) ? who : fail('insufficient_scope', NEEDED);
      },
      over: leave,
      report: (error: unknown) => report(requestId, error),
      clock: () => performance.now(),
    };
    session = new RealtimeSession(talks, line, (own) => new OpenAiTalk(own, line, frozen));
    return new Upgrade(session, line.socket.protocol);
  } catch (error) {
    leave();
    throw error;
  }
}

/** A client of ours takes part in a call that it has begun. What is said there is counted where the call is watched. */
async function joinOne(call: Call, id: string, deps: RealtimeDeps): Promise<Upgrade> {
  const { calls, open, callers, lifeMs, idleMs, report } = deps;
  const { principal, requestId, headers } = call;
  let session: RealtimeSession | null = null;
  const leave = open.enter(principal.keyId, () => session?.look());
  try {
    const joined = await calls.join(principal, id, protocolsOf(headers));
    const talks = {
      ...{ lifeMs, idleMs, over: leave },
      identify: async () => {
        const who = await callers.identify(headers, { csrf: 'needed' });
        return who.scopes.has(NEEDED) ? who : fail('insufficient_scope', NEEDED);
      },
      report: (error: unknown) => report(requestId, error),
      clock: () => performance.now(),
    };
    session = new RealtimeSession(talks, null, (own) => new JoinedTalk(own, joined));
    return new Upgrade(session, joined.socket.protocol);
  } catch (error) {
    leave();
    throw error;
  }
}

const protocolsOf = (headers: SentHeaders): string[] =>
  (headers['sec-websocket-protocol'] ?? '').split(',').flatMap((name) => name.trim() || []);

/** Who holds a secret says nothing of where the conversation goes. */
export function boundHeaders(sent: SentHeaders, { headers }: SecretClaims): SentHeaders {
  const rest: Record<string, string> = {};
  for (const name in sent) if (!name.startsWith('x-gateway-') && name !== 'cookie') rest[name] = sent[name]!;
  return { ...rest, ...headers };
}

export function modelOf({ session }: SecretClaims, asked: string | null): string | null {
  const bound = typeof session.model === 'string' ? session.model : null;
  if (asked !== null && asked !== bound) fail('session_bound', 'model');
  return bound;
}

/** The session of a secret as the provider gets it: guardrails look at it as they would if its client said it. */
async function frozenOf({ session }: SecretClaims, line: RealtimeLine, who: Principal): Promise<JsonObject> {
  const { model } = line;
  const own = { ...session, ...(model !== null && session.model !== undefined && { model }) };
  if (!line.isGuarded) return own;
  try {
    const { instructions = null, tools = null } = session;
    const judged = await line.judge(who, { instructions, tools, input: [] });
    return judged ? { ...own, ...changedIn(judged, session) } : own;
  } catch (error) {
    line.socket.close(1000, '');
    throw error;
  }
}
