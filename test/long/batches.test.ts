import { expect, test } from 'bun:test';
import { harmDuringBatch } from '../chaos/batch.ts';
import { createDatabase } from '../postgres.ts';
import { newDataDir, removeDataDir } from '../process.ts';

for (const [store, nodes, environmentOf] of [
  ['SQLite', 1, async () => ({})],
  [
    'PostgreSQL with two nodes',
    2,
    async () => ({
      DATABASE_URL: await createDatabase(),
      GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    }),
  ],
] as const)
  test(`a batch of 5000 requests survives ten kills and freezes, on ${store}`, async () => {
    const dataDirs = Array.from({ length: nodes }, newDataDir);
    try {
      const { faults, errors, sentTwice } = await harmDuringBatch({
        lines: 5_000,
        harms: 10,
        dataDirs,
        environment: await environmentOf(),
        // Past the lease, so that others take over and the sleeper comes back too late.
        freezeMs: nodes > 1 ? 40_000 : 2_000,
        limitMs: 240_000,
      });
      console.log(`${store}: ${sentTwice} requests were made twice`);
      expect(faults).toEqual([]);
      expect(errors).toBe(0);
    } finally {
      dataDirs.forEach(removeDataDir);
    }
  });
