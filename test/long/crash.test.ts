import { expect, test } from 'bun:test';
import { integrityIn, killUnderLoad } from '../crash.ts';
import { newDataDir, removeDataDir, startProcess, startSimulator } from '../process.ts';

const ROUNDS = 20;

test(`${ROUNDS} kills under load lose no acknowledged key and no database`, async () => {
  const simulator = await startSimulator();
  const dataDir = newDataDir();
  try {
    const acknowledged: string[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      acknowledged.push(...(await killUnderLoad(dataDir, simulator.url)));
      console.log(`  round ${round}: ${acknowledged.length} keys so far`);
    }
    const gateway = await startProcess({ dataDir });
    for (const key of acknowledged) {
      expect((await gateway.api.get('/v1/models', { key })).status).toBe(200);
    }
    expect(await gateway.stop()).toBe(0);
    expect(integrityIn(gateway.dataDir)).toEqual({ 'state.db': 'ok', 'logs.db': 'ok' });
  } finally {
    removeDataDir(dataDir);
    await simulator.stop();
  }
}, 300_000);
