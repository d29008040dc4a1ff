import { hostname } from 'node:os';
import { createAnswer } from './answer.ts';
import { type AssistantsApi, createAssistantsApi } from './assistants/api.ts';
import type { DocumentReader } from './assistants/documents/reader.ts';
import { createInterpreter } from './assistants/interpreter/interpreter.ts';
import type { Sandbox } from './assistants/interpreter/sandbox.ts';
import type { Tokens } from './assistants/tokens.ts';
import type { ChunkStore } from './assistants/vector-stores/search/chunk-store.ts';
import { createFileSearchParts } from './assistants/vector-stores/search/file-search.ts';
import { createFileSearch } from './assistants/vector-stores/search/tool.ts';
import { createVectorStores, type VectorStores } from './assistants/vector-stores/vector-stores.ts';
import type { Audit } from './audit/audit.ts';
import { createAuditing } from './audit/audited.ts';
import { type ApiKeys, createApiKeys } from './auth/api-keys.ts';
import { createAuthenticator } from './auth/authenticate.ts';
import { createJwtVerifier } from './auth/jwt-verify.ts';
import { createOrganisation, type OrganisationStore } from './auth/organisation.ts';
import { createPeople, type People } from './auth/people.ts';
import type { EnvironmentCredential } from './auth/virtual-key.ts';
import { createVirtualKeys, type VirtualKeys } from './auth/virtual-keys.ts';
import type { WorkCallers } from './auth/work-callers.ts';
import { createWorkspaceCaller } from './auth/workspace-caller.ts';
import { createWorkspaces, type Workspaces } from './auth/workspaces.ts';
import { type Batches, createBatches } from './batches/batches.ts';
import { batchesAbroad } from './batches/endings.ts';
import { Gates } from './batches/gates.ts';
import { accountFor } from './batches/native/account.ts';
import { Pace } from './batches/pace.ts';
import { oncePerTurn, turnTime } from './core/clock.ts';
import { guardrailsOf } from './core/guardrails.ts';
import type { Health } from './core/health.ts';
import type { OrganisationId } from './core/ids.ts';
import type { Prices } from './core/prices.ts';
import { Secret } from './core/secret.ts';
import type { Sealer } from './crypto/seal.ts';
import { createEndings, type EndingsOf } from './endings/endings.ts';
import type { Blobs } from './files/blobs.ts';
import { createFiles, type Files } from './files/files.ts';
import { createUploads, type Uploads } from './files/uploads.ts';
import { jobsAbroad } from './fine-tuning/endings.ts';
import { createFineTuning, type FineTuning } from './fine-tuning/fine-tuning.ts';
import type { CheckThreads } from './guardrails/check-threads.ts';
import type { GuardrailDefaultsStore } from './guardrails/defaults.ts';
import type { Guardrails } from './guardrails/guardrails.ts';
import type { EgressPolicy } from './http/egress.ts';
import { describeRoutes } from './http/openapi.ts';
import { PerAddress } from './http/per-address.ts';
import type { Route } from './http/route.ts';
import { createRouter } from './http/router.ts';
import type { Connection } from './http/server.ts';
import { fetchSmall, type Upstream } from './http/upstream.ts';
import { createModelCatalogue, type ModelCatalogue } from './inference/model-catalogue.ts';
import { createResponseStore, type ResponseStore } from './inference/responses-store.ts';
import type { Limiter } from './limits/limiter.ts';
import { createPolicies, type Policies } from './limits/policies/policies.ts';
import { recordConnected, recordFlagged } from './mcp/audit-notes.ts';
import { createMcp, type Mcp } from './mcp/mcp.ts';
import { createMcpLimits } from './mcp/policy/limits.ts';
import { rowOwners } from './owners.ts';
import { providers } from './providers/registry.ts';
import { createTokenSource } from './providers/tokens.ts';
import type { ModelCall } from './relay/call.ts';
import { checkConfigParts } from './relay/check-config.ts';
import { checkVirtualKey } from './relay/check-virtual-key.ts';
import { createGuards } from './relay/guarding/guards.ts';
import { type CallModel, createCallModel } from './relay/internal.ts';
import { createKeptThoughts, type KeptThoughts } from './relay/kept-thoughts.ts';
import { relay } from './relay/relay.ts';
import { createWorkProofs, type WorkProofs } from './relay/work-proofs.ts';
import { allRoutes } from './routes.ts';
import { createBreakers } from './routing/breaker.ts';
import { type CacheStore, createAnswerCache } from './routing/cache.ts';
import { type Configs, createConfigs } from './routing/configs.ts';
import type { Settings } from './settings.ts';
import type { Changes } from './storage/changes.ts';
import { groupedStore } from './storage/grouped.ts';
import type { Reader } from './storage/reader.ts';
import type { Store } from './storage/store.ts';
import { createFeedback, type Feedback } from './telemetry/feedback/feedback.ts';
import { createFeedbackGraphs, type FeedbackGraphs } from './telemetry/feedback/graphs.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { RequestLog } from './telemetry/request-log.ts';
import { version } from './version.ts';
import { deliveryKind } from './webhooks/delivery.ts';
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts';
import type { Kind } from './work/work.ts';
import { createWorkers, type Workers } from './work/workers.ts';

/** What the app is built from. Tests give their own. */
export interface AppDeps {
  readonly settings: Settings;
  readonly store: Store;
  /** Asks the store what takes its time. */
  readonly reader: Reader;
  readonly changes: Changes;
  /** Where the bytes of files lie. */
  readonly blobs: Blobs;
  /** Where the chunks of vector stores lie and are found. */
  readonly chunks: ChunkStore;
  readonly health: Health;
  readonly sealer: Sealer;
  readonly egress: EgressPolicy;
  readonly upstream: Upstream;
  readonly simulate: (request: Request) => Promise<Response>;
  /** Where code of models runs. Null: nowhere. */
  readonly sandbox: Sandbox | null;
  /** Counts tokens of texts. */
  readonly tokenCounts: Tokens;
  readonly checkThreads: CheckThreads;
  /** Makes text of files. */
  readonly documents: DocumentReader;
  readonly log: RequestLog;
  readonly audit: Pick<Audit, 'trail' | 'reading'>;
  readonly metrics: Metrics;
  readonly limiter: Limiter;
  readonly prices: Prices;
  /** Where answers are kept for configs that ask for it. */
  readonly answers: CacheStore;
  /** The organisation of this installation. */
  readonly organisationId: OrganisationId;
  /** Where clients reach this gateway; the settings' own unless its port is chosen by the system. */
  readonly publicUrl?: () => string;
  readonly now?: () => number;
  readonly report?: (requestId: string, error: unknown) => void;
}

/** What the routes are built from. */
export interface Parts extends Omit<AssistantsApi, 'kinds'>, People {
  readonly store: Store;
  readonly health: Health;
  readonly log: RequestLog;
  readonly feedback: Feedback;
  readonly feedbackGraphs: FeedbackGraphs;
  readonly auditLog: Audit['reading'];
  readonly metrics: Metrics;
  readonly organisation: OrganisationStore;
  readonly workspaces: Workspaces;
  readonly apiKeys: ApiKeys;
  readonly virtualKeys: VirtualKeys;
  readonly policies: Policies;
  readonly configs: Configs;
  readonly guardrails: Guardrails;
  readonly guardrailDefaults: GuardrailDefaultsStore;
  readonly proofs: WorkProofs;
  readonly principalOf: WorkCallers['principalOf'];
  readonly responses: ResponseStore;
  readonly files: Files;
  readonly uploads: Uploads;
  readonly fineTuning: FineTuning;
  readonly batches: Batches;
  readonly vectorStores: VectorStores;
  readonly webhooks: Webhooks;
  readonly endings: EndingsOf;
  readonly mcp: Mcp;
  readonly mcpServers: Mcp['servers'];
  readonly mcpCapabilities: Mcp['capabilities'];
  readonly relay: (call: ModelCall) => Promise<Response>;
  readonly catalogue: ModelCatalogue;
  readonly version: string;
  readonly openapi: () => unknown;
}

export interface App {
  readonly routes: readonly Route[];
  readonly workers: Workers;
  readonly callModel: CallModel;
  readonly responses: ResponseStore;
  readonly thoughts: KeptThoughts;
  readonly feedback: Feedback;
  /** Whose each table is. */
  readonly owners: EndingsOf['all'];
  /** Answers one request; never throws. */
  answer(request: Request, clientAddress: string, connection: Connection): Promise<Response>;
}

/** Puts the parts together. Does no input or output of its own. */
export function createApp(deps: AppDeps): App {
  const {
    settings,
    store,
    reader,
    changes,
    blobs,
    chunks,
    health,
    sealer,
    egress,
    upstream,
    simulate,
    sandbox,
    tokenCounts,
    checkThreads,
    documents,
    log,
    audit,
    metrics,
    limiter,
    prices,
    answers,
    organisationId,
    publicUrl = () => settings.publicUrl,
    now = Date.now,
    report = reportToStderr,
  } = deps;

  const changingKeys: Store['transaction'] = (work, who) => changes.transaction('keys', work, who);
  // What every call asks for the time; whoever measures takes `now`.
  const turnNow = oncePerTurn(now);
  const authenticator = createAuthenticator({ store, now: turnNow });
  const virtualKeys = createVirtualKeys({
    store,
    transaction: changingKeys,
    sealer,
    check: checkVirtualKey(egress),
    environment: environmentCredentials(settings.environment),
    budgets: limiter,
    now: turnNow,
  });
  const policies = createPolicies({
    store,
    budgets: limiter,
    now: turnNow,
    transaction: (work, who) => changes.transaction('policies', work, who),
  });
  changes.subscribe('keys', () => {
    authenticator.forget();
    virtualKeys.forget();
    policies.forget();
  });
  changes.subscribe('policies', () => policies.forget());
  const tokens = createTokenSource({ send: (url, init) => fetchSmall(upstream, url, init), now });

  const { timeouts, maxBodyBytes } = settings;
  const configs = createConfigs({ store, sealer, changes, now, optionNames, check: checkConfigParts });
  const files = createFiles({ store, blobs, now, detach: (db, id) => vectorStores.files.detach(db, id) });
  const verifier = createJwtVerifier({ fetch: (url, init) => fetchSmall(upstream, url, init), now });
  const people = createPeople({
    store,
    changes,
    sealer,
    authenticator,
    verifier,
    fetch: (url, init) => fetchSmall(upstream, url, init),
    egress,
    note: audit.trail.note,
    provider: settings.oidc,
    organisationId,
    publicUrl,
    now,
  });
  const { guard, guardrails, guardrailDefaults } = createGuards({
    ...{ store, sealer, changes, egress, upstream, verifier, checkThreads, now },
    callModel: () => callModel,
  });
  const mcp = createMcp({
    store,
    sealer,
    changes,
    egress,
    upstream,
    authenticator,
    verifier,
    tokens,
    people: { ...people, hasIdentityProvider: settings.oidc !== null, oidcProvider: settings.oidc },
    oauth: settings.oauth,
    timeouts,
    maxBodyBytes,
    publicUrl,
    allowedOrigins: settings.allowedOrigins,
    signingKey: settings.jwtPrivateKey?.reveal() ?? null,
    extraPublicKeys: settings.jwtPublicKeysExtra,
    limits: createMcpLimits({ limiter, policies }),
    guard,
    resolveGuardrail: guardrails.resolve,
    flagged: recordFlagged(audit.trail.note),
    connected: recordConnected(audit.trail.note),
    version,
    now,
  });
  const breakers = createBreakers({ now });
  const cache = createAnswerCache({ store: answers, now });
  const responses = createResponseStore({ store, now, mostBytes: maxBodyBytes });
  const thoughts = createKeptThoughts({ store, sealer, now });
  const feedback = createFeedback({ store, now });
  const relayDeps = {
    guard,
    responses,
    thoughts,
    limiter,
    policies,
    prices,
    configs,
    breakers,
    cache,
    upstream,
    simulate,
    virtualKeys,
    tokens,
    timeouts,
    maxBodyBytes,
    now: turnNow,
  };

  const proofs = createWorkProofs({ guard, configs, sealer });
  const callModel: CallModel = createCallModel({ relay: (call) => relay(call, relayDeps), log, now, report });
  /** What this process does beside answering; each area gives its own. */
  const kinds: Kind[] = [];
  const webhooks = createWebhooks({ store, sealer, egress, workers: () => workers, now });
  kinds.push(deliveryKind({ store, sealer, upstream, random: Math.random, now }));
  const workspaceCaller = createWorkspaceCaller({ store, now });
  changes.subscribe('keys', () => workspaceCaller.forget());
  let lastInteractiveAt = Number.NEGATIVE_INFINITY;
  const batches = createBatches({
    store,
    files,
    callModel,
    proofs,
    gates: new Gates({
      most: settings.batchRequests * 2,
      pace: new Pace({ lastInteractiveAt: () => lastInteractiveAt }),
    }),
    principalOf: people.workCallers.principalOf,
    workers: () => workers,
    mostInFlight: settings.batchRequests,
    workspaceAsCaller: workspaceCaller.find,
    account: accountFor({ limiter, prices }),
    limits: { policies, holds: limiter.work, prices },
    native: { virtualKeys, upstream, simulate, tokens, now },
    notify: webhooks.notify,
    isGuarded: async (who) => {
      const { input, output } = await guardrailDefaults.of(who);
      return input.length + output.length > 0 || guardrailsOf([who.defaults]) !== undefined;
    },
    now,
  });
  kinds.push(...batches.kinds);
  // Runs write often and little, and many of them at once.
  const grouped = groupedStore(store);
  const fileSearch = createFileSearchParts({
    ...{ store: grouped, chunks, callModel, health, now },
    embeddings: settings.embeddings,
    workspaceAsCaller: workspaceCaller.find,
    resolveKey: async (who, slug) => virtualKeys.resolve(who, slug),
  });
  const vectorStores = createVectorStores({
    store: grouped,
    files,
    ...fileSearch,
    reader: documents,
    workers: () => workers,
    proofs,
    now,
  });
  kinds.push(...vectorStores.kinds);
  const { kinds: assistantKinds, ...assistantsApi } = createAssistantsApi({
    store: grouped,
    changes,
    files,
    callModel,
    proofs,
    principalOf: people.workCallers.principalOf,
    workers: () => workers,
    metrics,
    tokens: tokenCounts,
    runSeconds: settings.runSeconds,
    builtIns: {
      file_search: createFileSearch({
        store: grouped,
        search: fileSearch.search,
        used: vectorStores.stores.touch,
        now,
      }),
      ...(sandbox && {
        code_interpreter: createInterpreter({
          store: grouped,
          files,
          sandbox,
          cellSeconds: settings.interpreter.cellSeconds,
          memoryMb: settings.interpreter.memoryMb,
          report: (problem) => report('of a code interpreter', new Error(problem)),
          now,
        }),
      }),
    },
    now,
  });
  kinds.push(...assistantKinds);
  const fineTuning = createFineTuning({
    store,
    files,
    virtualKeys,
    upstream,
    simulate,
    tokens,
    workspaceAsCaller: workspaceCaller.find,
    workers: () => workers,
    notify: webhooks.notify,
    random: Math.random,
    now,
  });
  kinds.push(fineTuning.kind);
  const endings = createEndings({
    store,
    sealer,
    areas: rowOwners({
      ...{ store, blobs, chunks, log },
      detach: (db, id) => vectorStores.files.detach(db, id),
      workers: () => workers,
    }),
    abroad: [
      batchesAbroad({ store, native: { virtualKeys, upstream, simulate, tokens, now } }),
      jobsAbroad({ store, upstream, simulate, tokens, now }),
    ],
    virtualKeys,
    workspaceAsCaller: workspaceCaller.find,
    findPerson: people.users.findToForget,
    transaction: changingKeys,
    changes,
    workers: () => workers,
    now,
  });
  kinds.push(endings.kind);
  const workers = createWorkers({
    store: grouped,
    node: `${hostname()}-${process.pid}`,
    kinds,
    onError: report,
    wake: changes,
    isAlone: store.engine === 'sqlite',
  });

  const routes: Route[] = [];
  const description = () => describeRoutes(routes, { version, publicUrl: settings.publicUrl });
  let described: unknown;
  routes.push(
    ...allRoutes({
      ...assistantsApi,
      store,
      health,
      log,
      feedback,
      feedbackGraphs: createFeedbackGraphs({ store, reader }),
      auditLog: audit.reading,
      ...people,
      metrics,
      organisation: createOrganisation({ store, transaction: changingKeys }),
      workspaces: createWorkspaces({
        store,
        transaction: changingKeys,
        budgets: limiter,
        end: endings.endWorkspace,
      }),
      apiKeys: createApiKeys({ store, transaction: changingKeys, budgets: limiter }),
      virtualKeys,
      policies,
      configs,
      guardrails,
      guardrailDefaults,
      proofs,
      principalOf: people.workCallers.principalOf,
      responses,
      files,
      uploads: createUploads({ store, blobs, files, now }),
      fineTuning,
      mcp,
      mcpServers: mcp.servers,
      mcpCapabilities: mcp.capabilities,
      batches,
      vectorStores,
      webhooks,
      endings,
      relay: (call) => {
        lastInteractiveAt = turnTime();
        return relay(call, relayDeps);
      },
      catalogue: createModelCatalogue(relayDeps),
      version,
      openapi: () => {
        described ??= description();
        return described;
      },
    }),
  );
  const match = createRouter(routes);
  return {
    routes,
    workers,
    callModel,
    responses,
    thoughts,
    feedback,
    owners: endings.all,
    answer: createAnswer({
      match,
      callers: people.callers,
      log,
      audit: createAuditing({
        trail: audit.trail,
        routes,
        organisationId,
        countryHeader: settings.countryHeader,
        hasCountryTable: settings.hasCountryTable,
        now,
      }),
      organisationId,
      headerAliases: settings.headerAliases,
      clientAddressHeader: settings.clientAddressHeader,
      bodyPauseMs: settings.bodyPauseMs,
      perAddress: settings.connectionsPerAddress > 0 ? new PerAddress(settings.connectionsPerAddress) : null,
      onTurnedAway: metrics.turnedAway,
      now: turnNow,
      report,
    }),
  };
}

const optionNames = [...new Set(providers.flatMap(({ options = [] }) => options))];

/** A virtual key for every provider whose variable is set. */
function environmentCredentials(environment: Settings['environment']): Map<string, EnvironmentCredential> {
  const found = new Map<string, EnvironmentCredential>();
  for (const { name, environment: variable } of providers) {
    const value = variable && environment[variable]?.trim();
    if (value) found.set(name, { provider: name, variable, credential: new Secret(value) });
  }
  return found;
}

function reportToStderr(requestId: string, error: unknown) {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`request ${requestId} failed inside the gateway: ${text}\n`);
}
