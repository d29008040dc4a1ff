import { fail } from '../../core/errors.ts';
import { type Call, type Route, socket } from '../../http/route.ts';
import { gemini, LIVE_ROUTE } from '../../relay/realtime.ts';
import { GeminiTalk } from './gemini.ts';
import type { RealtimeDeps } from './routes.ts';
import { RealtimeSession } from './session.ts';

type LiveDeps = Omit<RealtimeDeps, 'secrets' | 'calls'>;

const NEEDED = 'completions.write';

/** Conversations in real time, at Google. Their first message says with which model, so no provider is asked before. */
export const geminiSockets = (deps: LiveDeps): Route[] => [
  socket(
    LIVE_ROUTE,
    {
      scopes: [NEEDED],
      dialect: 'gemini',
      summary: "Conversations in real time, in the format of Google's Live API: sound and text, both ways",
    },
    (call) => openConversation(call, deps),
  ),
];

function openConversation(call: Call, deps: LiveDeps): RealtimeSession {
  const { open, openRealtime, callers, lifeMs, idleMs, report } = deps;
  const { headers, principal, requestId, providerKey, stamp, clientAddress } = call;
  const identify = async () => {
    const who = await callers.identify(headers, { csrf: 'needed' });
    return who.scopes.has(NEEDED) ? who : fail('insufficient_scope', NEEDED);
  };
  const over = open.enter(principal.keyId, () => session.look());
  const session: RealtimeSession = new RealtimeSession(
    {
      ...{ lifeMs, idleMs, identify, over },
      report: (error) => report(requestId, error),
      clock: () => performance.now(),
    },
    null,
    (own) =>
      new GeminiTalk(own, async (model) =>
        openRealtime({
          tongue: gemini(call.params.version ?? 'v1beta'),
          principal: await identify(),
          ...{ headers, providerKey, model, stamp, clientAddress },
          query: new URLSearchParams(call.search),
          protocols: [],
          log: null,
        }),
      ),
  );
  return session;
}
