import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Client } from 'pg';
import { fillLog } from '../../bench/load/log-entries.ts';
import { GRAINS } from '../../src/telemetry/aggregates/grains.ts';
import { type LogTarget, openLogStore } from '../../src/telemetry/log-store.ts';
import { createDatabase } from '../postgres.ts';
import { removeTemporaryFolders, temporaryFolder } from './log-rows.ts';

const CELLS = 'select grain, cube, bucket, sums, durations, first_bytes from analytics_cells order by 1, 2, 3';

interface Cell {
  readonly grain: number;
  readonly bucket: number | string;
}

/** Those of times that were over at the given one: what is over later depends on when a test looks. */
async function cellsIn(target: LogTarget, at: number): Promise<string[]> {
  const isOver = ({ grain, bucket }: Cell) => (Number(bucket) + 1) * GRAINS.find(({ id }) => id === grain)!.ms <= at;
  const shown = (row: Cell) =>
    Object.values(row)
      .map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell).toString('hex') : cell))
      .join(' ');
  if (target.engine === 'sqlite') {
    using raw = new Database(target.file);
    return raw.query<Cell, []>(CELLS).all().filter(isOver).map(shown);
  }
  const client = new Client({ connectionString: target.url });
  await client.connect();
  const { rows } = await client.query<Cell>(CELLS);
  await client.end();
  return rows.filter(isOver).map(shown);
}

/** The bench fills the log up to two whole minutes ago. */
const FILLED_MS = 3 * 60_000;

export function testCopiedFigures(filling: { readonly entries: number; readonly days: number }): void {
  afterAll(removeTemporaryFolders);
  for (const [engine, newTarget] of [
    ['SQLite', async (): Promise<LogTarget> => ({ engine: 'sqlite', file: join(temporaryFolder(), 'logs.db') })],
    ['PostgreSQL', async (): Promise<LogTarget> => ({ engine: 'postgres', url: await createDatabase() })],
  ] as const)
    test(`figures that the bench copies from day to day are what counting its entries finds, on ${engine}`, async () => {
      const target = await newTarget();
      const over = Date.now() - FILLED_MS;
      await fillLog({ target, organisationId: 'org', ...filling });
      const before = await cellsIn(target, over);
      const figures = { metadataKeys: ['_user'], keepDays: { minutes: 3_650, hours: 3_650, days: 3_650 } };
      const store = await openLogStore(target, 'writer', { figures });
      await store.recount(true);
      while (await store.tend());
      await store.close();

      expect(before.length).toBeGreaterThan(5_000);
      expect(await cellsIn(target, over)).toEqual(before);
    });
}
