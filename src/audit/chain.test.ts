import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { givenChain, givenOrganisation, record, sealNow, testSealer } from '../../test/audit/records.ts';
import { createDatabase } from '../../test/postgres.ts';
import { newId } from '../core/ids.ts';
import { createSealer } from '../crypto/seal.ts';
import type { AuditHeadRow } from '../storage/schema.ts';
import { type Db, openPostgres, openSqlite, type Store } from '../storage/store.ts';
import { signedHead } from './chain.ts';
import { insertRecords } from './record.ts';
import { type Verdict, verifyChain } from './verify.ts';

const sealer = testSealer();

interface Chain {
  readonly db: Db;
  readonly organisationId: string;
  readonly ids: readonly string[];
}

/** What an attacker with access to the database might do, and which record verify names: by its place, from 0. */
const tampering: readonly [string, (chain: Chain) => Promise<unknown>, number | null][] = [
  ...(
    [
      ['uri', '/v1/elsewhere'],
      ['user_id', '00000000-0000-0000-0000-000000000000'],
      ['request_body', '{}'],
      ['request_headers', '{"a":"b"}'],
      ['query_params', '{"a":"b"}'],
      ['response_status_code', 403],
      ['client_ip', '198.51.100.1'],
      ['country', 'DE'],
      ['method', 'DELETE'],
      ['action', 'delete'],
      ['resource_type', 'configs'],
      ['user_type', 'user'],
      ['workspace_id', 'other'],
      ['at', 1],
    ] as const
  ).map(([column, value]): (typeof tampering)[number] => [
    `editing ${column}`,
    ({ db, ids }) =>
      db
        .updateTable('audit_records')
        .set({ [column]: value })
        .where('id', '=', ids[4]!)
        .execute(),
    4,
  ]),
  [
    'giving a record to another organisation',
    ({ db, ids }) =>
      db.updateTable('audit_records').set({ organisation_id: 'other' }).where('id', '=', ids[4]!).execute(),
    4,
  ],
  [
    'editing a record together with its code',
    ({ db, ids }) =>
      db.updateTable('audit_records').set({ uri: '/x', mac: 'forged' }).where('id', '=', ids[4]!).execute(),
    4,
  ],
  [
    'putting the code of one record to another',
    ({ db, ids }) =>
      db
        .updateTable('audit_records')
        .set({ mac: sql`(select mac from audit_records where id = ${ids[0]})` })
        .where('id', '=', ids[4]!)
        .execute(),
    4,
  ],
  ['deleting a record', ({ db, ids }) => deleteRecords(db, [ids[4]!]), 4],
  ['deleting the first record', ({ db, ids }) => deleteRecords(db, [ids[0]!]), 0],
  ['cutting the last records', ({ db, ids }) => deleteRecords(db, ids.slice(7)), 7],
  [
    'cutting the last records with their batch',
    async ({ db, ids, organisationId }) => {
      await deleteRecords(db, ids.slice(6));
      await deleteBatch(db, organisationId, 3);
    },
    null,
  ],
  [
    'cutting the tail and setting the end back by hand',
    async ({ db, ids, organisationId }) => {
      await deleteRecords(db, ids.slice(6));
      await deleteBatch(db, organisationId, 3);
      await db
        .updateTable('audit_heads')
        .set({
          number: 2,
          records: 6,
          seal: sql`(select seal from audit_batches where organisation_id = ${organisationId} and number = 2)`,
        })
        .where('organisation_id', '=', organisationId)
        .execute();
    },
    null,
  ],
  [
    'deleting a batch in the middle and keeping its records',
    ({ db, organisationId }) => deleteBatch(db, organisationId, 2),
    3,
  ],
  [
    'deleting the end of the chain',
    ({ db, organisationId }) => db.deleteFrom('audit_heads').where('organisation_id', '=', organisationId).execute(),
    null,
  ],
  [
    'deleting everything',
    async ({ db, ids, organisationId }) => {
      await deleteRecords(db, ids);
      await db.deleteFrom('audit_batches').where('organisation_id', '=', organisationId).execute();
    },
    null,
  ],
  [
    'swapping two records of a batch',
    async ({ db, ids, organisationId }) =>
      db
        .updateTable('audit_batches')
        .set({ ids: JSON.stringify([ids[4], ids[3], ids[5]]) })
        .where('organisation_id', '=', organisationId)
        .where('number', '=', 2)
        .execute(),
    // The batch is wrong as a whole, and is named after what it now begins with.
    4,
  ],
  [
    'swapping the times of two records',
    async ({ db, ids }) => {
      await db
        .updateTable('audit_records')
        .set({ at: Date.UTC(2026, 0, 1, 1) })
        .where('id', '=', ids[0]!)
        .execute();
      await db
        .updateTable('audit_records')
        .set({ at: Date.UTC(2026, 0, 1, 0) })
        .where('id', '=', ids[1]!)
        .execute();
    },
    0,
  ],
  [
    'moving a record to another batch',
    ({ db, ids }) => db.updateTable('audit_records').set({ batch: 3 }).where('id', '=', ids[4]!).execute(),
    4,
  ],
  [
    'taking a record out of the chain',
    ({ db, ids }) => db.updateTable('audit_records').set({ batch: null }).where('id', '=', ids[4]!).execute(),
    4,
  ],
  [
    'swapping two batches',
    async ({ db, organisationId }) => {
      const number = (from: number, to: number) =>
        db
          .updateTable('audit_batches')
          .set({ number: to })
          .where('organisation_id', '=', organisationId)
          .where('number', '=', from)
          .execute();
      await number(1, 99);
      await number(2, 1);
      await number(99, 2);
    },
    3,
  ],
];

const deleteRecords = (db: Db, ids: readonly string[]) =>
  db.deleteFrom('audit_records').where('id', 'in', ids).execute();
const deleteBatch = (db: Db, organisationId: string, number: number) =>
  db.deleteFrom('audit_batches').where('organisation_id', '=', organisationId).where('number', '=', number).execute();

const undone = new Error('undone');

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`the chain on ${engine}`, () => {
    let store: Store;
    let chain: Chain;
    beforeAll(async () => {
      store = engine === 'sqlite' ? openSqlite(':memory:') : await openPostgres(await createDatabase());
      await store.migrate();
      const organisationId = await givenOrganisation(store);
      chain = { db: store.db, organisationId, ids: await givenChain(store, sealer, organisationId) };
    });
    afterAll(() => store.close());

    const verify = (db: Db = store.db) => verifyChain({ db, sealer, organisationId: chain.organisationId });

    /** Does it, looks, and leaves everything as it was. */
    const verdictAfter = async (tamper: (chain: Chain) => Promise<unknown>): Promise<Verdict> => {
      let verdict: Verdict | null = null;
      const attempt = store.transaction(async (db) => {
        await tamper({ ...chain, db });
        verdict = await verify(db);
        throw undone;
      });
      await attempt.catch((error) => {
        if (error !== undone) throw error;
      });
      return verdict!;
    };

    test('a chain that nobody touched holds', async () => {
      expect(await verify()).toMatchObject({ records: 9, unsealed: 0, broken: null });
    });

    for (const [what, tamper, place] of tampering) {
      test(`${what} is found`, async () => {
        const { broken } = await verdictAfter(tamper);

        expect(broken).not.toBeNull();
        expect(broken!.record).toBe(place === null ? null : chain.ids[place]!);
      });
    }

    test('a record that somebody put in is found, before it is sealed and after', async () => {
      const forged = { ...record(chain.organisationId), mac: 'forged' };
      const before = await verdictAfter(({ db }) =>
        db
          .insertInto('audit_records')
          .values({ ...forged, batch: null })
          .execute(),
      );
      const inside = await verdictAfter(({ db }) =>
        db
          .insertInto('audit_records')
          .values({ ...forged, batch: 2 })
          .execute(),
      );
      const behind = await verdictAfter(({ db }) =>
        db
          .insertInto('audit_records')
          .values({ ...forged, batch: 17 })
          .execute(),
      );

      for (const { broken } of [before, inside, behind]) expect(broken?.record).toBe(forged.id);
    });

    test('a record that was edited before it was sealed is found after it was', async () => {
      const organisationId = await givenOrganisation(store);
      const one = record(organisationId);
      await insertRecords(store.db, sealer, [one]);
      await store.db.updateTable('audit_records').set({ uri: '/x' }).where('id', '=', one.id).execute();
      await sealNow(store, sealer);

      const { broken } = await verifyChain({ db: store.db, sealer, organisationId });

      expect(broken?.record).toBe(one.id);
    });

    test('a database that was turned back whole is found by an end that was kept elsewhere', async () => {
      const { head } = await verify();
      const kept = { ...head!, number: 4, records: 12, seal: 'later' };
      const ends = [sealedEnd(kept), { ...kept, signature: 'forged' }];

      for (const end of ends) {
        const { broken } = await verifyChain({ ...chain, sealer, knownHeads: [end] });
        expect(broken).not.toBeNull();
      }
      const { broken } = await verifyChain({ ...chain, sealer, knownHeads: [head!] });
      expect(broken).toBeNull();
    });

    test('another master secret proves nothing', async () => {
      const other = createSealer(Buffer.alloc(32, 8));

      const { broken } = await verifyChain({ ...chain, sealer: other });

      expect(broken?.record).toBe(chain.ids[0]!);
    });

    test('an altered end is not built upon, and is said to be wrong', async () => {
      const organisationId = await givenOrganisation(store);
      await givenChain(store, sealer, organisationId, 1, 1);
      await store.db
        .updateTable('audit_heads')
        .set({ records: 0 })
        .where('organisation_id', '=', organisationId)
        .execute();
      await insertRecords(store.db, sealer, [record(organisationId)]);

      expect(await sealNow(store, sealer)).toEqual(['audit-seal']);
      const { broken, unsealed } = await verifyChain({ db: store.db, sealer, organisationId });
      expect(broken).not.toBeNull();
      expect(unsealed).toBe(1);
      for (const table of ['audit_records', 'audit_batches', 'audit_heads', 'audit_days'] as const)
        await store.db.deleteFrom(table).where('organisation_id', '=', organisationId).execute();
    });

    test('sealers that meet make one chain', async () => {
      const organisationId = await givenOrganisation(store);
      const records = Array.from({ length: 1_200 }, () => record(organisationId, { id: newId() }));
      for (let from = 0; from < records.length; from += 300)
        await insertRecords(store.db, sealer, records.slice(from, from + 300));

      await Promise.all([1, 2, 3, 4].map(() => sealNow(store, sealer)));
      await sealNow(store, sealer);

      expect(await verifyChain({ db: store.db, sealer, organisationId })).toMatchObject({
        records: 1_200,
        unsealed: 0,
        broken: null,
      });
    });
  });
}

const sealedEnd = ({ signature: _, ...head }: AuditHeadRow): AuditHeadRow => signedHead(sealer, head);
