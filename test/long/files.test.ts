import { expect, test } from 'bun:test';
import { killDuringUploads } from '../file-crash.ts';
import { growthWithFile } from '../file-memory.ts';
import { createDatabase } from '../postgres.ts';
import { forTests, newDataDir, removeDataDir, startProcess } from '../process.ts';

const SIZE = 200_000_000;
const postgres = async () => ({
  DATABASE_URL: await createDatabase(),
  GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
});

// PostgreSQL's driver reads bytes as text: three times as much to collect for every byte.
for (const [store, mostGrowth, environmentOf] of [
  ['SQLite and a folder', 60, async () => ({})],
  ['PostgreSQL', 150, postgres],
] as const) {
  test(`a file of 200 MB goes in and out without piling up, on ${store}`, async () => {
    const gateway = await startProcess({ environment: { ...forTests, ...(await environmentOf()) } });
    try {
      const growth = await growthWithFile(gateway, SIZE);
      console.log(`  ${JSON.stringify(growth)}`);
      expect(growth.isWhole).toBe(true);
      expect(growth.whileUploading).toBeLessThan(mostGrowth);
      expect(growth.whileDownloading).toBeLessThan(mostGrowth);
    } finally {
      await gateway.stop();
    }
  }, 120_000);

  test(`15 kills while files come and go lose none and show none that is not whole, on ${store}`, async () => {
    const dataDir = newDataDir();
    try {
      const { faults, seen } = await killDuringUploads(15, dataDir, await environmentOf());
      console.log(`  ${seen} files read back`);
      expect(faults).toEqual([]);
    } finally {
      removeDataDir(dataDir);
    }
  }, 300_000);
}
