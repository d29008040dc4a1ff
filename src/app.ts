import { hostname } from 'node:os';
import { createAnswer } from './answer.ts';
import { type Base, everyArea } from './areas.ts';
import { createAuditing } from './audit/audited.ts';
import type { Sweeper } from './core/sweeper.ts';
import type { EndingsOf } from './endings/endings.ts';
import { describeRoutes } from './http/openapi.ts';
import { PerAddress } from './http/per-address.ts';
import type { Route } from './http/route.ts';
import { createRouter, inOrder } from './http/router.ts';
import type { Connection } from './http/server.ts';
import { createSocketRouter } from './http/upgrade.ts';
import { createWorkers, type Workers } from './work/workers.ts';

/** What the app is built from; the rest it knows itself. */
export type AppBase = Omit<Base, 'workers' | 'openapi' | 'answer'>;

export interface App {
  readonly routes: readonly Route[];
  readonly sockets: readonly Route[];
  /** Whose each table is. */
  readonly owners: EndingsOf['all'];
  /** Answers one request; never throws. Undefined: it went on as a WebSocket. */
  answer(request: Request, clientAddress: string, connection: Connection): Promise<Response | undefined>;
  /** Begins what is done beside answering. */
  start(): Promise<void>;
  /** Says that the process stops, while requests under way are still answered. */
  leave(): void;
  /** Lets work under way finish for so long, and closes the areas. */
  stop(graceMs: number): Promise<void>;
}

export interface AppOptions {
  /** Optional areas that are left out, by name. */
  readonly without?: readonly string[];
}

/** Opens the areas and puts together what they add. */
export async function openApp(base: AppBase, { without = [] }: AppOptions = {}): Promise<App> {
  const { settings, store, groupedStore, changes, organisationId, version, now, turnNow, report } = base;
  let described: unknown;
  const { parts, opened, close } = await everyArea.without(...without).open({
    ...base,
    workers: () => workers,
    answer: () => answer,
    openapi: () => {
      described ??= describeRoutes(routes, { version, publicUrl: settings.publicUrl });
      return described;
    },
  });
  const routes: readonly Route[] = inOrder(opened.flatMap((area) => area.routes ?? []));
  const sockets: readonly Route[] = opened.flatMap((area) => area.sockets ?? []);
  const workers: Workers = createWorkers({
    store: groupedStore,
    node: `${hostname()}-${process.pid}`,
    kinds: opened.flatMap(({ work = [] }) => work),
    onError: report,
    wake: changes,
    isAlone: store.engine === 'sqlite',
  });
  const answer: ReturnType<typeof createAnswer> = createAnswer({
    match: createRouter(routes),
    matchSocket: createSocketRouter(sockets),
    callers: parts.callers,
    log: parts.log,
    audit: createAuditing({
      trail: parts.trail,
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
    onTurnedAway: base.metrics.turnedAway,
    now: turnNow,
    report,
  });
  let sweepers: Sweeper[] = [];
  return {
    routes,
    sockets,
    owners: parts.endings.all,
    answer,
    start: async () => {
      await changes.start();
      await workers.start();
      sweepers = opened.flatMap((area) => (area.sweepers ?? []).map((begin) => begin()));
    },
    leave: () => {
      for (const area of opened) area.leave?.();
    },
    stop: async (graceMs) => {
      await workers.stop(graceMs);
      for (const sweeper of sweepers) await sweeper.stop();
      await close();
    },
  };
}
