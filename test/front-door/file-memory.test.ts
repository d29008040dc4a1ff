import { expect, test } from 'bun:test';
import { growthWithFile } from '../file-memory.ts';
import { startProcess } from '../process.ts';

test('a file of 20 MB goes in and out without piling up', async () => {
  const gateway = await startProcess();
  try {
    const { whileUploading, whileDownloading, isWhole } = await growthWithFile(gateway, 20_000_000);
    expect(isWhole).toBe(true);
    expect(whileUploading).toBeLessThan(60);
    expect(whileDownloading).toBeLessThan(60);
  } finally {
    await gateway.stop();
  }
});
