import type { Simulator } from '../simulator/simulator.ts';
import { type App, type AppOptions, openApp } from './app.ts';
import { openWitnesses } from './audit-witnesses.ts';
import { bootstrap, hasAdminKey } from './auth/bootstrap.ts';
import { newOwnerToken } from './auth/first-owner.ts';
import { type AdminKey, adminKeyIn, encryptionKeyIn, lockDataDir, openDataDir } from './cli/data-dir.ts';
import { oncePerTurn } from './core/clock.ts';
import { GatewayError } from './core/errors.ts';
import { createHealth, HEALTH_PARTS, type Health } from './core/health.ts';
import { ownFile } from './core/program.ts';
import { createSealer } from './crypto/seal.ts';
import { createEgressPolicy } from './http/egress.ts';
import { openCertificate } from './http/own-certificate.ts';
import { replyWithError } from './http/reply.ts';
import type { Route } from './http/route.ts';
import { listen, type Server, silent, tryAddress } from './http/server.ts';
import { createUpstream } from './http/upstream.ts';
import type { Settings } from './settings.ts';
import { createChanges } from './storage/changes.ts';
import { startCheckpoints } from './storage/checkpoints.ts';
import { groupedStore } from './storage/grouped.ts';
import { refuseHalfMoved, refuseMoved } from './storage/move-mark.ts';
import { connectRedis } from './storage/redis.ts';
import { openStore } from './storage/store.ts';
import { watchStore } from './storage/watch-store.ts';
import { createLivePrices, followSynced } from './telemetry/live-prices.ts';
import { watchLoop } from './telemetry/metrics/event-loop.ts';
import { createMetrics, type Metrics } from './telemetry/metrics/metrics.ts';
import type { Siblings } from './telemetry/metrics/node.ts';
import { syncedPrices } from './telemetry/price-sync.ts';
import { openPricesFile } from './telemetry/prices-file.ts';
import { version } from './version.ts';

export interface Gateway {
  readonly server: Server;
  readonly routes: readonly Route[];
  /** Those of WebSockets. */
  readonly sockets: readonly Route[];
  /** Whose each table is. */
  readonly owners: App['owners'];
  /** What is counted. */
  readonly families: Metrics['families'];
  readonly adminKey: AdminKey | null;
  /** A link that makes the first owner; null: there is one. */
  ownerLink(): Promise<string | null>;
  /** Lets open requests finish, flushes the log, closes the store. */
  stop(): Promise<{ cut: number }>;
}

export interface StartOptions extends AppOptions {
  /** False: background work only, and the server is a silent one. */
  readonly listen?: boolean;
  /** The other processes that share the port. */
  readonly siblings?: Siblings | null;
}

/** Settings → data dir → store → app → listen. */
export async function start(
  settings: Settings,
  { listen: isListening = true, siblings = null, without }: StartOptions = {},
): Promise<Gateway> {
  const { dataDir } = settings;
  const health = createHealth({ now: Date.now });
  // Whatever may refuse comes first: a key that is made by a start that fails would never be shown.
  const egress = createEgressPolicy({
    trustedHosts: [...settings.trustedCustomHosts],
    proxy: settings.egressProxy,
  });
  const prices = createLivePrices();
  const pricesFile = settings.pricesFile
    ? await openPricesFile({
        path: settings.pricesFile,
        onProblem: reportPrices(health),
        onFile: (file) => prices.lay('operator', file),
      })
    : null;
  const certificate =
    isListening && settings.certificate
      ? await openCertificate(settings.certificate, {
          onChange: (next) => server.renew(next),
          onProblem: reportCertificate,
        })
      : null;
  openDataDir(dataDir);
  if (!settings.databaseUrl) refuseMoved(dataDir);
  const lock = settings.databaseUrl ? null : lockDataDir(dataDir);
  // Processes that share a port were started by one that has tried it.
  const isOneOfSeveral = settings.processNumber !== null;
  if (isListening && !isOneOfSeveral) await tryAddress(settings.host, settings.port);
  const sealer = createSealer(encryptionKeyIn(dataDir, settings.encryptionKey));
  const databaseUrl = settings.databaseUrl?.reveal() ?? null;
  const store = await openStore({ databaseUrl, dataDir });
  await whenStoreAnswers(() => store.migrate());
  await refuseHalfMoved(store.db);
  const adminKey = adminKeyIn(dataDir, settings.adminKey, { mayGenerate: !(await hasAdminKey(store.db)) });
  const { organisationId } = await bootstrap(store, sealer, {
    adminKey: adminKey?.key.reveal() ?? null,
    now: Date.now(),
  });

  const metrics = createMetrics({
    ...{ version, startedAt: Date.now(), siblings },
    mostCallers: settings.metricsCallers,
  });
  metrics.gauges('gateway_degraded', '1 while a part is worse than it should be.', 'part', () => {
    const degraded = new Set(health.snapshot().map(({ part }) => part));
    return HEALTH_PARTS.map((part) => [part, degraded.has(part) ? 1 : 0] as const);
  });
  health.noteBy(() => unpricedNote(metrics.unpricedCalls));
  health.noteBy(() => cappedNote(metrics.cappedLabels));
  const loop = watchLoop(metrics);
  const changes = createChanges({ store, databaseUrl, health });
  const synced = followSynced(prices, () => syncedPrices(store.db));
  await synced.refresh();
  changes.subscribe('prices', () => void synced.refresh());
  const redis = settings.redisUrl ? connectRedis(settings.redisUrl.reveal()) : null;
  const upstream = createUpstream({ egress });
  const now = Date.now;
  const checkpoints = await startCheckpoints({ store, dataDir, workerUrl: ownFile('storage/query-worker') });
  // Port 0 is whatever the system gives.
  const publicUrl = () => (new URL(settings.publicUrl).port === '0' ? server.url : settings.publicUrl);
  const app = await openApp(
    {
      ...{ settings, store, databaseUrl, dataDir, redis, changes, health, sealer, egress, upstream, simulate },
      ...{ metrics, organisationId, version, now, report: reportToStderr },
      groupedStore: groupedStore(store),
      prices,
      witnesses: openWitnesses(settings.auditWitnesses, { upstream, redis, organisationId, now }),
      publicUrl,
      turnNow: oncePerTurn(now),
    },
    { without },
  );
  await app.start();
  const watch = watchStore({ store, health });
  const server: Server = isListening
    ? listen({
        certificate: certificate?.current,
        host: settings.host,
        port: settings.port,
        isShared: isOneOfSeveral,
        answer: app.answer,
        refuse: () => replyWithError(new GatewayError('shutting_down', [], { connection: 'close' })),
      })
    : silent;
  store.hurry();
  return {
    server,
    routes: app.routes,
    sockets: app.sockets,
    owners: app.owners,
    families: metrics.families,
    adminKey,
    ownerLink: async () => {
      const token = await whenStoreAnswers(() => newOwnerToken(store, now()));
      return token && `${publicUrl()}/console/#owner=${token}`;
    },
    stop: async () => {
      certificate?.close();
      app.leave();
      const outcome = await server.stop(settings.shutdownSeconds * 1_000);
      await app.stop(settings.shutdownSeconds * 1_000);
      watch.stop();
      loop.stop();
      checkpoints.stop();
      redis?.close();
      await changes.close();
      await store.close();
      pricesFile?.close();
      synced.close();
      lock?.release();
      return outcome;
    },
  };
}

/** Without the models: `/health` is public. */
const unpricedNote = (calls: number): string | null =>
  calls === 0
    ? null
    : `The price of ${calls} calls since the start is not known, so they cost nothing in the log and in budgets that allow them. The metric gateway_unpriced_calls_total names their models.`;

/** Without the values: callers and models are not for the public. */
const cappedNote = (labels: readonly string[]): string | null =>
  labels.length === 0
    ? null
    : `Metrics count more than they tell apart: what is beyond the bound of ${labels.join(' and ')} is counted as "other". The metric gateway_metrics_capped_total says how often.`;

const reportPrices = (health: Health) => (problem: string | null) => {
  if (problem === null) health.well('prices');
  else health.degraded('prices', 'The file of prices cannot be used: the prices before its last change stay.');
  process.stderr.write(
    problem === null
      ? 'GATEWAY_PRICES_FILE is in force again.\n'
      : `GATEWAY_PRICES_FILE: ${problem}; the prices before it stay.\n`,
  );
};

const reportCertificate = (problem: string | null) =>
  void process.stderr.write(
    problem === null ? 'The certificate can be used again.\n' : `${problem} The certificate before it stays.\n`,
  );

function reportToStderr(requestId: string, error: unknown) {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`request ${requestId} failed inside the gateway: ${text}\n`);
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
