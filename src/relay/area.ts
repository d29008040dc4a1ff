import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { JwtVerifier } from '../auth/jwt-verify.ts';
import type { EnvironmentCredential } from '../auth/virtual-key.ts';
import { turnTime } from '../core/clock.ts';
import { secretIn } from '../core/filed-secret.ts';
import { addressOf, type LocalServer } from '../core/local-models.ts';
import type { Principal, WorkCaller } from '../core/principal.ts';
import { ownFile } from '../core/program.ts';
import { Secret } from '../core/secret.ts';
import { startSweeper } from '../core/sweeper.ts';
import { createTokens } from '../core/tokens.ts';
import { IMAGE_GENERATION } from '../dialects/responses/hosted-items.ts';
import type { CheckThreads } from '../guardrails/check.ts';
import type { GuardrailDefaultsStore } from '../guardrails/defaults.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import { fetchSmall } from '../http/upstream.ts';
import { createDialSocket } from '../http/upstream-socket.ts';
import { optionNames, providers } from '../providers/registry.ts';
import { createTokenSource } from '../providers/tokens.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import { createBackground } from './background/background.ts';
import type { ModelCall } from './call.ts';
import { checkConfigParts } from './check-config.ts';
import { checkVirtualKey } from './check-virtual-key.ts';
import { thoughtEndings } from './endings.ts';
import { openGuard } from './guarding/open-guard.ts';
import { createCompaction } from './hosted/compaction.ts';
import { createHosted } from './hosted/hosted.ts';
import { createImageGeneration } from './hosted/served/image-generation.ts';
import type { ServedBy } from './hosted/served/served.ts';
import { createWebSearch, WEB_SEARCH_TYPES } from './hosted/served/web-search.ts';
import { type CallModel, createCallModel } from './internal.ts';
import type { ConversationKeeper, ResponseKeeper } from './kept-response.ts';
import { createKeptThoughts } from './kept-thoughts.ts';
import { createModelCatalogue } from './model-catalogue.ts';
import { createModelNames, type PlainModels } from './model-names.ts';
import { openRealtime, type RealtimeCall } from './realtime.ts';
import { type AskedCall, type CallControl, joinCall, placeCall } from './realtime-call.ts';
import { type RelayDeps, relay } from './relay.ts';
import { createWorkProofs } from './work-proofs.ts';

const LOCAL_MODELS = 'GATEWAY_LOCAL_MODELS';
/** Servers of this machine ask for none, and take any. */
const NO_CREDENTIAL = new Secret('none');

type Environment = Readonly<Record<string, string | undefined>>;

export interface ChecksParts extends Tools {
  readonly settings: { readonly environment: Environment; readonly localModels: readonly LocalServer[] };
}

/** What may be stored that calls are made with. It opens before those who store it. */
export const checksArea = area({
  name: 'checks',
  open: ({ egress, settings }: ChecksParts) => ({
    gives: {
      checkVirtualKey: checkVirtualKey(egress),
      checkConfig: checkConfigParts,
      optionNames: [...optionNames],
      environmentCredentials: environmentCredentials(settings.environment, settings.localModels),
    },
  }),
});

/** A virtual key for every provider whose variable is set, and for every model server of this machine that may be called. */
function environmentCredentials(
  environment: Environment,
  localModels: readonly LocalServer[],
): Map<string, EnvironmentCredential> {
  const found = new Map<string, EnvironmentCredential>();
  for (const { name, environment: variable } of providers) {
    const value = variable && secretIn(environment, variable);
    if (value) found.set(name, { slug: name, provider: name, variable, credential: new Secret(value) });
  }
  for (const server of localModels) {
    const { slug, provider } = server;
    found.set(slug, {
      slug,
      provider,
      variable: LOCAL_MODELS,
      credential: NO_CREDENTIAL,
      customHost: addressOf(server),
    });
  }
  return found;
}

type Given = 'limiter' | 'policies' | 'configs' | 'breakers' | 'outcomes' | 'cache' | 'virtualKeys';

export interface RelayParts extends Tools, Pick<RelayDeps, Given> {
  readonly responses: ResponseKeeper;
  readonly conversations: ConversationKeeper;
  readonly principalOf: (caller: WorkCaller) => Promise<Principal>;
  readonly log: RequestLog;
  readonly verifier: JwtVerifier;
  readonly guardrails: Guardrails;
  readonly guardrailDefaults: GuardrailDefaultsStore;
  readonly checkThreads: CheckThreads;
  readonly settings: Pick<RelayDeps, 'timeouts' | 'maxBodyBytes'> & {
    readonly plainModels: PlainModels;
    readonly hostedModels: { readonly imageGeneration: ServedBy | null; readonly webSearch: ServedBy | null };
  };
}

const THOUGHTS_SWEPT_MS = 3_600_000;

/** One model call, for clients and for the gateway's own work. */
export const relayArea = area({
  name: 'relay',
  open: (parts: RelayParts) => {
    const { store, sealer, egress, upstream, simulate, log, verifier, prices, now, turnNow, report } = parts;
    const { guardrails, guardrailDefaults, checkThreads, responses, limiter, policies, configs } = parts;
    const { breakers, outcomes, cache, virtualKeys } = parts;
    const { timeouts, maxBodyBytes, plainModels } = parts.settings;
    const tokens = createTokenSource({ send: (url, init) => fetchSmall(upstream, url, init), now });
    const { guard, bench } = openGuard({
      ...{ guardrails, guardrailDefaults, egress, upstream, verifier, checkThreads, now },
      callModel: () => callModel,
    });
    const counter = createTokens({ workerUrl: ownFile('core/token-worker') });
    const thoughts = createKeptThoughts({ store, sealer, now });
    const catalogue = createModelCatalogue({ virtualKeys, upstream, simulate, tokens, now: turnNow });
    const names = createModelNames({
      ...{ virtualKeys, prices, plainModels, now: turnNow },
      listOf: catalogue.listOf,
    });
    const proofs = createWorkProofs({ guard, configs, sealer });
    const keepers = { responses, conversations: parts.conversations };
    const hosted = createHosted({
      ...{ ...keepers, report, callModel: () => callModel },
      background: (made) =>
        createBackground({
          ...{ ...made, ...keepers, store, sealer, proofs, configs, now, report, callModel: () => callModel },
          ...{ workers: parts.workers, changes: parts.changes, principalOf: parts.principalOf },
        }),
    });
    const { imageGeneration, webSearch } = parts.settings.hostedModels;
    const serving = {
      callModel: () => callModel,
      resolveKey: async (who: Principal, slug: string) => virtualKeys.resolve(who, slug),
    };
    hosted.offer(IMAGE_GENERATION, createImageGeneration({ ...serving, by: imageGeneration }));
    for (const type of WEB_SEARCH_TYPES) hosted.offer(type, createWebSearch({ ...serving, by: webSearch }));
    const deps: RelayDeps = {
      hosted,
      compaction: createCompaction({ responses, sealer, now, callModel: () => callModel }),
      names,
      guard,
      responses,
      thoughts,
      limiter,
      policies,
      prices,
      configs,
      breakers,
      outcomes,
      cache,
      upstream,
      simulate,
      virtualKeys,
      tokens,
      counter,
      timeouts,
      maxBodyBytes,
      now: turnNow,
    };
    const callModel: CallModel = createCallModel({ relay: (call) => relay(call, deps), log, now, report });
    const dial = createDialSocket(egress);
    let lastInteractiveAt = Number.NEGATIVE_INFINITY;
    return {
      gives: {
        /** A call of a client. */
        relay: (call: ModelCall): Promise<Response> => {
          lastInteractiveAt = turnTime();
          return relay(call, deps);
        },
        /** A conversation of a client's in real time. */
        openRealtime: (call: RealtimeCall) => openRealtime(call, { ...deps, dial, log }),
        /** One whose sound goes past the gateway. */
        placeCall: (call: AskedCall) => placeCall(call, { ...deps, dial, log }),
        joinCall: (call: CallControl, protocols: readonly string[]) => joinCall(call, protocols, { dial, timeouts }),
        lastInteractiveAt: () => lastInteractiveAt,
        callModel,
        hosted,
        catalogue,
        names,
        guard,
        bench,
        tokens,
        counter,
        proofs,
        background: hosted.background,
      },
      work: [hosted.background.kind],
      sweepers: [() => startSweeper({ what: 'kept thoughts', everyMs: THOUGHTS_SWEPT_MS, sweep: thoughts.sweep })],
      ends: thoughtEndings(store),
      close: async () => counter.close(),
    };
  },
});
