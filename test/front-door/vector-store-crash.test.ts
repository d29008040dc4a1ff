import { expect, test } from 'bun:test';
import { newDataDir, removeDataDir } from '../process.ts';
import { killDuringIngestion } from '../vector-store-crash.ts';

test('a process that is killed while files are taken in leaves each of them in the store once', async () => {
  const dataDir = newDataDir();
  try {
    expect(await killDuringIngestion({ files: 15, kills: 1, dataDirs: [dataDir] })).toEqual([]);
  } finally {
    removeDataDir(dataDir);
  }
});
