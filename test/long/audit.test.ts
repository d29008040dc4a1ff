import { afterEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { sql } from 'kysely';
import { createAuditReading } from '../../src/audit/reading.ts';
import { macOf, type NewRecord } from '../../src/audit/record.ts';
import { newId } from '../../src/core/ids.ts';
import { directReader, threadReader } from '../../src/storage/reader.ts';
import { openPostgres, openSqlite, type Store } from '../../src/storage/store.ts';
import { record, testSealer } from '../audit/records.ts';
import { killWhileChanging, none, strayKeys } from '../audit-crash.ts';
import { startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { newDataDir, removeDataDir, startProcess } from '../process.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const MANY = 1_000_000;
const AT_ONCE = 1_000;
const MINUTE = 60_000;
const START = Date.UTC(2024, 0, 1);

const DAY = '(at / 86400000)';

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

async function fill(store: Store, organisationId: string) {
  const users = Array.from({ length: 500 }, () => newId<string>());
  const sealer = testSealer();
  // One code for all: the test does not verify them, and a million codes would take longer than everything else.
  const mac = macOf(sealer, record(organisationId));
  for (let from = 0; from < MANY; from += AT_ONCE) {
    const rows = Array.from({ length: AT_ONCE }, (_, index): NewRecord => {
      const number = from + index;
      return record(organisationId, {
        at: START + number * MINUTE,
        user_id: users[number % users.length]!,
        method: (['POST', 'PUT', 'DELETE'] as const)[number % 3],
        uri: `/v1/api-keys/${number % 5_000}`,
        client_ip: `10.0.${number % 250}.1`,
        response_status_code: number % 20 === 0 ? 403 : 200,
        request_headers: JSON.stringify({ 'user-agent': 'x'.repeat(200) }),
      });
    });
    await store.db
      .insertInto('audit_records')
      .values(rows.map((row) => ({ ...row, batch: 1, mac })))
      .execute();
  }
}

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(engine, () => {
    test('a million records are searched in less than a second, whatever is asked for', async () => {
      const folder = newDataDir();
      const file = join(folder, 'state.db');
      const store = engine === 'sqlite' ? openSqlite(file) : await openPostgres(await createDatabase());
      const workerUrl = new URL('../../src/storage/query-worker.ts', import.meta.url);
      const reader = engine === 'sqlite' ? threadReader({ file, workerUrl }) : directReader(store.db);
      cleanups.push(() => removeDataDir(folder), store.close, reader.close);
      await store.migrate();
      const organisationId = newId<string>();
      await fill(store, organisationId);
      await sql`insert into audit_days select organisation_id, ${sql.raw(DAY)}, response_status_code, method, user_type,
        workspace_id, resource_type, action, country, count(*) from audit_records
        group by 1, 2, 3, 4, 5, 6, 7, 8, 9`.execute(store.db);
      // As the database does by itself in its time.
      if (engine === 'postgres') await sql`vacuum analyze audit_records`.execute(store.db);
      const { list } = createAuditReading({ db: store.db, reader });
      const all = { organisationId, from: START, to: START + MANY * MINUTE };
      const [some] = (await list(all, { page: 0, size: 1 })).records;
      const questions = {
        all,
        'the last day': { ...all, from: all.to - 1_440 * MINUTE },
        method: { ...all, method: 'DELETE' as const },
        status: { ...all, status: 403 },
        user: { ...all, userId: some!.user_id },
        uri: { ...all, uri: some!.uri },
        'client ip': { ...all, clientIp: some!.client_ip },
        'nothing that is there': { ...all, action: 'dance' },
        'a user and a method': { ...all, userId: some!.user_id, method: 'PUT' as const },
        request: { ...all, requestId: some!.request_id },
      };
      const took: Record<string, number> = {};
      for (const [name, filter] of Object.entries(questions)) {
        const started = performance.now();
        await list(filter, { page: 0, size: 50 });
        took[name] = Math.round(performance.now() - started);
      }
      const started = performance.now();
      await list(all, { page: 9_999, size: 50 });
      took['page 10,000'] = Math.round(performance.now() - started);
      console.log(engine, took);
      for (const [name, ms] of Object.entries(took)) expect(`${name} ${ms < 1_000}`).toBe(`${name} true`);
    });

    test('500 refused calls a second do not slow admin writes by more than double', async () => {
      const gateway = engine === 'sqlite' ? await startProcess() : await startNode(await createDatabase());
      cleanups.push(() => gateway.kill());
      const write = async () => {
        const started = performance.now();
        const reply = await gateway.api.post('/v1/api-keys', { name: 'x' });
        expect(reply.status).toBe(200);
        return performance.now() - started;
      };
      const writes = async (forMs: number) => {
        const times: number[] = [];
        for (const end = performance.now() + forMs; performance.now() < end; ) {
          times.push(await write());
          await Bun.sleep(20);
        }
        return median(times);
      };
      await writes(1_000);
      const quiet = await writes(4_000);
      let refused = 0;
      const calls: Promise<void>[] = [];
      const flood = setInterval(() => {
        for (let number = 0; number < 5; number++)
          calls.push(
            gateway.api.post('/v1/api-keys', { name: 'x' }, { key: 'gw-nobody' }).then(({ status }) => {
              refused += Number(status === 401);
            }),
          );
      }, 10);
      const before = performance.now();
      const flooded = await writes(8_000);
      clearInterval(flood);
      const rate = (refused / (performance.now() - before)) * 1_000;
      await Promise.all(calls);
      console.log(engine, { quiet, flooded, rate });

      expect(rate).toBeGreaterThan(400);
      expect(flooded).toBeLessThan(2 * quiet);
    });

    test('killed twenty times, it is never left with half of a change', async () => {
      const home = newDataDir();
      cleanups.push(() => removeDataDir(home));
      const databaseUrl = engine === 'postgres' ? await createDatabase() : null;
      const start = () => (databaseUrl ? startNode(databaseUrl, { dataDir: home }) : startProcess({ dataDir: home }));
      for (let round = 0; round < 20; round++) {
        await killWhileChanging(await start(), 20 + round * 3);
        expect(await strayKeys({ databaseUrl, dataDir: join(home, 'data') })).toEqual(none);
      }
    });
  });
}
