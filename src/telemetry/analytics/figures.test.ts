import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Kysely } from 'kysely';
import { createDatabase } from '../../../test/postgres.ts';
import { eventually } from '../../../test/process.ts';
import { batchOf, removeTemporaryFolders, row, temporaryFolder } from '../../../test/telemetry/log-rows.ts';
import { postgresPool } from '../../storage/postgres.ts';
import { sqliteDialect } from '../../storage/sqlite.ts';
import type { LogTables } from '../log-columns.ts';
import { type LogTarget, openLogStore } from '../log-store.ts';
import { Figures, type Looked } from './figures.ts';
import { postgresSnapshots } from './postgres-snapshots.ts';
import { type Snapshot, type Snapshots, sqliteSnapshots } from './snapshots.ts';
import type { Summed } from './sums.ts';

afterAll(removeTemporaryFolders);

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 2, 1);
const MODELS = ['gpt-4o', 'claude', "it's"];

const asking = (over: Partial<Looked> = {}): Looked => ({
  filter: { organisationId: 'org', workspaceId: null },
  range: { from: START, until: START + DAY_MS },
  by: 'model',
  isOverTime: false,
  sums: ['calls'],
  ...over,
});

/** A log of 300 calls a day, all of which are in the cells. */
async function filled(engine: 'sqlite' | 'postgres'): Promise<LogTarget> {
  const target: LogTarget =
    engine === 'sqlite'
      ? { engine, file: join(temporaryFolder(), 'logs.db') }
      : { engine, url: await createDatabase() };
  const store = await openLogStore(target, 'writer');
  const rows = Array.from({ length: 600 }, (_, at) =>
    row({
      organisation_id: 'org',
      workspace_id: 'workspace',
      created_at: START + at * (DAY_MS / 300),
      model: MODELS[at % MODELS.length]!,
      metadata: null,
    }),
  );
  await store.insert(batchOf(...rows));
  while (await store.tend());
  await store.close();
  return target;
}

/** Questions change nothing, so that one log does for all of them. */
const logs = new Map<string, Promise<LogTarget>>();

type Fault = (at: number) => void;

/** The figures of a log, how many moments they were read as of, and how many times cells. */
async function figuresOf(engine: 'sqlite' | 'postgres', fault: Fault = () => {}) {
  const log = logs.get(engine) ?? filled(engine);
  logs.set(engine, log);
  const target = await log;
  const seen = { moments: 0, readings: 0 };
  const watched =
    (snapshots: Snapshots): Snapshots =>
    (work) => {
      seen.moments++;
      return snapshots((snapshot) => {
        const cells: Snapshot['cells'] = async (...asked) => {
          fault(++seen.readings);
          return snapshot.cells(...asked);
        };
        return work({ ...snapshot, cells });
      });
    };
  if (target.engine === 'postgres') {
    const pool = postgresPool(target.url, 4);
    return { figures: new Figures(watched(postgresSnapshots(pool)), engine), seen, close: () => pool.end() };
  }
  const db = new Kysely<LogTables>({ dialect: sqliteDialect(target.file, { durability: 'normal', readonly: true }) });
  return { figures: new Figures(watched(sqliteSnapshots(db)), engine), seen, close: () => db.destroy() };
}

const later = () => performance.now() + 60_000;
const callsOf = (rows: readonly { readonly calls: number }[]) => rows.reduce((sum, { calls }) => sum + calls, 0);

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(engine, () => {
    test('questions that come together are answered as of one moment, and what they share is read once', async () => {
      const { figures, seen, close } = await figuresOf(engine);
      const all = [asking(), asking(), asking({ by: 'provider' }), asking(), asking({ by: null })];
      const found = await Promise.all(all.map((each) => figures.find(each, later())));
      for (const { rows } of found) expect(callsOf(rows)).toBe(300);
      expect(found[1]!.rows.map(({ name }) => name).toSorted()).toEqual(MODELS.toSorted());
      // Each cube is read once.
      expect(seen).toEqual({ moments: 1, readings: 3 });
      // What comes while others are answered waits for the next moment.
      const first = figures.find(asking(), later());
      await eventually('the first is being answered', () => seen.moments === 2);
      await Promise.all([first, ...all.map((each) => figures.find(each, later()))]);
      expect(seen).toEqual({ moments: 3, readings: 3 + 1 + 3 });
      await close();
    });

    test('a question that fails takes none of the others with it', async () => {
      const { figures, seen, close } = await figuresOf(engine, (at) => {
        if (at === 3) throw new Error('the store is in a bad mood');
      });
      const all = [asking(), asking(), asking({ by: 'provider' }), asking({ by: 'status' }), asking({ by: null })];
      const found = await Promise.allSettled(all.map((each) => figures.find(each, later())));
      expect(found.map(({ status }) => status)).toEqual([
        ...(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'] as const),
      ]);
      for (const each of found) if (each.status === 'fulfilled') expect(callsOf(each.value.rows)).toBe(300);
      expect(seen.moments).toBe(2);
      await close();
    });

    test('a question that waited too long is refused, and the next one is answered', async () => {
      const { figures, close } = await figuresOf(engine);
      const over = performance.now() - 1;
      const found = await Promise.allSettled([figures.find(asking(), over), figures.find(asking(), later())]);
      expect(found[0]).toMatchObject({ status: 'rejected', reason: { code: 'analytics_too_slow' } });
      expect(found[1]).toMatchObject({ status: 'fulfilled' });
      await close();
    });

    test('what waits is counted once, also when it has the place of something that waited before', async () => {
      const target: LogTarget =
        engine === 'sqlite'
          ? { engine, file: join(temporaryFolder(), 'logs.db') }
          : { engine, url: await createDatabase() };
      const [writer, reader] = [await openLogStore(target, 'writer'), await openLogStore(target, 'reader')];
      const range = { from: START, until: START + DAY_MS };
      const filter = { organisationId: 'org', workspaceId: null };
      const seen: number[] = [];
      for (let count = 1; count <= 3; count++) {
        const rows = Array.from({ length: count }, () => row({ organisation_id: 'org', created_at: START + count }));
        await writer.insert(batchOf(...rows));
        const [sums] = (await reader.analyse({ kind: 'sums', by: null, filter, range }, later())) as readonly Summed[];
        seen.push(sums!.sums.calls);
        while (await writer.tend());
      }
      expect(seen).toEqual([1, 1 + 2, 1 + 2 + 3]);
      await reader.close();
      await writer.close();
    });

    test('where the log has to be asked, the workspaces within reach are known', async () => {
      const { figures, close } = await figuresOf(engine);
      const log = { from: START + 90_000, until: START + 90_500 };
      const { workspaces } = await figures.look(asking({ range: log }), later());
      expect(workspaces).toEqual([null, 'workspace']);
      expect(
        (await figures.look(asking({ range: log, filter: { ...asking().filter, workspaceId: 'w' } }), later()))
          .workspaces,
      ).toEqual(['w']);
      expect(
        (await figures.look(asking({ range: log, filter: { ...asking().filter, organisationId: 'o' } }), later()))
          .workspaces,
      ).toEqual([null]);
      await close();
    });

    test('more questions than one moment has room for are all answered', async () => {
      const { figures, seen, close } = await figuresOf(engine);
      const found = await Promise.all(Array.from({ length: 40 }, () => figures.find(asking(), later())));
      for (const { rows } of found) expect(callsOf(rows)).toBe(300);
      expect(seen.moments).toBe(Math.ceil(40 / 16));
      await close();
    });
  });
}
