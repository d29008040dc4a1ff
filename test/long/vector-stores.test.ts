import { expect, test } from 'bun:test';
import { startGateway } from '../gateway.ts';
import { createDatabase } from '../postgres.ts';
import { newDataDir, removeDataDir } from '../process.ts';
import { expectUndisturbed } from '../retrieval/between-workspaces.ts';
import { killDuringIngestion } from '../vector-store-crash.ts';

test('a process that is killed again and again while files are taken in leaves each of them in the store once', async () => {
  const dataDir = newDataDir();
  try {
    expect(await killDuringIngestion({ files: 100, kills: 6, dataDirs: [dataDir] })).toEqual([]);
  } finally {
    removeDataDir(dataDir);
  }
});

test('two processes on PostgreSQL, killed in turn, leave each file in the store once', async () => {
  const dataDirs = [newDataDir(), newDataDir()];
  const environment = {
    DATABASE_URL: await createDatabase(),
    GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  };
  try {
    expect(await killDuringIngestion({ files: 60, kills: 3, dataDirs, environment })).toEqual([]);
  } finally {
    for (const dataDir of dataDirs) removeDataDir(dataDir);
  }
});

for (const engine of ['sqlite', 'postgres'] as const)
  test(`on ${engine}, nothing that another workspace has of many documents changes a ranking or a score by a bit`, async () => {
    const gateway = await startGateway({ engine });
    await expectUndisturbed(gateway, { oneOf: 1, loudOnes: 30 });
    await gateway.stop();
  });
