import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Compilable, sql } from 'kysely';
import { record, sealNow, testSealer } from '../../test/audit/records.ts';
import { createDatabase } from '../../test/postgres.ts';
import { newId } from '../core/ids.ts';
import { directReader, type Reader, threadReader } from '../storage/reader.ts';
import { openPostgres, openSqlite, type Store } from '../storage/store.ts';
import { type AuditFilter, type AuditReading, createAuditReading } from './reading.ts';
import { insertRecords, type NewRecord } from './record.ts';

const DAY = 86_400_000;
const START = Date.UTC(2026, 0, 1);
const MANY = 3_000;
const organisationId = newId<string>();
const user = newId<string>();

/** One record every minute; the special ones stand out by one field each. */
const special: Partial<NewRecord>[] = [
  { method: 'DELETE' },
  { uri: '/v1/configs/special' },
  { user_id: user },
  { user_type: 'user' },
  { workspace_id: 'special' },
  { response_status_code: 418 },
  { resource_type: 'special' },
  { action: 'special' },
  { client_ip: '2001:db8::1' },
  { country: 'DE' },
];
const records = Array.from({ length: MANY }, (_, number) =>
  record(organisationId, { at: START + number * 60_000, ...special[number - 1_000] }),
);
const all: AuditFilter = { organisationId, from: START, to: START + 30 * DAY };

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`reading on ${engine}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-audit-'));
    let store: Store;
    let reader: Reader;
    let reading: AuditReading;
    beforeAll(async () => {
      const file = join(folder, 'state.db');
      store = engine === 'sqlite' ? openSqlite(file) : await openPostgres(await createDatabase());
      await store.migrate();
      const workerUrl = new URL('../storage/query-worker.ts', import.meta.url);
      reader = engine === 'sqlite' ? threadReader({ file, workerUrl }) : directReader(store.db);
      reading = createAuditReading({ db: store.db, reader });
      for (let from = 0; from < MANY; from += 500) {
        await insertRecords(store.db, testSealer(), records.slice(from, from + 500));
        // The last ones are not sealed, and so are not in the counts of their day.
        if (from === 2_000) await sealNow(store, testSealer());
      }
      await insertRecords(store.db, testSealer(), [record(newId())]);
      await sql`analyze`.execute(store.db);
    });
    afterAll(async () => {
      reader.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const page = (filter: Partial<AuditFilter>, number = 0, size = 50) =>
      reading.list({ ...all, ...filter }, { page: number, size });
    const idsOf = (list: { records: readonly { request_id: string }[] }) =>
      list.records.map(({ request_id }) => request_id);

    test('pages come newest first, do not overlap and leave nothing out', async () => {
      const seen: string[] = [];
      for (let number = 0; number < MANY / 100; number++) seen.push(...idsOf(await page({}, number, 100)));

      expect(seen).toEqual(records.map(({ id }) => id).reverse());
      expect(await page({}, MANY / 100, 100)).toEqual({ records: [], total: MANY });
    });

    test('the total is the same whether it is counted by days or one by one', async () => {
      for (const [from, to] of [
        [START, START + 30 * DAY],
        [START - 40 * DAY, START + 40 * DAY],
        [START - 1, START + 2 * DAY],
        [START + 1, START + 2 * DAY - 1],
        [START + DAY - 1, START + 2 * DAY],
      ] as const) {
        const expected = records.filter(({ at, method }) => at >= from && at <= to && method === 'POST').length;
        expect((await page({ from, to, method: 'POST' }, 0, 0)).total).toBe(expected);
      }
    });

    test('a page of no records has the total alone', async () => {
      expect(await page({}, 0, 0)).toEqual({ records: [], total: MANY });
    });

    test('both ends of the time are included, and what lies beyond is not', async () => {
      const [from, to] = [records[10]!.at, records[20]!.at];

      const found = await page({ from, to });

      expect(found.total).toBe(11);
      expect(found.records[0]!.timestamp).toBe(new Date(to).toISOString());
      expect(found.records[10]!.timestamp).toBe(new Date(from).toISOString());
      expect((await page({ from: from + 1, to: to - 1 })).total).toBe(9);
    });

    const filters: [string, Partial<AuditFilter>, number][] = [
      ['method', { method: 'DELETE' }, 1_000],
      ['uri', { uri: '/v1/configs/special' }, 1_001],
      ['user_id', { userId: user }, 1_002],
      ['user_type', { userType: 'user' }, 1_003],
      ['workspace_id', { workspaceId: 'special' }, 1_004],
      ['response_status_code', { status: 418 }, 1_005],
      ['resource_type', { resourceType: 'special' }, 1_006],
      ['action', { action: 'special' }, 1_007],
      ['client_ip', { clientIp: '2001:db8::1' }, 1_008],
      ['country', { country: 'DE' }, 1_009],
      ['request_id', { requestId: records[7]!.id }, 7],
    ];
    for (const [name, filter, number] of filters) {
      test(`${name} selects`, async () => {
        const found = await page(filter);

        expect(found.total).toBe(1);
        expect(idsOf(found)).toEqual([records[number]!.id]);
      });
    }

    test('all filters together select what fits every one of them', async () => {
      const one = records[1_001]!;
      const whole: Partial<AuditFilter> = {
        method: one.method,
        uri: one.uri,
        requestId: one.id,
        userId: one.user_id,
        userType: one.user_type,
        workspaceId: one.workspace_id,
        status: one.response_status_code,
        resourceType: one.resource_type,
        action: one.action,
        clientIp: one.client_ip,
        country: one.country,
      };
      expect(idsOf(await page(whole))).toEqual([one.id]);
      expect((await page({ ...whole, country: 'FR' })).total).toBe(0);
    });

    test('another organisation sees nothing of it', async () => {
      expect((await page({ organisationId: newId() })).total).toBe(0);
    });

    test('an export has every record once, oldest first', async () => {
      const exported: string[] = [];
      for await (const some of reading.each(all)) exported.push(...some.map(({ request_id }) => request_id));

      expect(exported).toEqual(records.map(({ id }) => id));
    });

    test('an export goes on between records of the same moment', async () => {
      const other = newId<string>();
      const alike = Array.from({ length: 1_100 }, () => record(other, { at: START }));
      for (let from = 0; from < alike.length; from += 550)
        await insertRecords(store.db, testSealer(), alike.slice(from, from + 550));
      let count = 0;
      for await (const some of reading.each({ ...all, organisationId: other })) count += some.length;

      expect(count).toBe(1_100);
    });

    /** How the store would find it, as text. */
    const planOf = async (query: Compilable<unknown>): Promise<string> => {
      const { sql: text, parameters } = query.compile();
      const prefix = engine === 'sqlite' ? 'explain query plan' : 'explain';
      const rows = await store.db.connection().execute(async (db) => {
        // So few rows are read faster than searched; it is about millions.
        if (engine === 'postgres') await sql`set enable_seqscan = off`.execute(db);
        const explained = { ...query.compile(), sql: `${prefix} ${text}`, parameters };
        return (await db.executeQuery<Record<string, unknown>>(explained)).rows;
      });
      return rows.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n');
    };

    test('nothing is found by reading the whole table', async () => {
      const narrow = { ...all, to: START + DAY / 4 };
      for (const filter of [narrow, ...filters.map(([, filter]) => ({ ...narrow, ...filter }))]) {
        const plans = [reading.queries.total(filter), reading.queries.page(filter, { offset: 0, limit: 50 })];
        for (const query of plans) {
          const plan = await planOf(query);
          expect(plan).toMatch(/audit_records_(time|user_id|client_ip|uri)|audit_records_pkey|autoindex_audit_records/);
          expect(plan).not.toMatch(/SCAN audit_records(?! USING)|Seq Scan on audit_records/);
        }
      }
    });
  });
}
