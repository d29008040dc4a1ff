import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { TestGateway } from './gateway.ts';
import { lookInto } from './postgres.ts';

type Place = Pick<TestGateway, 'dataDir' | 'databaseUrl'>;
type Ask = <Row = Record<string, unknown>>(text: string) => Promise<Row[]>;

/** A connection to a gateway's database from outside, as an operator or an intruder would have one. */
async function connected<Result>(
  { dataDir, databaseUrl }: Place,
  work: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  if (databaseUrl)
    return lookInto(databaseUrl, (client) =>
      work(async <Row>(text: string) => (await client.query(text)).rows as Row[]),
    );
  const database = new Database(join(dataDir, 'state.db'));
  try {
    database.run('PRAGMA busy_timeout = 5000');
    return await work(async <Row>(text: string) => database.query(text).all() as Row[]);
  } finally {
    database.close();
  }
}

export const query = <Row = Record<string, unknown>>(place: Place, text: string): Promise<Row[]> =>
  connected(place, (ask) => ask<Row>(text));

/** What the process writes by itself: logs, counters, leases, what nodes tell each other, and the audit log. */
const OF_ITS_OWN =
  /^(alert_(?:looks|states|events|sightings)|analytics_|audit_|limit|usage_|log|gateway_|work|versions|request_|blob|sqlite_|facts|policy_entities|sign_in_)/;

/** Everything that administrators manage, as text: the same before and after means that nothing has changed. */
export const managedState = (place: Place): Promise<string> =>
  connected(place, async (ask) => {
    const tables = await ask<{ name: string }>(
      place.databaseUrl
        ? "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'"
        : "select name from sqlite_master where type = 'table'",
    );
    const managed = tables.map(({ name }) => name).filter((name) => !OF_ITS_OWN.test(name));
    const lines: string[] = [];
    if (place.databaseUrl) {
      // One question for all: each would have to be sent, planned and waited for.
      const parts = managed.map((name) => `select '${name} ' || to_jsonb(each)::text as line from "${name}" each`);
      for (const { line } of await ask<{ line: string }>(parts.join(' union all '))) lines.push(line);
    } else {
      for (const name of managed)
        for (const row of await ask(`select * from "${name}"`)) lines.push(`${name} ${JSON.stringify(row)}`);
    }
    return lines.sort().join('\n');
  });

/** From now on no record of a call that worked can be stored. */
export async function refuseRecords(gateway: Place): Promise<void> {
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
