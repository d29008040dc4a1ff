import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../test/process.ts';
import { createHealth } from '../core/health.ts';
import { createBreakers } from '../routing/breaker.ts';
import { createProviderOutcomes } from '../routing/provider-outcomes.ts';
import { openSqlite } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';
import { startSightings } from './sightings.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-sightings-'));
const store = openSqlite(join(folder, 'state.db'));
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

test('a node writes down what rules ask for while it is so, and nothing where no rule does', async () => {
  await store.migrate();
  const now = Date.now;
  const health = createHealth({ now });
  const outcomes = createProviderOutcomes({ now });
  const workers = () => ({ owner: 'node' }) as Workers;
  const parts = { store, health, outcomes, workers, breakers: createBreakers({ now }), dataDir: folder, now };
  const sweeper = startSightings({ ...parts, everyMs: 5 });
  const seen = async () =>
    (await store.db.selectFrom('alert_sightings').selectAll().execute()).map(
      ({ kind, subject }) => `${kind} ${subject}`,
    );
  health.degraded('log', 'Entries wait on disk.');
  outcomes.ended('w', 'openai', 500);
  await Bun.sleep(50);
  expect(await seen()).toEqual([]);

  await store.db
    .insertInto('organisations')
    .values({ id: 'o', name: 'o', created_at: 0 } as never)
    .execute();
  const rule = { organisation_id: 'o', workspace_id: null, name: 'x', channels: '[]', repeat_after: null };
  const times = { created_at: 0, updated_at: 0 };
  for (const type of ['degraded', 'provider_down'])
    await store.db
      .insertInto('alert_rules')
      .values({ ...rule, ...times, id: type, is_enabled: 1, condition: JSON.stringify({ type }) })
      .execute();
  await eventually('it is written down', async () => (await seen()).includes('health log'));
  await eventually('attempts are counted', async () => {
    outcomes.ended('w', 'openai', 500);
    return (await seen()).includes('provider openai');
  });
  health.well('log');
  await eventually('it is taken back', async () => !(await seen()).includes('health log'));
  await sweeper.stop();
});
