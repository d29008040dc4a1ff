import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { Callers } from '../auth/callers.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';
import { createMemories } from './memory.ts';
import { OpenSockets } from './open-sockets.ts';
import { type CallDeps, callRoutes } from './realtime/call-routes.ts';
import { type CallsDeps, createCalls } from './realtime/calls.ts';
import { geminiSockets } from './realtime/gemini-routes.ts';
import { type RealtimeDeps, realtimeSockets } from './realtime/routes.ts';
import { secretRoutes } from './realtime/secret-routes.ts';
import { createSecrets, type SecretsDeps } from './realtime/secrets.ts';
import { type LiveDeps, liveSockets } from './routes.ts';

export interface LiveParts extends Tools {
  readonly answer: LiveDeps['answer'];
  readonly openRealtime: RealtimeDeps['openRealtime'];
  readonly placeCall: CallDeps['placeCall'];
  readonly joinCall: CallsDeps['joinCall'];
  readonly callers: Callers;
  readonly limiter: SecretsDeps['limiter'];
  readonly principalOf: SecretsDeps['principalOf'];
  readonly metrics: Metrics;
  readonly settings: {
    readonly sockets: {
      readonly perKey: number;
      readonly perProcess: number;
      readonly lifeMs: number;
      readonly idleMs: number;
    };
  };
}

/** Conversations on a connection that stays open. */
export const liveArea = area({
  name: 'live',
  open: (parts: LiveParts) => {
    const { answer, openRealtime, callers, limiter, principalOf, metrics, store, sealer, now, report } = parts;
    const { placeCall, joinCall, upstream, workers, organisationId } = parts;
    const { perKey, perProcess, lifeMs, idleMs } = parts.settings.sockets;
    const open = new OpenSockets({ perKey, perProcess });
    metrics.gauge('gateway_open_sockets', 'WebSockets that are open.', () => open.size);
    const secrets = createSecrets({ store, sealer, limiter, callers, principalOf, now });
    const calls = createCalls({ store, sealer, upstream, workers, joinCall, organisationId, most: perProcess });
    const realtime: RealtimeDeps = { openRealtime, callers, secrets, calls, open, lifeMs, idleMs, report };
    const sockets = [
      ...liveSockets({ answer, callers, open, memories: createMemories(), lifeMs, idleMs, now, report }),
      ...realtimeSockets(realtime),
      ...geminiSockets(realtime),
    ];
    return {
      gives: {},
      routes: [...secretRoutes(secrets), ...callRoutes({ ...realtime, placeCall })],
      work: [calls.kind],
      // Where a key may have none, clients are told at once to go on without.
      sockets: perKey > 0 ? sockets : [],
      leave: () => calls.leave(),
      close: () => open.close(),
    };
  },
});
