import { expect, test } from 'bun:test';
import { fuzzDescribed } from '../attack/described/fuzz.ts';
import { createDatabase } from '../postgres.ts';

const postgres = async () => ({
  DATABASE_URL: await createDatabase(),
  GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
});

for (const [store, environmentOf] of [
  ['SQLite', async () => ({})],
  ['PostgreSQL', postgres],
] as const) {
  test(`20,000 calls over every described operation meet no fault of ours, on ${store}`, async () => {
    // Other calls every day; the seed is in each fault, so that it can be had again.
    const seed = Math.floor(Date.now() / 86_400_000);
    const progress = (done: number) => {
      if (done % 5_000 === 0) console.log(`  ${done} on ${store}`);
    };

    const fuzzed = await fuzzDescribed({ seed, cases: 20_000, environment: await environmentOf(), progress });

    const { faults, errors, isWell, delay, statuses, operations, unreached } = fuzzed;
    console.log(`  statuses ${JSON.stringify(statuses)}`);
    console.log(`  ${operations - unreached.length} of ${operations} operations answered 2xx at least once`);
    console.log(`  /health took ${delay.p99Ms} ms at p99, ${delay.worstMs} ms at worst`);
    expect(faults).toEqual([]);
    expect(errors).toBe('');
    expect(isWell).toBe(true);
  }, 600_000);
}
