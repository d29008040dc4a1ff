import { join } from 'node:path';
import type { Simulator } from '../simulator/simulator.ts';
import { createApp } from './app.ts';
import { bootstrap, hasAdminKey } from './auth/bootstrap.ts';
import { type AdminKey, adminKeyIn, encryptionKeyIn, lockDataDir, openDataDir } from './cli/data-dir.ts';
import { GatewayError } from './core/errors.ts';
import { createSealer } from './crypto/seal.ts';
import { createEgressPolicy } from './http/egress.ts';
import { replyWithError } from './http/reply.ts';
import type { Route } from './http/route.ts';
import { listen, type Server, tryAddress } from './http/server.ts';
import { createUpstream } from './http/upstream.ts';
import type { Settings } from './settings.ts';
import { openStore } from './storage/store.ts';
import { openLogPort } from './telemetry/log-port.ts';
import { createMetrics } from './telemetry/metrics.ts';
import { createRequestLog } from './telemetry/request-log.ts';
import { version } from './version.ts';

export interface Gateway {
  readonly server: Server;
  readonly routes: readonly Route[];
  readonly adminKey: AdminKey | null;
  /** Lets open requests finish, flushes the log, closes the store. */
  stop(): Promise<{ cut: number }>;
}

/** Settings → data dir → store → app → listen. */
export async function start(settings: Settings, { logWorker }: { logWorker: URL | string }): Promise<Gateway> {
  // Whatever may refuse comes first: a key that is made by a start that fails would never be shown.
  const egress = createEgressPolicy({ trustedHosts: [...settings.trustedCustomHosts] });
  openDataDir(settings.dataDir);
  const lock = settings.databaseUrl ? null : lockDataDir(settings.dataDir);
  await tryAddress(settings.host, settings.port);
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
  const log = createRequestLog({
    worker: openLogPort({
      workerUrl: logWorker,
      target: databaseUrl
        ? { engine: 'postgres', url: databaseUrl }
        : { engine: 'sqlite', file: join(settings.dataDir, 'logs.db') },
      dataDir: settings.dataDir,
      retentionDays: settings.logRetentionDays,
      onOutcome: ({ written = 0, spooled = 0, dropped = 0, bodiesDropped = 0 }) => {
        metrics.logged('written', written);
        metrics.logged('spooled', spooled);
        metrics.logged('dropped', dropped);
        metrics.bodiesDropped(bodiesDropped);
      },
    }),
    metrics,
    now: () => performance.now(),
    bodies: { enabled: settings.logBodies, capBytes: settings.logBodyBytes },
  });
  const { answer, routes } = createApp({
    settings,
    store,
    sealer,
    egress,
    upstream: createUpstream({ egress }),
    simulate,
    log,
    metrics,
    organisationId,
  });
  const server = listen({
    host: settings.host,
    port: settings.port,
    answer,
    refuse: () => replyWithError(new GatewayError('shutting_down', [], { connection: 'close' })),
  });
  return {
    server,
    routes,
    adminKey,
    stop: async () => {
      const outcome = await server.stop(settings.shutdownSeconds * 1_000);
      await log.close();
      await store.close();
      lock?.release();
      return outcome;
    },
  };
}

let simulator: Promise<Simulator> | null = null;

/** Loaded when somebody first calls it: whoever uses real providers does without its memory. */
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
