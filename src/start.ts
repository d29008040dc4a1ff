import { join } from 'node:path';
import type { Simulator } from '../simulator/simulator.ts';
import { type App, createApp } from './app.ts';
import { createDocumentReader } from './assistants/documents/reader.ts';
import { fencesFor, missingFences } from './assistants/interpreter/fences.ts';
import { findSandbox } from './assistants/interpreter/find.ts';
import { SandboxPool } from './assistants/interpreter/sandbox.ts';
import { createTokens } from './assistants/tokens.ts';
import { openChunks } from './assistants/vector-stores/search/open-chunks.ts';
import { startChunkSweeper } from './assistants/vector-stores/search/sweeper.ts';
import { openAudit } from './audit/audit.ts';
import { openWitnesses } from './audit-witnesses.ts';
import { bootstrap, hasAdminKey } from './auth/bootstrap.ts';
import { type AdminKey, adminKeyIn, encryptionKeyIn, lockDataDir, openDataDir } from './cli/data-dir.ts';
import { GatewayError } from './core/errors.ts';
import { createHealth, HEALTH_PARTS, type Health } from './core/health.ts';
import { builtInPrices } from './core/prices.ts';
import { ownFile } from './core/program.ts';
import { createSealer } from './crypto/seal.ts';
import { openBlobs } from './files/open-blobs.ts';
import { startFileSweeper } from './files/sweeper.ts';
import { createCheckThreads } from './guardrails/check-threads.ts';
import { createEgressPolicy } from './http/egress.ts';
import { replyWithError } from './http/reply.ts';
import type { Route } from './http/route.ts';
import { listen, type Server, silent, tryAddress } from './http/server.ts';
import { createUpstream } from './http/upstream.ts';
import { startResponsesSweeper } from './inference/responses-sweeper.ts';
import { recordAlarms } from './limits/alarm-notes.ts';
import type { Settings } from './settings.ts';
import { openState } from './state.ts';
import { createChanges } from './storage/changes.ts';
import { startCheckpoints } from './storage/checkpoints.ts';
import { openReader } from './storage/reader.ts';
import { connectRedis } from './storage/redis.ts';
import { openStore } from './storage/store.ts';
import { watchStore } from './storage/watch-store.ts';
import { startFeedbackSweeper } from './telemetry/feedback/sweeper.ts';
import { migrateSqliteLog } from './telemetry/log-migrate.ts';
import { openLogPort } from './telemetry/log-port.ts';
import type { LogTarget } from './telemetry/log-store.ts';
import type { LogOutcome } from './telemetry/log-writer.ts';
import { createMetrics, type Metrics } from './telemetry/metrics.ts';
import { openPricesFile } from './telemetry/prices-file.ts';
import { createRequestLog } from './telemetry/request-log.ts';
import { version } from './version.ts';

export interface Gateway {
  readonly server: Server;
  readonly routes: readonly Route[];
  /** Whose each table is. */
  readonly owners: App['owners'];
  readonly adminKey: AdminKey | null;
  /** Lets open requests finish, flushes the log, closes the store. */
  stop(): Promise<{ cut: number }>;
}

export interface StartOptions {
  /** False: background work only, and the server is a silent one. */
  readonly listen?: boolean;
}

/** Settings → data dir → store → app → listen. */
export async function start(settings: Settings, { listen: isListening = true }: StartOptions = {}): Promise<Gateway> {
  const health = createHealth({ now: Date.now });
  // Whatever may refuse comes first: a key that is made by a start that fails would never be shown.
  const egress = createEgressPolicy({ trustedHosts: [...settings.trustedCustomHosts] });
  const prices = settings.pricesFile
    ? await openPricesFile({ path: settings.pricesFile, onProblem: reportPrices(health) })
    : null;
  openDataDir(settings.dataDir);
  const lock = settings.databaseUrl ? null : lockDataDir(settings.dataDir);
  // Processes that share a port were started by one that has tried it.
  const isOneOfSeveral = settings.processNumber !== null;
  if (isListening && !isOneOfSeveral) await tryAddress(settings.host, settings.port);
  const sealer = createSealer(encryptionKeyIn(settings.dataDir, settings.encryptionKey));
  const databaseUrl = settings.databaseUrl?.reveal() ?? null;
  const store = await openStore({ databaseUrl, dataDir: settings.dataDir });
  await whenStoreAnswers(() => store.migrate());
  const adminKey = adminKeyIn(settings.dataDir, settings.adminKey, { mayGenerate: !(await hasAdminKey(store.db)) });
  const { organisationId } = await bootstrap(store, sealer, {
    adminKey: adminKey?.key.reveal() ?? null,
    now: Date.now(),
  });

  const metrics = createMetrics({ version, startedAt: Date.now() });
  metrics.gauges('gateway_degraded', '1 while a part is worse than it should be.', 'part', () => {
    const degraded = new Set(health.snapshot().map(({ part }) => part));
    return HEALTH_PARTS.map((part) => [part, degraded.has(part) ? 1 : 0] as const);
  });
  const changes = createChanges({ store, databaseUrl, health });
  const logTarget: LogTarget = databaseUrl
    ? { engine: 'postgres', url: databaseUrl }
    : { engine: 'sqlite', file: join(settings.dataDir, 'logs.db') };
  // Its thread would do it, too, and load for that what it never needs again.
  if (logTarget.engine === 'sqlite') await migrateSqliteLog(logTarget.file).catch(() => {});
  const log = createRequestLog({
    worker: openLogPort({
      workerUrl: ownFile('telemetry/log-worker'),
      target: logTarget,
      dataDir: settings.dataDir,
      retentionDays: settings.logRetentionDays,
      onOutcome: (outcome) => reportLog(outcome, metrics, health),
    }),
    metrics,
    prices: prices ?? builtInPrices,
    now: () => performance.now(),
    bodies: { enabled: settings.logBodies, capBytes: settings.logBodyBytes },
  });
  const redis = settings.redisUrl ? connectRedis(settings.redisUrl.reveal()) : null;
  const upstream = createUpstream({ egress });
  const audit = await openAudit({
    store,
    sealer,
    health,
    dataDir: settings.dataDir,
    queryWorker: ownFile('storage/query-worker'),
    witnesses: openWitnesses(settings.auditWitnesses, { upstream, redis, organisationId, now: Date.now }),
    now: Date.now,
    onLeftOut: () => metrics.leftOut('audit'),
  });
  const alarm = recordAlarms(audit.trail.note, organisationId);
  const state = await openState(settings, { store, changes, health, redis, alarm });
  const sandbox = await openSandbox(settings);
  const blobs = openBlobs({ s3: settings.blobs, store, dataDir: settings.dataDir, upstream });
  const chunks = openChunks({
    store,
    databaseUrl,
    dataDir: settings.dataDir,
    workerUrl: ownFile('assistants/vector-stores/search/search-worker'),
  });
  const tokenCounts = createTokens({ workerUrl: ownFile('assistants/token-worker') });
  const checkThreads = createCheckThreads({ workerUrl: ownFile('guardrails/check-worker') });
  const documents = createDocumentReader();
  const asked = { store, dataDir: settings.dataDir, workerUrl: ownFile('storage/query-worker') };
  const reader = openReader(asked);
  const checkpoints = await startCheckpoints(asked);
  const { answer, routes, workers, responses, thoughts, feedback, owners } = createApp({
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
    limiter: state.limiter,
    prices: prices ?? builtInPrices,
    answers: state.answers,
    organisationId,
    // Port 0 is whatever the system gives.
    publicUrl: () => (new URL(settings.publicUrl).port === '0' ? server.url : settings.publicUrl),
  });
  await changes.start();
  await workers.start();
  const watch = watchStore({ store, health });
  const fileSweeper = startFileSweeper({ store, blobs });
  const chunkSweeper = startChunkSweeper({ store, chunks });
  const responsesSweeper = startResponsesSweeper({
    sweep: async (signal) => (await responses.sweep(signal)) + (await thoughts.sweep(signal)),
  });
  const feedbackSweeper = startFeedbackSweeper({
    sweep: feedback.sweep,
    retentionDays: settings.logRetentionDays,
    now: Date.now,
  });
  const server = isListening
    ? listen({
        host: settings.host,
        port: settings.port,
        isShared: isOneOfSeveral,
        answer,
        refuse: () => replyWithError(new GatewayError('shutting_down', [], { connection: 'close' })),
      })
    : silent;
  return {
    server,
    routes,
    owners,
    adminKey,
    stop: async () => {
      const outcome = await server.stop(settings.shutdownSeconds * 1_000);
      await workers.stop(settings.shutdownSeconds * 1_000);
      await sandbox?.stop();
      watch.stop();
      await fileSweeper.stop();
      await chunkSweeper.stop();
      chunks.close();
      await responsesSweeper.stop();
      await feedbackSweeper.stop();
      reader.close();
      checkpoints.stop();
      tokenCounts.close();
      checkThreads.close();
      documents.close();
      await log.flush();
      await state.close();
      await audit.close();
      redis?.close();
      await changes.close();
      await log.close();
      await store.close();
      prices?.close();
      lock?.release();
      return outcome;
    },
  };
}

const reportPrices = (health: Health) => (problem: string | null) => {
  if (problem === null) health.well('prices');
  else health.degraded('prices', 'The file of prices cannot be used: the prices before its last change stay.');
  process.stderr.write(
    problem === null
      ? 'GATEWAY_PRICES_FILE is in force again.\n'
      : `GATEWAY_PRICES_FILE: ${problem}; the prices before it stay.\n`,
  );
};

function reportLog(outcome: Partial<LogOutcome>, metrics: Metrics, health: Health) {
  const { written = 0, spooled = 0, dropped = 0, bodiesDropped = 0 } = outcome;
  metrics.logged('written', written);
  metrics.logged('spooled', spooled);
  metrics.logged('dropped', dropped);
  metrics.bodiesDropped(bodiesDropped);
  if (dropped > 0)
    health.degraded('log', 'Entries of the request log are being lost: neither store nor disk takes them.');
  else if (spooled > 0) health.degraded('log', 'Entries of the request log wait on disk until the store takes them.');
  else if (written > 0) health.well('log');
}

/** Null when it is switched off, or when there is nothing to run code with. */
async function openSandbox({ interpreter, dataDir }: Settings): Promise<SandboxPool | null> {
  const found = interpreter.isOn ? findSandbox(interpreter) : null;
  // An operator who names a place for it wants to have it.
  if (found && 'problem' in found && (interpreter.deno ?? interpreter.pyodide ?? interpreter.wheels) !== null)
    process.stderr.write(`Warning: code of models cannot be run: ${found.problem}.\n`);
  if (!found || !('place' in found)) return null;
  const missing = interpreter.areFencesRequired ? missingFences(await fencesFor(found.place.deno)) : [];
  for (const fence of missing)
    process.stderr.write(
      `Warning: code of models is not run: GATEWAY_INTERPRETER_FENCES is required, and the fence around ${fence.name} is missing (${fence.missing}).\n`,
    );
  if (missing.length > 0) return null;
  return new SandboxPool({ ...interpreter, ...found.place, folder: join(dataDir, 'interpreter') });
}

let simulator: Promise<Simulator> | null = null;

/** Loaded with the first call to it, so that an installation with real providers only does without its memory. */
async function simulate(request: Request): Promise<Response> {
  simulator ??= import('../simulator/simulator.ts').then(({ createSimulator }) => createSimulator());
  return (await simulator).simulate(request);
}

/** A database that is restarted together with us gets half a minute to come up. */
async function whenStoreAnswers<Result>(work: () => Promise<Result>): Promise<Result> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isAway = error instanceof GatewayError && error.code === 'store_unavailable';
      if (!isAway || Date.now() > deadline) throw isAway ? unreachable(error) : error;
      await Bun.sleep(500);
    }
  }
}

const unreachable = (error: Error) =>
  new Error(
    `DATABASE_URL: the database does not answer (${(error.cause as Error | undefined)?.message ?? error.message}).`,
  );
