import { expect, test } from 'bun:test';
import { fuzzGateway } from '../fuzz.ts';
import { createDatabase } from '../postgres.ts';

const postgres = async () => ({
  DATABASE_URL: await createDatabase(),
  GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
});

for (const [store, cases, environmentOf] of [
  ['SQLite', 50_000, async () => ({})],
  ['PostgreSQL', 10_000, postgres],
] as const) {
  test(`${cases} malformed requests are answered in our shape or not at all and leave no trace, on ${store}`, async () => {
    // Other cases every day; the seed is in each fault, so that it can be had again.
    const seed = Math.floor(Date.now() / 86_400_000);
    const startedAt = performance.now();
    const progress = (done: number) => {
      if (done % 10_000 === 0) console.log(`  ${done} after ${Math.round(performance.now() - startedAt)} ms`);
    };
    const environment = await environmentOf();

    const { faults, errors, growth, isWell } = await fuzzGateway({ seed, cases, environment, progress });

    console.log(`  growth ${growth} MB`);
    expect(faults).toEqual([]);
    expect(errors).toBe('');
    expect(isWell).toBe(true);
    expect(growth).toBeLessThan(150);
  }, 600_000);
}
