import { sql } from 'kysely';
import * as z from 'zod';
import { toIso } from '../core/clock.ts';
import type { Health } from '../core/health.ts';
import { get, type Route } from '../http/route.ts';
import type { Store } from '../storage/store.ts';
import { databaseClock } from '../work/time.ts';

const queue = () =>
  z.object({
    kind: z.string().describe('Such as batch, run, ingest.'),
    running: z.number().int().describe('That some node does now.'),
    waiting: z.number().int().describe('That is due and nobody does.'),
    later: z.number().int().describe('That is not due yet.'),
    retried: z.number().int().describe('That has failed and is tried again.'),
    oldest_ms: z.number().int().nullable().describe('For how long the oldest that is due has waited.'),
  });
const status = () =>
  z.object({
    object: z.literal('status'),
    version: z.string(),
    store: z.enum(['sqlite', 'postgres']),
    redis: z.enum(['used', 'none']),
    started_at: z.iso.datetime().describe('This process.'),
    queues: z.array(queue()),
    nodes: z
      .array(z.object({ node: z.string(), running: z.number().int() }))
      .describe('Nodes that do background work now.'),
  });

export interface StatusParts {
  readonly store: Store;
  readonly redis: object | null;
  readonly version: string;
  readonly health: Health;
}

/** What this installation is made of and has to do, for people who operate it. `GET /health` says what is wrong. */
export const statusRoutes = ({ store, redis, version, health }: StatusParts): Route[] => [
  get(
    '/v1/admin/health',
    {
      scopes: ['organisation.read'],
      summary: 'Whether the key works, and what is degraded',
      response: () => z.looseObject({ status: z.literal('ok'), degraded: z.array(z.unknown()) }),
    },
    () => ({ status: 'ok', degraded: health.snapshot() }),
  ),
  get(
    '/v1/admin/status',
    { scopes: ['metrics.read'], summary: 'Version, store, background work and who does it', response: status },
    async () => ({
      object: 'status',
      version,
      store: store.engine,
      redis: redis === null ? 'none' : 'used',
      started_at: toIso(Date.now() - Math.round(process.uptime() * 1_000)),
      queues: await queuesIn(store),
      nodes: await nodesIn(store),
    }),
  ),
];

async function queuesIn({ db, engine }: Store) {
  const now = databaseClock(engine)();
  const count = (isMeant: ReturnType<typeof sql<boolean>>) => sql<number>`sum(case when ${isMeant} then 1 else 0 end)`;
  const isDue = sql<boolean>`owner is null and run_at <= ${now}`;
  const rows = await db
    .selectFrom('work')
    .select('kind')
    .select(count(sql`owner is not null`).as('running'))
    .select(count(isDue).as('waiting'))
    .select(count(sql`owner is null and run_at > ${now}`).as('later'))
    .select(count(sql`attempts > 1`).as('retried'))
    .select(sql<number | null>`max(case when ${isDue} then ${now} - run_at end)`.as('oldest_ms'))
    .groupBy('kind')
    .orderBy('kind')
    .execute();
  return rows.map(({ kind, running, waiting, later, retried, oldest_ms }) => ({
    kind,
    ...{ running: Number(running), waiting: Number(waiting), later: Number(later), retried: Number(retried) },
    oldest_ms: oldest_ms === null ? null : Math.round(Number(oldest_ms)),
  }));
}

async function nodesIn({ db }: Store) {
  const rows = await db
    .selectFrom('work')
    .select(({ fn }) => ['owner', fn.countAll<number>().as('running')])
    .where('owner', 'is not', null)
    .groupBy('owner')
    .orderBy('owner')
    .execute();
  return rows.map(({ owner, running }) => ({ node: owner!, running: Number(running) }));
}
