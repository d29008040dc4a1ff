import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { AnonymousCall } from '../../http/route.ts';
import { openSqlite, type Store } from '../../storage/store.ts';
import { createClients } from './clients.ts';

const HOUR = 3_600_000;
const redirect_uris = ['https://app.example/callback'];
let store: Store;
let at: number;
beforeEach(async () => {
  at = 1_800_000_000_000;
  store = openSqlite(':memory:');
  await store.migrate();
});
afterEach(() => store.close());

const clients = () =>
  createClients({
    store,
    documents: { known: () => null, read: () => Promise.reject(new Error('nobody asked for it')) },
    apps: { find: async () => null },
    mayRegister: true,
    now: () => at,
  });

async function register(): Promise<string> {
  const request = new Request('http://gateway/oauth/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris }),
  });
  const answer = await clients().register({ request } as AnonymousCall);
  return ((await answer.json()) as { client_id: string }).client_id;
}

/** As many as there is room for, from an attacker who uses none of them. */
async function flood(createdAt: number) {
  const metadata = JSON.stringify({ redirect_uris });
  for (let from = 0; from < 10_000; from += 500) {
    const rows = Array.from({ length: 500 }, (_, index) => ({
      id: `mcp-client-${String(from + index).padStart(22, '0')}`,
      metadata,
      created_at: createdAt + from + index,
      used_at: null,
    }));
    await store.db.insertInto('mcp_clients').values(rows).execute();
  }
}

test('whoever registers clients in masses does not keep others out', async () => {
  await flood(at - 3 * HOUR);
  const id = await register();
  expect(await clients().find(id, { mayFetch: false })).toMatchObject({ id, origin: 'registration' });
  const { total } = await store.db
    .selectFrom('mcp_clients')
    .select((select) => select.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  expect(Number(total)).toBeLessThanOrEqual(10_000);
});

test('a registration that is about to be used is not pushed out; the flood waits', async () => {
  await flood(at - HOUR / 2);
  await expect(register()).rejects.toMatchObject({ code: 'oauth_too_many_requests', status: 429 });
  at += HOUR;
  expect(await register()).toMatch(/^mcp-client-/);
});
