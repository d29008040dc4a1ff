import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { Client } from 'pg';
import type { TestGateway } from './gateway.ts';

/** Statements on a gateway's database from outside, as an operator or an intruder would run them. */
export async function query<Row = Record<string, unknown>>(
  { dataDir, databaseUrl }: Pick<TestGateway, 'dataDir' | 'databaseUrl'>,
  text: string,
): Promise<Row[]> {
  if (databaseUrl) {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      return (await client.query(text)).rows as Row[];
    } finally {
      await client.end();
    }
  }
  const database = new Database(join(dataDir, 'state.db'));
  try {
    database.run('PRAGMA busy_timeout = 5000');
    return database.query(text).all() as Row[];
  } finally {
    database.close();
  }
}

/** What the process writes by itself: logs, counters, leases, what nodes tell each other, and the audit log. */
const OF_ITS_OWN = /^(audit_|limit|usage_|log|gateway_|work|versions|request_|blob|sqlite_|facts|policy_entities|sign_in_)/;

/** Everything that administrators manage, as text: the same before and after means that nothing has changed. */
export async function managedState(gateway: Pick<TestGateway, 'dataDir' | 'databaseUrl'>): Promise<string> {
  const tables = await query<{ name: string }>(
    gateway,
    gateway.databaseUrl
      ? "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'"
      : "select name from sqlite_master where type = 'table'",
  );
  const names = tables.map(({ name }) => name).filter((name) => !OF_ITS_OWN.test(name));
  const lines: string[] = [];
  for (const name of names.sort()) {
    const rows = (await query(gateway, `select * from "${name}"`)).map((row) => `${name} ${JSON.stringify(row)}`);
    lines.push(...rows.sort());
  }
  return lines.join('\n');
}

/** From now on no record of a call that worked can be stored. */
export async function refuseRecords(gateway: Pick<TestGateway, 'dataDir' | 'databaseUrl'>): Promise<void> {
  if (gateway.databaseUrl) {
    await query(
      gateway,
      `create function refuse_record() returns trigger language plpgsql as $$
       begin raise exception 'refused on purpose'; end $$;
       create trigger refuse_record before insert on audit_records for each row
       when (new.response_status_code < 400) execute function refuse_record()`,
    );
    return;
  }
  await query(
    gateway,
    `create trigger refuse_record before insert on audit_records when new.response_status_code < 400
     begin select raise(abort, 'refused on purpose'); end`,
  );
}
