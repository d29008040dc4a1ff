import { afterAll, beforeAll, expect } from 'bun:test';
import { sql } from 'kysely';
import { limitsModeOf, startLimitNode, until } from '../../../test/limit-nodes.ts';
import { countersContract } from '../../../test/limits/counters-suite.ts';
import { createDatabase } from '../../../test/postgres.ts';
import { startRedis, type TestRedis } from '../../../test/redis.ts';
import { openPostgres } from '../../storage/store.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Moves the ends of holds in Redis, beside every node. */
async function passTimeInRedis(ms: number) {
  const client = new Bun.RedisClient(server.url);
  for (const key of await client.keys('gateway:*:due'))
    for (const id of (await client.send('ZRANGE', [key, '0', '-1'])) as string[])
      await client.send('ZINCRBY', [key, String(-ms), id]);
  client.close();
}

/** What time passes is moved by hand in one place: a busy machine must not make the nodes count in the other. */
const PATIENT = { redisAnswerMs: 30_000, answerMs: 30_000, waitMs: 30_000, deadAfterMs: 60_000 };

for (const where of ['redis', 'postgres'] as const) {
  countersContract(`counters of three nodes that count in ${where}`, async () => {
    const store = await openPostgres(await createDatabase());
    await store.migrate();
    const redisUrl = where === 'redis' ? server.url : null;
    const nodes = await Promise.all([1, 2, 3].map(() => startLimitNode(store, { redisUrl, ...PATIENT })));
    await until(`${where} counts`, async () => (await limitsModeOf(store)) === where);
    return {
      counters: nodes[0]!.counters,
      store,
      others: nodes.slice(1).map(({ counters }) => counters),
      passTime: async (ms) => {
        if (where === 'redis') await passTimeInRedis(ms);
        else await sql`update limit_holds set expires_at = expires_at - ${ms}::bigint`.execute(store.db);
      },
      ledger: () => store.db.selectFrom('usage_ledger').selectAll().execute(),
      close: async () => {
        expect(await limitsModeOf(store)).toBe(where);
        await Promise.all(nodes.map((node) => node.close()));
        await store.close();
      },
    };
  });
}
