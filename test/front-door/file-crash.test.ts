import { expect, test } from 'bun:test';
import { killDuringUploads } from '../file-crash.ts';
import { createDatabase } from '../postgres.ts';
import { newDataDir, removeDataDir } from '../process.ts';

for (const [store, environmentOf] of [
  ['SQLite and a folder', async () => ({})],
  [
    'PostgreSQL',
    async () => ({
      DATABASE_URL: await createDatabase(),
      GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    }),
  ],
] as const) {
  test(`a process that is killed while files come and go loses none and shows none that is not whole, on ${store}`, async () => {
    const dataDir = newDataDir();
    try {
      const { faults, seen } = await killDuringUploads(2, dataDir, await environmentOf());
      expect(faults).toEqual([]);
      expect(seen).toBeGreaterThan(0);
    } finally {
      removeDataDir(dataDir);
    }
  });
}
