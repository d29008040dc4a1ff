import { statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Health } from '../core/health.ts';
import { type Sweeper, startSweeper } from '../core/sweeper.ts';
import type { Breakers } from '../routing/breaker.ts';
import type { ProviderOutcomes } from '../routing/provider-outcomes.ts';
import type { AlertSightingRow } from '../storage/schema.ts';
import type { Store } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';
import { type Condition, type ConditionType, SEEN_BY_NODES } from './condition.ts';

export interface SightingDeps {
  readonly store: Store;
  readonly health: Health;
  readonly breakers: Breakers;
  readonly outcomes: ProviderOutcomes;
  readonly workers: () => Workers;
  readonly dataDir: string;
  readonly everyMs: number;
  readonly now: () => number;
}

const MINUTE_MS = 60_000;
/** A breaker is over long before, and providers are looked at for a quarter of an hour at most. */
const COUNTED_KEPT_MS = 30 * MINUTE_MS;
const BREAKER_KEPT_MS = 24 * 60 * MINUTE_MS;
/** What holds for a moment is believed so many turns after a node has last said so. */
const TURNS = 4;
const LEAST_KEPT_MS = 20_000;

type Sighting = Omit<AlertSightingRow, 'node' | 'seen_at'>;

/** Every node writes down what rules want to know of it, and nothing where no rule does. */
export function startSightings(deps: SightingDeps): Sweeper {
  const { store, everyMs } = deps;
  return startSweeper({
    what: 'alerts',
    everyMs,
    sweep: async () => {
      const rows = await store.db.selectFrom('alert_rules').select('condition').where('is_enabled', '=', 1).execute();
      const wanted = new Set(rows.map(({ condition }) => (JSON.parse(condition) as Condition).type));
      deps.outcomes.count(wanted.has('provider_down'));
      if ([...wanted].some((type) => SEEN_BY_NODES.has(type))) await write(await seen(wanted, deps), deps);
    },
  });
}

async function seen(wanted: ReadonlySet<ConditionType>, deps: SightingDeps): Promise<Sighting[]> {
  const at = deps.now();
  const brief = at + Math.max(LEAST_KEPT_MS, TURNS * deps.everyMs);
  const plain = { workspace_id: '', slot: 0, amount: 0, whole: 0, detail: null };
  const sightings: Sighting[] = [];
  if (wanted.has('breaker_open'))
    for (const { key, openUntil } of deps.breakers.open()) {
      const space = key.indexOf(' ');
      const [workspace_id, subject] = [key.slice(0, space), key.slice(space + 1)];
      sightings.push({
        ...plain,
        kind: 'breaker',
        workspace_id,
        subject,
        amount: openUntil,
        expires_at: openUntil + BREAKER_KEPT_MS,
      });
    }
  if (wanted.has('provider_down'))
    for (const { workspaceId, provider, minute, failed, asked } of deps.outcomes.since(at - COUNTED_KEPT_MS))
      sightings.push({
        ...plain,
        kind: 'provider',
        workspace_id: workspaceId,
        subject: provider,
        slot: minute,
        amount: failed,
        whole: asked,
        expires_at: minute * MINUTE_MS + COUNTED_KEPT_MS,
      });
  if (wanted.has('disk')) {
    const { bavail, blocks, bsize } = await statfs(deps.dataDir);
    const [amount, whole] = [Number(bavail) * Number(bsize), Number(blocks) * Number(bsize)];
    sightings.push({ ...plain, kind: 'disk', subject: hostname(), amount, whole, expires_at: brief });
  }
  if (wanted.has('degraded'))
    for (const { part, effect } of deps.health.snapshot())
      sightings.push({ ...plain, kind: 'health', subject: part, detail: effect, expires_at: brief });
  return sightings;
}

async function write(sightings: readonly Sighting[], { store, workers, now }: SightingDeps): Promise<void> {
  const node = workers().owner;
  const seen_at = now();
  await store.transaction(
    async (db) => {
      for (const sighting of sightings) {
        const { amount, whole, detail, expires_at } = sighting;
        await db
          .insertInto('alert_sightings')
          .values({ ...sighting, node, seen_at })
          .onConflict((conflict) =>
            conflict
              .columns(['node', 'kind', 'workspace_id', 'subject', 'slot'])
              .doUpdateSet({ amount, whole, detail, expires_at, seen_at }),
          )
          .execute();
      }
      // What is well again is not said again.
      await db
        .deleteFrom('alert_sightings')
        .where('node', '=', node)
        .where('kind', '=', 'health')
        .where('seen_at', '<', seen_at)
        .execute();
      await db.deleteFrom('alert_sightings').where('expires_at', '<', seen_at).execute();
    },
    { flush: 'later' },
  );
}
