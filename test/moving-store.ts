import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { startGateway } from './gateway.ts';
import { createEmptyDatabase } from './postgres.ts';
import { commands, newDataDir, removeDataDir, runGateway } from './process.ts';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
}

/** Of these one row each is looked at by every start, or the databases keep them for themselves. */
const OWN = /^(sqlite_.*|.*_migrations|facts|request_log_(bodies|places)|blobs|blob_chunks|analytics_state)$/;

const tablesIn = (database: Database): string[] =>
  database
    .query<{ name: string }, []>(
      `select name from pragma_table_list where schema = 'main' and type = 'table' order by name`,
    )
    .all()
    .map(({ name }) => name)
    .filter((name) => !OWN.test(name));

/** Fills every table with rows that no program has made: every column, odd texts, large numbers, nulls where they may be. */
function fillTables(dataDir: string, rows: number): void {
  for (const name of ['state.db', 'logs.db']) {
    const database = new Database(join(dataDir, name));
    database.run('pragma foreign_keys = off');
    for (const table of tablesIn(database)) {
      const columns = database.query<Column, []>(`pragma table_info("${table}")`).all();
      const references = database
        .query<{ from: string; to: string }, []>(`pragma foreign_key_list("${table}")`)
        .all()
        .map(({ from, to }) => [from, to] as const);
      const referred = new Map(references);
      const text = `insert or ignore into "${table}" values (${columns.map(() => '?')})`;
      const insert = database.prepare(text);
      database.transaction(() => {
        for (let row = 0; row < rows; row++)
          insert.run(...columns.map((column, index) => cellOf(column, row, index, referred.get(column.name))));
      })();
    }
    database.close();
  }
}

const TEXTS = ['plain', 'Grüße, 世界 🌍', `it's "quoted" \\ and\nbroken`, '{"a":[1,null]}', 'nul \0 inside', ''];

/** `of`: the column of another table that this one names rows of. */
function cellOf({ name, type, notnull, pk }: Column, row: number, index: number, of: string | undefined) {
  const kind = type.toLowerCase();
  if (of !== undefined) return keyOf(of, row);
  if (pk === 0 && notnull === 0 && (row + index) % 3 === 0) return null;
  if (kind === 'blob') return Buffer.from(`${name} ${row}`);
  if (kind === 'real') return row / 7;
  if (kind === 'boolean') return row % 2;
  // In PostgreSQL, what is called integer has four bytes; row by row it differs.
  if (kind === 'integer') return row;
  return pk > 0 ? keyOf(name, row) : `${TEXTS[(row + index) % TEXTS.length]} ${row}`;
}

const keyOf = (column: string, row: number) => `${column}-${String(row).padStart(7, '0')}-é`;

async function within<Result>(databaseUrl: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  return work(client).finally(() => client.end());
}

const countsIn = (databaseUrl: string, tables: readonly string[]): Promise<Record<string, number>> =>
  within(databaseUrl, async (client) => {
    const counts: Record<string, number> = {};
    for (const table of tables)
      counts[table] = Number((await client.query(`select count(*) as count from "${table}"`)).rows[0].count);
    return counts;
  });

/** Whether a selection finds something; where its table is missing, it does not. */
const holds = (databaseUrl: string, text: string): Promise<boolean> =>
  within(databaseUrl, async (client) => {
    const found = await client.query(text).catch(() => ({ rows: [] }));
    return found.rows.length > 0;
  });

interface Killing {
  /** Of every table. */
  readonly rows: number;
  readonly firstLifeMs: number;
  /** So much longer lives each process than the one before it. */
  readonly longerMs: number;
}

/** Moves rows of every table, with a process that is killed and begun again until one comes to the end. */
export async function moveWithKills({
  rows,
  firstLifeMs,
  longerMs,
}: Killing): Promise<{ kills: number; rows: number }> {
  const home = newDataDir();
  const dataDir = join(home, 'data');
  mkdirSync(dataDir);
  await (await startGateway({ dataDir })).stop();
  fillTables(dataDir, rows);
  const databaseUrl = await createEmptyDatabase();
  const address = join(home, 'address');
  await Bun.write(address, `${databaseUrl}\n`);
  let kills = 0;
  for (let lifeMs = firstLifeMs; ; lifeMs += longerMs) {
    const child = Bun.spawn([...commands.program, 'move', '--to-file', address], {
      env: { PATH: process.env.PATH, HOME: home, GATEWAY_DATA_DIR: dataDir },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), lifeMs);
    const [output, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    clearTimeout(timer);
    if (code === 0) {
      expect(output).toContain('Moved ');
      break;
    }
    expect([code, errors]).toEqual([137, expect.not.stringContaining('gateway:')]);
    kills++;
    if (await holds(databaseUrl, "select 1 from facts where name = 'move'")) await refusesToStart(databaseUrl);
  }
  let moved = 0;
  for (const file of ['state.db', 'logs.db']) {
    const database = new Database(join(dataDir, file));
    const tables = tablesIn(database);
    const count = (name: string) =>
      database.query<{ count: number }, []>(`select count(*) as count from "${name}"`).get()!;
    const counts = Object.fromEntries(tables.map((name) => [name, count(name).count]));
    expect(await countsIn(databaseUrl, tables)).toEqual(counts);
    expect(Object.entries(counts).filter(([, number]) => number < rows)).toEqual([]);
    moved += Object.values(counts).reduce((sum, number) => sum + number, 0);
    database.close();
  }
  removeDataDir(home);
  return { kills, rows: moved };
}

async function refusesToStart(databaseUrl: string) {
  const environment = { DATABASE_URL: databaseUrl, GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') };
  const { exitCode, errors } = await runGateway({ environment });
  expect([exitCode, errors]).toEqual([1, expect.stringContaining('is not finished')]);
}
