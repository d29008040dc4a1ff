import { test } from 'bun:test';
import { startGateway } from '../gateway.ts';
import { expectUndisturbed } from '../retrieval/between-workspaces.ts';

for (const engine of ['sqlite', 'postgres'] as const)
  test(`on ${engine}, what another workspace stores, changes or deletes does not change a ranking or a score by a bit`, async () => {
    const gateway = await startGateway({ engine });
    await expectUndisturbed(gateway, { oneOf: 3, loudOnes: 10 });
    await gateway.stop();
  }, 600_000);
