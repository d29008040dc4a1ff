import { expect, test } from 'bun:test';
import { fuzzGateway } from '../fuzz.ts';
import { createDatabase } from '../postgres.ts';

const postgres = async () => ({
  DATABASE_URL: await createDatabase(),
  GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
});

for (const [store, seed, environmentOf] of [
  ['SQLite', 1, async () => ({})],
  ['PostgreSQL', 2, postgres],
] as const) {
  test(`200 malformed requests are answered in our shape or not at all and leave no trace, on ${store}`, async () => {
    const environment = await environmentOf();

    const { faults, errors, growth, isWell } = await fuzzGateway({ seed, cases: 200, environment });

    expect(faults).toEqual([]);
    expect(errors).toBe('');
    expect(isWell).toBe(true);
    expect(growth).toBeLessThan(150);
  });
}
