import { expect, test } from 'bun:test';
import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PoolClient } from 'pg';
import { Pool } from 'pg';
import { selfSignedCertificate } from '../../test/certificate.ts';
import { createDatabase, startPostgres } from '../../test/postgres.ts';
import { eventually } from '../../test/process.ts';
import { postgresPool } from './postgres.ts';
import { int32In, binaryRows as takeRows } from './postgres-bytes.ts';

async function binaryRows(client: PoolClient, select: string) {
  const rows: (Uint8Array | null)[][] = [];
  // The memory of every other row is kept.
  await takeRows(client, select, (row) => {
    const isKept = rows.length % 2 === 0;
    rows.push(isKept ? [...row] : row.map((field) => field && Uint8Array.from(field)));
    return isKept;
  });
  return rows;
}

async function connected() {
  const pool = postgresPool(await createDatabase(), 1);
  const client = await pool.connect();
  const close = async () => {
    client.release();
    await pool.end();
  };
  return { client, close };
}

test('bytes of any length come as they are, and nothing as nothing', async () => {
  const { client, close } = await connected();
  await client.query('create table kept (id integer, content bytea)');
  const lengths = [0, 1, 7, 65_535, 65_536, 3_000_001];
  const contents = lengths.map((length) => crypto.getRandomValues(new Uint8Array(Math.min(length, 65_536))));
  const whole = contents.map((content, at) => {
    const bytes = new Uint8Array(lengths[at]!);
    for (let begin = 0; begin < bytes.length; begin += 65_536)
      bytes.set(content.subarray(0, Math.min(65_536, bytes.length - begin)), begin);
    return bytes;
  });
  for (const [id, content] of whole.entries())
    await client.query('insert into kept values ($1, $2)', [id, Buffer.from(content)]);
  await client.query('insert into kept values (-1, null)');
  const rows = await binaryRows(client, 'select id, content from kept order by id');
  expect(rows.map(([id]) => int32In(id!))).toEqual([-1, 0, 1, 2, 3, 4, 5]);
  expect(rows[0]![1]).toBeNull();
  for (const [id, content] of whole.entries()) expect(Bun.hash(rows[id + 1]![1]!)).toBe(Bun.hash(content));
  await close();
});

test('a selection of nothing is no rows', async () => {
  const { client, close } = await connected();
  expect(await binaryRows(client, 'select 1 where false')).toEqual([]);
  await close();
});

test('a statement that fails says why, and the connection goes on', async () => {
  const { client, close } = await connected();
  const failure = await binaryRows(client, 'select 1 / (select 0)').catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: '22012' });
  expect((await binaryRows(client, 'select 5')).map(([five]) => int32In(five!))).toEqual([5]);
  expect((await client.query('select 6 as six')).rows).toEqual([{ six: 6 }]);
  await close();
});

test('a statement that fails after some rows gives none of them', async () => {
  const { client, close } = await connected();
  const failing = 'select 10 / (3 - each) from generate_series(1, 5) as each';
  const failure = await binaryRows(client, failing).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: '22012' });
  await close();
});

test('a connection that breaks while rows come is an error', async () => {
  const { client, close } = await connected();
  const cut = binaryRows(client, "select pg_terminate_backend(pg_backend_pid())::int, repeat('x', 1000)");
  expect(await cut.then(String, (error: unknown) => (error as Error).constructor.name)).toMatch(/Error/);
  await close().catch(() => {});
});

test('statements that wait for one another, of either kind, each get their own answer', async () => {
  const { client, close } = await connected();
  const copies = [3, 2_000, 40_000].map((count) =>
    binaryRows(
      client,
      `select each, repeat('x', each) from generate_series(1, ${count}, ${Math.ceil(count / 100)}) as each`,
    ),
  );
  const plain = client.query('select 7 as seven');
  const last = binaryRows(client, "select 1, 'y'");
  for (const rows of await Promise.all(copies))
    expect(rows.every(([each, text]) => int32In(each!) === text!.length)).toBe(true);
  expect((await plain).rows).toEqual([{ seven: 7 }]);
  expect((await last).map(([, text]) => new TextDecoder().decode(text!))).toEqual(['y']);
  await close();
});

test('what the server says between two rows is heard, and is none of them', async () => {
  const { client, close } = await connected();
  const said: (string | undefined)[] = [];
  client.on('notice', ({ message }) => said.push(message));
  await client.query(`create function saying(each integer) returns bytea language plpgsql as $$
    begin raise notice 'row %', each; return convert_to(repeat('z', 100000 * each), 'UTF8'); end $$`);
  const rows = await binaryRows(client, 'select saying(each) from generate_series(1, 3) as each');
  expect(rows.map(([bytes]) => bytes!.length)).toEqual([100_000, 200_000, 300_000]);
  expect(said).toEqual(['row 1', 'row 2', 'row 3']);
  await close();
});

test('a statement that nobody waits for any longer keeps nothing, and says so', async () => {
  const pool = new Pool({ connectionString: await createDatabase(), max: 1, query_timeout: 500 });
  pool.on('error', () => {});
  const client = await pool.connect();
  const slow = 'select each, pg_sleep(0.05)::text from generate_series(1, 100000) as each';
  const failure = (await binaryRows(client, slow).catch((error: unknown) => error)) as Error;
  expect(failure.message).toContain('timeout');
  client.release(failure);
  const other = await pool.connect();
  expect((await binaryRows(other, 'select 5')).map(([five]) => int32In(five!))).toEqual([5]);
  other.release();
  await pool.end();
});

test('what fails when a row is taken fails the question, not the process, and no other row is taken', async () => {
  const { client, close } = await connected();
  let taken = 0;
  const failing = takeRows(client, 'select each from generate_series(1, 100000) as each', () => {
    taken++;
    if (taken === 2) throw new Error('no room');
    return false;
  });
  expect(await failing.catch((error: unknown) => (error as Error).message)).toBe('no room');
  expect(taken).toBe(2);
  expect(await binaryRows(client, 'select 5')).toHaveLength(1);
  await close();
});

test('a connection under TLS carries a copy and other statements by turns', async () => {
  const server = await startPostgres();
  const plain = new Pool({ connectionString: server.url, max: 1 });
  const { rows } = await plain.query('show data_directory');
  const folder = rows[0].data_directory as string;
  const { uid, gid } = statSync(folder);
  const { cert, key } = selfSignedCertificate('localhost');
  for (const [name, text] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o600);
    chownSync(join(folder, name), uid, gid);
  }
  await plain.query('alter system set ssl = on');
  await plain.query('select pg_reload_conf()');
  await eventually('it is taken', async () => (await plain.query('show ssl')).rows[0].ssl === 'on');
  await plain.end();

  const pool = new Pool({ connectionString: server.url, ssl: { ca: cert, servername: 'localhost' }, max: 1 });
  const client = await pool.connect();
  // A pool ends before its connections have: the server that is stopped then tells them so.
  client.on('error', () => {});
  expect((await client.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')).rows).toEqual([
    { ssl: true },
  ]);
  for (let time = 0; time < 3; time++) {
    const copied = await binaryRows(client, "select each, repeat('x', each) from generate_series(1, 2000) as each");
    expect(copied).toHaveLength(2_000);
    expect(copied.every(([each, text]) => int32In(each!) === text!.length)).toBe(true);
    expect((await client.query('select 7 as seven')).rows).toEqual([{ seven: 7 }]);
  }
  client.release();
  await pool.end();
  await server.remove();
});
