import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Pool } from 'pg';
import { seeded } from '../../../test/fuzz.ts';
import { createDatabase } from '../../../test/postgres.ts';
import { batchOf, row } from '../../../test/telemetry/log-rows.ts';
import { postgresPool } from '../../storage/postgres.ts';
import { SUMS } from '../aggregates/amount.ts';
import { type Histogram, inOrder } from '../aggregates/histogram.ts';
import type { FigureOptions } from '../aggregates/options.ts';
import { type LogStore, openLogStore } from '../log-store.ts';
import { type Counted, Figures, HISTOGRAMS, type Looked } from './figures.ts';
import { HeldCells } from './held-cells.ts';
import { postgresSnapshots } from './postgres-snapshots.ts';
import type { CellsRow, Snapshots } from './snapshots.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START = Math.floor(Date.now() / DAY_MS - 4) * DAY_MS;
const FIGURES: FigureOptions = {
  metadataKeys: ['team'],
  keepDays: { minutes: 36_500, hours: 36_500, days: 36_500 },
};
const range = { from: START, until: START + 3 * DAY_MS };
const filter = { organisationId: 'org', workspaceId: null };

const QUESTIONS: readonly Looked[] = [
  { filter, range, by: null, isOverTime: true, sums: SUMS, histograms: HISTOGRAMS },
  { filter, range, by: null, isOverTime: true, bucketMs: HOUR_MS, sums: ['calls'] },
  { filter, range, by: 'user_id', isOverTime: false, sums: ['calls', 'cost'] },
  { filter, range, by: 'user_id', then: 'model', isOverTime: true, sums: ['calls'], histograms: ['durations'] },
  { filter: { ...filter, model: 'claude' }, range, by: { metadata: 'team' }, isOverTime: false, sums: ['calls'] },
  {
    filter: { ...filter, workspaceId: 'two' },
    range,
    by: 'model',
    isOverTime: false,
    sums: ['calls', 'request_bytes'],
  },
  { filter, range: { from: START + HOUR_MS, until: START + DAY_MS }, by: 'model', isOverTime: true, sums: ['calls'] },
];

let [urls, nodes, pool]: [string[], LogStore[], Pool] = [[], [], null!];

const entries = (count: number, at = START) =>
  batchOf(
    ...Array.from({ length: count }, (_, number) =>
      row({
        workspace_id: number % 3 === 0 ? 'two' : 'one',
        created_at: at + number * Math.floor((3 * DAY_MS) / count),
        user_id: `user-${number % 5}`,
        model: number % 2 === 0 ? 'claude' : 'gpt-4o',
        metadata: JSON.stringify({ team: `team-${number % 7}` }),
      }),
    ),
  );

const tended = async (store: LogStore) => {
  while (await store.tend());
};

beforeAll(async () => {
  urls = [await createDatabase()];
  const target = { engine: 'postgres', url: urls[0]! } as const;
  nodes = [
    await openLogStore(target, 'writer', { figures: FIGURES }),
    await openLogStore(target, 'writer', { figures: FIGURES }),
  ];
  pool = postgresPool(urls[0]!, 4);
  await nodes[0]!.insert(entries(400));
  await tended(nodes[0]!);
}, 60_000);
afterAll(async () => {
  for (const node of nodes) await node.close();
  await pool.end();
}, 60_000);

/** What a reader sees of cells. */
function watched(snapshots: Snapshots, seen: CellsRow[]): Snapshots {
  return (work) =>
    snapshots(({ cells, ...snapshot }) =>
      work({
        ...snapshot,
        cells: (pieces, columns, take) =>
          cells(pieces, columns, (found) => {
            seen.push(found);
            take(found);
          }),
      }),
    );
}

function reader(held: HeldCells, from = pool) {
  const seen: CellsRow[] = [];
  const figures = new Figures(watched(postgresSnapshots(from, held), seen), 'postgres');
  return { held, figures, seen };
}

const histogramText = (histogram: Histogram | undefined) => (histogram ? [...inOrder(histogram)].join() : '');
const shown = (counted: Counted) =>
  JSON.stringify({
    ...counted,
    durations: histogramText(counted.durations),
    firstBytes: histogramText(counted.firstBytes),
  });

async function answers(figures: Figures): Promise<string[][]> {
  const found: string[][] = [];
  for (const question of QUESTIONS) {
    const { rows, log } = await figures.find(question, performance.now() + 60_000);
    found.push([JSON.stringify(log), ...rows.map(shown).sort()]);
  }
  return found;
}

const holdsNothing = () => new HeldCells({ mostBytes: 0 });
const answersOf = (from: Pool) => answers(reader(holdsNothing(), from).figures);

describe('cells that a reader holds', () => {
  test('are not read again, and are read anew when another node has changed them', async () => {
    const { figures, seen, held } = reader(new HeldCells());
    const first = await answers(figures);
    expect(first).toEqual(await answersOf(pool));
    expect(held.bytes).toBeGreaterThan(0);
    const before = new Set(seen.splice(0).flatMap(({ bytes }) => bytes));
    expect(await answers(figures)).toEqual(first);
    expect(seen.length).toBeGreaterThan(20);
    expect(seen.every(({ bytes }) => bytes.every((each) => before.has(each)))).toBe(true);

    seen.length = 0;
    // An entry that comes late, by another node.
    await nodes[1]!.insert(batchOf(row({ workspace_id: 'one', created_at: START + 5_000, user_id: 'late' })));
    await tended(nodes[1]!);
    const later = await answers(figures);
    expect(later).toEqual(await answersOf(pool));
    expect(JSON.stringify(later)).toContain('late');
    const [same, anew] = [true, false].map((is) => seen.filter(({ bytes }) => before.has(bytes[0]!) === is));
    expect(same!.length).toBeGreaterThan(20);
    expect(anew!.length).toBeGreaterThan(0);
  }, 60_000);

  test('of some columns are not read again when a question needs others, too', async () => {
    const { figures, seen } = reader(new HeldCells());
    const asked = { filter, range, by: 'model', isOverTime: true, sums: ['calls'] } as const;
    await figures.find(asked, performance.now() + 60_000);
    const before = new Set(seen.splice(0).flatMap(({ bytes }) => bytes));
    const both = { ...asked, histograms: ['durations'] } as const;
    const { rows } = await figures.find(both, performance.now() + 60_000);
    expect(seen.length).toBeGreaterThan(10);
    expect(seen.every(({ bytes: [sums, durations] }) => before.has(sums!) && !before.has(durations!))).toBe(true);
    const anew = await reader(holdsNothing()).figures.find(both, performance.now() + 60_000);
    expect(rows.map(shown)).toEqual(anew.rows.map(shown));
    seen.length = 0;
    await figures.find({ ...asked, sums: ['calls', 'request_bytes'] }, performance.now() + 60_000);
    expect(seen.every(({ bytes: [sums, more] }) => before.has(sums!) && !before.has(more!))).toBe(true);
  }, 60_000);

  test('are let go when a user was erased or a workspace deleted', async () => {
    const { figures, seen } = reader(new HeldCells());
    for (const whose of [
      { organisationId: 'org', userId: 'user-1', names: ['somebody@example.org'] },
      { workspaceId: 'two' },
    ] as const) {
      await answers(figures);
      const before = new Set(seen.splice(0).flatMap(({ bytes }) => bytes));
      while ((await nodes[1]!.erase(whose, 100)) > 0);
      await tended(nodes[1]!);
      const after = await answers(figures);
      expect(after).toEqual(await answersOf(pool));
      expect(JSON.stringify(after)).not.toContain('user-1');
      expect(seen.some(({ bytes }) => bytes.some((each) => each !== null && before.has(each)))).toBe(false);
    }
  }, 60_000);

  test('are let go with their rows, and are read again when figures were counted anew', async () => {
    const { figures, held } = reader(new HeldCells());
    await answers(figures);
    const before = held.bytes;
    await pool.query('delete from analytics_cells where bucket % 2 = 0');
    expect(await answers(figures)).toEqual(await answersOf(pool));
    expect(held.bytes).toBeLessThan(before * 0.7);
    await nodes[0]!.recount(true);
    await tended(nodes[0]!);
    expect(await answers(figures)).toEqual(await answersOf(pool));
    expect(held.bytes).toBeGreaterThan(before * 0.9);
  }, 60_000);

  test('answer as the server does, whatever happens to rows, in any memory', async () => {
    const random = seeded(7);
    const readers = [4 << 20, 60_000, 3_000].map((mostBytes) => reader(new HeldCells({ mostBytes })));
    for (let round = 0; round < 12; round++) {
      const place = `grain = ${random.below(5)} and bucket % 3 = ${random.below(3)}`;
      const client = await pool.connect();
      await client.query('begin');
      switch (random.below(4)) {
        case 0:
          await client.query(`delete from analytics_cells where ${place}`);
          break;
        case 1:
          // Twice in one transaction, and what was there before in the end.
          await client.query(`update analytics_cells set sums = sums, durations = durations where ${place}`);
          await client.query(`update analytics_cells set sums = sums where ${place}`);
          break;
        case 2:
          // Rows take the places of others.
          await client.query(
            `create temporary table moved on commit drop as select * from analytics_cells where ${place}`,
          );
          await client.query(`delete from analytics_cells where ${place}`);
          await client.query(`insert into analytics_cells select grain, cube, bucket + 3, sums, durations, first_bytes, more
            from moved on conflict (grain, cube, bucket) do nothing`);
          break;
        default:
          await client.query(`update analytics_cells set sums = other.sums, durations = other.durations,
            first_bytes = other.first_bytes, more = other.more from analytics_cells as other
            where other.grain = analytics_cells.grain and other.cube = analytics_cells.cube
            and other.bucket = analytics_cells.bucket + 1 and ${place.replaceAll(/grain =|bucket %/g, (name) => `analytics_cells.${name}`)}`);
      }
      await client.query(random.below(4) === 0 ? 'rollback' : 'commit');
      client.release();
      if (random.below(5) === 0) await pool.query('vacuum full analytics_cells');
      const expected = await answersOf(pool);
      for (const { figures, held } of readers) {
        expect(await answers(figures)).toEqual(expected);
        expect(held.bytes).toBeLessThanOrEqual(4 << 20);
      }
      expect(readers[1]!.held.bytes).toBeLessThanOrEqual(60_000);
      expect(readers[2]!.held.bytes).toBeLessThanOrEqual(3_000);
    }
  }, 120_000);

  test('are of the database that is asked, when that was moved', async () => {
    await nodes[0]!.insert(entries(100));
    await tended(nodes[0]!);
    for (const node of nodes.splice(0)) await node.close();
    await pool.end();
    const held = new HeldCells();
    const url = new URL(urls[0]!);
    const name = url.pathname.slice(1);
    const admin = postgresPool(Object.assign(new URL(urls[0]!), { pathname: '/postgres' }).href, 1);
    await admin.query(`create database ${name}_copy template ${name}`);
    const copy = postgresPool(Object.assign(new URL(urls[0]!), { pathname: `/${name}_copy` }).href, 2);
    pool = postgresPool(urls[0]!, 4);
    await answers(reader(held).figures);
    await copy.query('update analytics_cells set sums = sums where bucket % 2 = 0');
    await copy.query('delete from analytics_cells where bucket % 3 = 0');
    await pool.query('delete from analytics_cells where bucket % 5 = 0');
    for (const from of [copy, pool, copy])
      expect(await answers(reader(held, from).figures)).toEqual(await answersOf(from));
    await copy.end();
    await admin.query(`drop database ${name}_copy`);
    await admin.end();
  }, 60_000);
});

describe('memory of cells', () => {
  const piece = { cube: '', grain: 0, from: 0, until: 10 * 60_000 } as const;
  const place = (bucket: number) => ({ cube: '', grain: 0, bucket }) as const;
  const sums = () => ({ sums: new Uint8Array(1_000) });

  test('what was not asked for lately is let go, and what was read long ago is read again', () => {
    let now = 0;
    const held = new HeldCells({ now: () => now, unusedMs: 60_000 });
    held.begin('a');
    for (const bucket of [1, 2]) held.keep(place(bucket), 7, sums());
    now = 50_000;
    expect(held.versions({ ...piece, until: 2 * 60_000 }, 'sums')).toEqual([0, 7]);
    now = 70_000;
    held.letGo();
    expect(held.versions(piece, 'sums')).toEqual([0, 7]);
    expect(held.versions(piece, 'durations')).toEqual([]);
    while (now < 3_600_000) {
      now += 50_000;
      held.versions(piece, 'sums');
    }
    expect(held.versions(piece, 'sums')).toEqual([]);
    now += 100_000;
    held.letGo();
    expect(held.bytes).toBe(0);
  });

  test('a server with another history is told of nothing that is held', () => {
    const held = new HeldCells();
    held.begin('a');
    held.keep(place(1), 7, sums());
    held.begin('a');
    expect(held.versions(piece, 'sums')).toEqual([0, 7]);
    held.begin('b');
    expect(held.versions(piece, 'sums')).toEqual([]);
    expect(held.bytes).toBe(0);
    held.clear();
  });

  test('room is made of what the moment does not use', () => {
    const held = new HeldCells({ mostBytes: 22_000 });
    held.begin('a');
    for (const bucket of [1, 2, 3]) if (held.hasRoom(1_000)) held.keep(place(bucket), 7, sums());
    expect(held.hasRoom(1_000)).toBe(false);
    held.begin('a');
    held.versions({ ...piece, until: 2 * 60_000 }, 'sums');
    expect(held.hasRoom(1_000)).toBe(true);
    expect(held.versions(piece, 'sums')[1]).toBe(7);
    expect(held.hasRoom(10_000)).toBe(false);
    held.clear();
  });
});
