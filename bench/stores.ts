import { tmpdir } from 'node:os';
import { Client } from 'pg';
import { startPostgres } from '../test/postgres.ts';
import { startRedis } from '../test/redis.ts';
import { processTree } from './proc.ts';
import { output } from './tools.ts';

/** A server the bench started, with the id of the process at the root of it. */
interface Server<Started> {
  readonly server: Started;
  readonly pid: number;
}

/**
 * PostgreSQL for a section, on one core or on any. Its data lie on the disk, as operators have them: those of ten million entries take 13 GB,
 * and memory that a file system in memory holds is missing to all processes. It is vacuumed as often as a server is that nobody has set up
 * otherwise: what waits for the cells goes through a table, and a question reads past all that was ever in it and is not cleaned up.
 */
export async function openPostgres(core: number | undefined) {
  const { server, pid } = await startOn(core, () => startPostgres({ place: tmpdir(), vacuumsEvery: '1min' }));
  let databases = 0;
  return {
    pid,
    /** An empty database, so that no gateway sees what another one wrote. */
    createDatabase: async (): Promise<string> => {
      const name = `bench_${databases++}`;
      const client = new Client({ connectionString: server.url });
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      return server.url.replace(/\/postgres$/, `/${name}`);
    },
    end: server.remove,
  };
}

export async function openRedis(core: number | undefined) {
  const { server, pid } = await startOn(core, () => startRedis());
  return { pid, url: server.url, end: server.stop };
}

/** The function that starts a server does not say which process it is: it is the child we did not have before. */
async function startOn<Started>(core: number | undefined, start: () => Promise<Started>): Promise<Server<Started>> {
  const children = () => processTree(process.pid).filter(({ parent }) => parent === process.pid);
  const before = new Set(children().map(({ pid }) => pid));
  const server = await start();
  const pid = children().find((child) => !before.has(child.pid))?.pid;
  if (pid === undefined) throw new Error('a server was started and is not among our processes');
  if (core !== undefined) {
    // What it starts later inherits this.
    for (const part of processTree(pid)) await output(['taskset', '-a', '-c', '-p', String(core), String(part.pid)]);
  }
  return { server, pid };
}
