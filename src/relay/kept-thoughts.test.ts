import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDatabase } from '../../test/postgres.ts';
import { givenWorkspaces } from '../../test/workspaces.ts';
import type { Principal } from '../core/principal.ts';
import { createSealer } from '../crypto/seal.ts';
import type { CallThoughts } from '../dialects/lost-thoughts.ts';
import type { Engine } from '../storage/migrate.ts';
import { openPostgres, openSqlite, type Store } from '../storage/store.ts';
import { createKeptThoughts } from './kept-thoughts.ts';

const DAY_MS = 86_400_000;
const principal = (workspaceId: string) => ({ workspaceId, organisationId: 'org' }) as unknown as Principal;
const [mine, foreign] = [principal('mine'), principal('foreign')];
const sealer = createSealer(new Uint8Array(32));
const thoughtsOf = (id: string, text = 'I think.'): CallThoughts => ({
  id,
  name: 'f',
  opening: [],
  before: [{ type: 'reasoning', text, signature: 's', signedBy: 'anthropic' }],
});
const call = (id: string, name = 'f') => [{ id, name }];

function contract(engine: Engine, open: () => Promise<Store>) {
  describe(engine, () => {
    let store: Store;
    let at = 1_760_000_000_000;
    const make = (more: { mostBytes?: number } = {}) => createKeptThoughts({ store, sealer, now: () => at, ...more });
    beforeAll(async () => {
      store = await open();
      await store.migrate();
      await givenWorkspaces(store, ['mine', 'foreign']);
    });
    afterAll(() => store.close());

    test('what was kept is found by call and tool, in its own workspace only', async () => {
      const kept = make();
      await kept.keep(mine, [thoughtsOf('a'), thoughtsOf('b', 'Other.')]);
      const found = await kept.find(mine, [...call('a'), ...call('b'), ...call('c')]);
      expect([...found.keys()].toSorted()).toEqual(['a', 'b']);
      expect(found.get('b')).toEqual(thoughtsOf('b', 'Other.'));
      expect((await kept.find(mine, call('a', 'g'))).size).toBe(0);
      expect((await kept.find(foreign, call('a'))).size).toBe(0);
    });

    test('the same call kept again, as a cached answer does it, is found as it was kept last', async () => {
      const kept = make();
      await kept.keep(mine, [thoughtsOf('again', 'First.')]);
      await kept.keep(mine, [thoughtsOf('again', 'Second.')]);
      expect((await kept.find(mine, call('again'))).get('again')).toEqual(thoughtsOf('again', 'Second.'));
    });

    test('neither ids nor texts are readable in the table', async () => {
      await make().keep(mine, [thoughtsOf('call_readable', 'A readable thought.')]);
      const rows = JSON.stringify(await store.db.selectFrom('kept_thoughts').selectAll().execute());
      expect(rows).not.toContain('readable');
    });

    test('after a day it is gone, first for readers and then from the table', async () => {
      const kept = make();
      await kept.keep(mine, [thoughtsOf('old')]);
      at += DAY_MS - 1;
      expect((await kept.find(mine, call('old'))).size).toBe(1);
      at += 1;
      expect((await kept.find(mine, call('old'))).size).toBe(0);
      await kept.keep(mine, [thoughtsOf('young')]);
      expect(await kept.sweep()).toBeGreaterThan(0);
      expect((await store.db.selectFrom('kept_thoughts').select('id').execute()).length).toBe(1);
    });

    test('thoughts beyond any length are not kept, and of too many the oldest go', async () => {
      const kept = make({ mostBytes: 20_000 });
      await kept.keep(mine, [thoughtsOf('huge', 'x'.repeat(1 << 20))]);
      expect((await kept.find(mine, call('huge'))).size).toBe(0);
      for (let index = 0; index < 130; index++) {
        at += 1;
        await kept.keep(mine, [thoughtsOf(`n${index}`)]);
      }
      await kept.keep(foreign, [thoughtsOf('theirs')]);
      expect(await kept.sweep()).toBeGreaterThan(0);
      expect((await kept.find(mine, call('n0'))).size).toBe(0);
      expect((await kept.find(mine, call('n129'))).size).toBe(1);
      expect((await kept.find(foreign, call('theirs'))).size).toBe(1);
    });

    test('what another master secret has sealed is as good as not there', async () => {
      await make().keep(mine, [thoughtsOf('sealed')]);
      const other = createKeptThoughts({ store, sealer: createSealer(new Uint8Array(32).fill(1)), now: () => at });
      expect((await other.find(mine, call('sealed'))).size).toBe(0);
    });
  });
}

contract('sqlite', async () => openSqlite(':memory:'));
contract('postgres', async () => openPostgres(await createDatabase()));

test('a store that is away neither fails the call nor holds it up', async () => {
  const store = openSqlite(':memory:');
  const kept = createKeptThoughts({ store, sealer, now: () => 0 });
  await kept.keep(mine, [thoughtsOf('a')]);
  expect((await kept.find(mine, call('a'))).size).toBe(0);
  await store.close();
});
