import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { forTests, type ProcessOptions, root, startProcess } from './process.ts';

/** What nodes on one database have in common. */
export const nodeEnvironment = (databaseUrl: string) => ({
  ...forTests,
  DATABASE_URL: databaseUrl,
  GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  GATEWAY_SHUTDOWN_SECONDS: '5',
});

/** A gateway process of its own on a database that others share. */
export const startNode = (
  databaseUrl: string,
  { environment = {}, ...rest }: ProcessOptions = {},
): ReturnType<typeof startProcess> =>
  startProcess({ ...rest, environment: { ...nodeEnvironment(databaseUrl), ...environment } });

/** Sooner than a node looks by itself, which it does after ten seconds: it was told. Less would measure the machine. */
export const TOLD_MS = 8_000;

export const nextVersion = [process.execPath, `${root}/test/next-version.ts`] as const;

/** Cuts the listening connections of all nodes on that database, as a failing server or network would. */
export async function cutListeners(databaseUrl: string): Promise<number> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const { rowCount } = await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'gateway listener' and datname = current_database()`,
  );
  await client.end();
  return rowCount ?? 0;
}

/** The processes that a process has started. */
export const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number);

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
