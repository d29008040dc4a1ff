import { expect, test } from 'bun:test';
import { createDatabase } from '../postgres.ts';
import { fuzzDescribed } from './described/fuzz.ts';

const postgres = async () => ({
  DATABASE_URL: await createDatabase(),
  GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
});

for (const [store, seed, environmentOf] of [
  ['SQLite', 1, async () => ({})],
  ['PostgreSQL', 2, postgres],
] as const) {
  test(`500 calls over every described operation meet no fault of ours, on ${store}`, async () => {
    const { faults, errors, isWell } = await fuzzDescribed({ seed, cases: 500, environment: await environmentOf() });

    expect(faults).toEqual([]);
    expect(errors).toBe('');
    expect(isWell).toBe(true);
  });
}
