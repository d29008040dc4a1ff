import { afterEach, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { killWhileChanging, none, strayKeys } from '../audit-crash.ts';
import { nodeEnvironment, startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { forTests, newDataDir, removeDataDir, runGateway, startProcess } from '../process.ts';
import { query } from '../state-tables.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function given(engine: 'sqlite' | 'postgres') {
  const databaseUrl = engine === 'postgres' ? await createDatabase() : null;
  const home = newDataDir();
  cleanups.push(() => removeDataDir(home));
  const environment = databaseUrl ? nodeEnvironment(databaseUrl) : forTests;
  return {
    home,
    place: { databaseUrl, dataDir: join(home, 'data') },
    start: () => (databaseUrl ? startNode(databaseUrl, { dataDir: home }) : startProcess({ dataDir: home })),
    audit: (...rest: string[]) => runGateway({ arguments: ['audit', ...rest], dataDir: home, environment }),
  };
}

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(engine, () => {
    test('a process that is killed leaves no change without its record, and no record without its change', async () => {
      const { start, place, audit } = await given(engine);
      for (let round = 0; round < 2; round++) {
        await killWhileChanging(await start(), 40);
        expect(await strayKeys(place)).toEqual(none);
      }
      const { exitCode, output } = await audit('verify');
      expect(output).toContain('every one as it was written');
      expect(exitCode).toBe(0);
    });

    test('gateway audit verify proves the log beside a running gateway, and names the first broken record', async () => {
      const { start, place, audit, home } = await given(engine);
      const gateway = await start();
      cleanups.push(() => gateway.kill());
      const made = await gateway.api.post('/v1/api-keys', { name: 'one' });
      await gateway.api.post('/v1/api-keys', { name: 'two' });
      const sealed = async () => {
        const [row] = await query<{ n: number }>(place, 'select count(*) as n from audit_records where batch is null');
        return Number(row!.n) === 0;
      };
      while (!(await sealed())) await Bun.sleep(20);

      const whole = await audit('verify');
      expect(whole.output).toMatch(/: 2 records, every one as it was written/);
      expect(whole.exitCode).toBe(0);
      const head = await audit('head');
      expect(JSON.parse(head.output)).toMatchObject({ records: 2 });
      const file = join(home, 'head');
      writeFileSync(file, head.output);
      expect((await audit('verify', '--head', file)).exitCode).toBe(0);

      const id = made.headers.get('x-gateway-request-id');
      await query(place, `update audit_records set response_status_code = 403 where id = '${id}'`);
      const broken = await audit('verify');
      expect(broken.exitCode).toBe(1);
      expect(broken.errors).toContain(`Record ${id}: it was altered`);
    });
  });
}

test('a wrong command of gateway audit says how it is used', async () => {
  const { exitCode, errors } = await runGateway({ arguments: ['audit', 'destroy'] });

  expect(exitCode).toBe(2);
  expect(errors).toContain('gateway audit verify');
});
