import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDatabase } from '../../../test/postgres.ts';
import { givenWorkspaces } from '../../../test/workspaces.ts';
import type { Principal } from '../../core/principal.ts';
import { openPostgres, openSqlite, type Store } from '../../storage/store.ts';
import { createFeedback } from './feedback.ts';

const who = { organisationId: 'org', workspaceId: 'raters', keyId: 'key', scopes: new Set() } as unknown as Principal;
const input = { trace_id: 't', value: 1, weight: 1, metadata: {} };

for (const [name, open] of [
  ['SQLite', async () => openSqlite(':memory:')],
  ['PostgreSQL', async () => openPostgres(await createDatabase())],
] as const) {
  describe(`feedback on ${name}`, () => {
    let store: Store;
    let time = 0;
    beforeAll(async () => {
      store = await open();
      await store.migrate();
      await givenWorkspaces(store, ['raters']);
    });
    afterAll(() => store.close());

    test('what is older than the log keeps its entries is swept, all of it and nothing else', async () => {
      const feedback = createFeedback({ store, now: () => time });
      time = 1_000;
      for (let count = 0; count < 3; count++) await feedback.create(who, Array(900).fill(input));
      time = 2_000;
      const kept = await feedback.create(who, [input, input]);

      expect(await feedback.sweep(2_000)).toBe(2_700);

      const left = await store.db.selectFrom('feedbacks').select('id').execute();
      expect(left.map(({ id }) => id).sort()).toEqual(kept.toSorted());
      expect(await feedback.sweep(2_000)).toBe(0);
    });

    test('a sweep that is told to stop begins nothing more', async () => {
      const feedback = createFeedback({ store, now: () => 0 });
      await feedback.create(who, [input]);
      expect(await feedback.sweep(1, AbortSignal.abort())).toBe(0);
    });
  });
}
