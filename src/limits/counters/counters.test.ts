import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CountersBench, countersContract } from '../../../test/limits/counters-suite.ts';
import { createDatabase } from '../../../test/postgres.ts';
import { openPostgres, openSqlite, type Store } from '../../storage/store.ts';
import { createPostgresCounters } from '../coordinated/postgres-counters.ts';
import { openJournalCounters } from '../journal/journal-counters.ts';
import { createLedger } from '../journal/ledger.ts';

const newFolder = () => mkdtempSync(join(tmpdir(), 'gateway-counters-'));

const ledgerOf = (store: Store) => () => store.db.selectFrom('usage_ledger').selectAll().execute();

countersContract('counters in a journal', async (): Promise<CountersBench> => {
  const store = openSqlite(':memory:');
  await store.migrate();
  const folder = newFolder();
  let skipped = 0;
  const counters = await openJournalCounters({ store, folder, now: () => Date.now() + skipped });
  return {
    counters,
    store,
    others: [],
    passTime: async (ms) => {
      skipped += ms;
    },
    ledger: ledgerOf(store),
    close: async () => {
      await counters.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

countersContract('counters in PostgreSQL', async (): Promise<CountersBench> => {
  const store = await openPostgres(await createDatabase());
  await store.migrate();
  const folders = [newFolder(), newFolder(), newFolder()];
  const [counters, ...others] = folders.map((folder, index) =>
    createPostgresCounters({
      ...{ store, ledger: createLedger({ store, folder, now: Date.now }), node: `node-${index}` },
      // A busy machine is no PostgreSQL that is away.
      answerWithinMs: 60_000,
    }),
  );
  return {
    counters: counters!,
    store,
    others,
    passTime: async (ms) => {
      await store.db
        .updateTable('limit_holds')
        .set((set) => ({ expires_at: set('expires_at', '-', ms) }))
        .execute();
    },
    ledger: ledgerOf(store),
    close: async () => {
      for (const node of [counters!, ...others]) await node.close();
      await store.close();
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    },
  };
});
