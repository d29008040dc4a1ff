import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway, type TestGateway } from '../../gateway.ts';
import { nodeEnvironment, startNode } from '../../nodes.ts';
import { createDatabase } from '../../postgres.ts';
import {
  eventually,
  forTests,
  type GatewayProcess,
  newDataDir,
  removeDataDir,
  runGateway,
  startProcess,
} from '../../process.ts';
import { query } from '../../state-tables.ts';

/** An intruder has the database, and neither the machine of a node nor the master secret. */

const GATEWAY_ENCRYPTION_KEY = Buffer.alloc(32, 1).toString('base64');
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function given(engine: 'sqlite' | 'postgres', environment: Record<string, string> = {}) {
  const databaseUrl = engine === 'postgres' ? await createDatabase() : null;
  const newHome = () => {
    const home = newDataDir();
    cleanups.push(() => removeDataDir(home));
    return home;
  };
  const home = newHome();
  const all = {
    ...(databaseUrl ? nodeEnvironment(databaseUrl) : { ...forTests, GATEWAY_ENCRYPTION_KEY }),
    ...environment,
  };
  const place = { databaseUrl, dataDir: join(home, 'data') };
  const run = (...rest: string[]) => runGateway({ arguments: rest, dataDir: home, environment: all });
  return {
    home,
    newHome,
    place,
    ask: <Row>(text: string) => query<Row>(place, text),
    start: async (dataDir = home) => {
      const gateway = await (databaseUrl
        ? startNode(databaseUrl, { dataDir, environment })
        : startProcess({ dataDir, environment: all }));
      cleanups.push(() => gateway.isAlive && gateway.kill());
      return gateway;
    },
    /** In this process, which takes a third of the work: for tests that do not end it. */
    startHere: async () => {
      mkdirSync(place.dataDir);
      const gateway = await startGateway({
        ...{ engine, environment: all, dataDir: place.dataDir },
        ...(databaseUrl && { databaseUrl }),
      });
      cleanups.push(() => gateway.stop());
      return gateway;
    },
    audit: (...rest: string[]) => run('audit', ...rest),
    run,
  };
}

type Given = Awaited<ReturnType<typeof given>>;
type Node = Pick<GatewayProcess | TestGateway, 'api' | 'dataDir'>;

const TABLES = ['audit_records', 'audit_batches', 'audit_heads', 'audit_days'];
const emptied = async ({ ask }: Given) => {
  for (const table of TABLES) await ask(`delete from ${table}`);
};
const makeKey = (gateway: Node, name: string) => gateway.api.post('/v1/api-keys', { name });
const alarms = async (gateway: Node): Promise<string[]> =>
  (await gateway.api.get('/health')).json.degraded.map(({ part }: { part: string }) => part);
const sealed = ({ ask }: Given) =>
  eventually('every record is sealed', async () => {
    const [row] = await ask<{ n: number }>('select count(*) as n from audit_records where batch is null');
    return Number(row!.n) === 0;
  });
const keyNames = async ({ ask }: Given) =>
  (await ask<{ name: string }>("select name from api_keys where origin = 'api' order by name")).map(({ name }) => name);
/** What a node holds is what it has seen, so it must have looked after the last record was sealed. */
const held = async (installation: Given, gateway: Node) => {
  await sealed(installation);
  const file = join(gateway.dataDir, 'audit-heads.json');
  const [head] = await installation.ask<{ signature: string }>('select signature from audit_heads');
  await eventually('the node holds the end', async () =>
    (
      await Bun.file(file)
        .text()
        .catch(() => '')
    ).includes(head!.signature),
  );
};

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(engine, () => {
    test('a log that was emptied behind a running node is refused, shown, and lifted only on purpose', async () => {
      const installation = await given(engine);
      const { start, audit, ask } = installation;
      let gateway = await start();
      for (const name of ['a', 'b', 'c']) expect((await makeKey(gateway, name)).status).toBe(200);
      await held(installation, gateway);
      const [before] = await ask<{ seal: string; records: number }>('select seal, records from audit_heads');

      await emptied(installation);

      const refused = await makeKey(gateway, 'after');
      expect([refused.status, refused.json.error.code]).toEqual([503, 'audit_log_in_doubt']);
      expect(await keyNames(installation)).toEqual(['a', 'b', 'c']);
      await eventually('the node says so', async () => (await alarms(gateway)).includes('audit-seal'));
      const called = await gateway.api.post(
        '/v1/chat/completions',
        { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] },
        { headers: { 'x-gateway-virtual-key': 'demo' } },
      );
      expect(called.status).toBe(200);
      expect((await gateway.api.get('/v1/api-keys')).status).toBe(200);
      const verdict = await audit('verify');
      expect([verdict.exitCode, verdict.errors]).toEqual([1, expect.stringContaining('does not hold')]);

      // A restart of the process forgets nothing.
      await gateway.kill();
      gateway = await start();
      expect(await alarms(gateway)).toContain('audit-seal');
      expect((await makeKey(gateway, 'after')).status).toBe(503);
      expect((await ask<{ n: number }>('select count(*) as n from audit_batches')).map(({ n }) => Number(n))).toEqual([
        0,
      ]);

      expect((await audit('restart')).exitCode).toBe(2);
      expect((await makeKey(gateway, 'after')).status).toBe(503);
      const lifted = await audit('restart', '--reason', 'the intruder of Monday');
      expect([lifted.exitCode, lifted.output]).toEqual([0, expect.stringContaining('Given up')]);
      await eventually('the node has understood', async () => !(await alarms(gateway)).includes('audit-seal'));
      expect((await makeKey(gateway, 'after')).status).toBe(200);
      await sealed(installation);

      const [first] = await ask<{ ids: string }>('select ids from audit_batches order by number limit 1');
      const [record] = await ask<{ request_body: string; action: string }>(
        `select request_body, action from audit_records where id = '${JSON.parse(first!.ids)[0]}'`,
      );
      expect(record!.action).toBe('restart');
      expect(JSON.parse(record!.request_body)).toMatchObject({
        reason: 'the intruder of Monday',
        given_up: [{ seal: before!.seal, records: Number(before!.records) }],
      });
      const whole = await audit('verify');
      expect([whole.exitCode, whole.output]).toEqual([0, expect.stringContaining('went on without')]);
      await gateway.stop();
      const again = await start();
      expect((await makeKey(again, 'later')).status).toBe(200);
      await again.stop();
      expect((await audit('restart', '--reason', 'once more')).output).toContain('nothing to give up');
    });

    test('a log that was turned back to an earlier, truly signed end is refused', async () => {
      const installation = await given(engine);
      const { startHere, audit, ask } = installation;
      const gateway = await startHere();
      await makeKey(gateway, 'a');
      await held(installation, gateway);
      const [early] = await ask<Record<string, string | number>>('select * from audit_heads');
      await makeKey(gateway, 'b');
      await held(installation, gateway);

      await ask(`delete from audit_records where batch > ${early!.number}`);
      await ask(`delete from audit_batches where number > ${early!.number}`);
      await ask(
        `update audit_heads set number = ${early!.number}, records = ${early!.records}, seal = '${early!.seal}',
         at = ${early!.at}, signature = '${early!.signature}'`,
      );

      expect((await makeKey(gateway, 'c')).json.error.code).toBe('audit_log_in_doubt');
      await eventually('the node says so', async () => (await alarms(gateway)).includes('audit-seal'));
      expect((await audit('verify')).exitCode).toBe(1);
      expect((await audit('restart', '--reason', 'restored a backup')).exitCode).toBe(0);
      await eventually('the node has understood', async () => !(await alarms(gateway)).includes('audit-seal'));
      expect((await makeKey(gateway, 'c')).status).toBe(200);
      expect((await audit('verify')).exitCode).toBe(0);
    });

    test('what an operator once gave up cannot be given up again by putting the tables back to that moment', async () => {
      const installation = await given(engine);
      const { startHere, audit, ask } = installation;
      const gateway = await startHere();
      await makeKey(gateway, 'a');
      await held(installation, gateway);
      await emptied(installation);
      await audit('restart', '--reason', 'lost');
      await eventually('the node has understood', async () => !(await alarms(gateway)).includes('audit-seal'));
      await held(installation, gateway);
      const [then] = await ask<Record<string, string | number>>('select * from audit_heads');
      await makeKey(gateway, 'b');
      await held(installation, gateway);

      await ask(`delete from audit_records where batch > ${then!.number} or batch is null`);
      await ask(`delete from audit_batches where number > ${then!.number}`);
      await ask(
        `update audit_heads set number = ${then!.number}, records = ${then!.records}, seal = '${then!.seal}',
         at = ${then!.at}, signature = '${then!.signature}'`,
      );

      expect((await makeKey(gateway, 'c')).status).toBe(503);
      expect((await audit('verify')).exitCode).toBe(1);
    });

    test('a record that pretends to be a restart lifts nothing', async () => {
      const installation = await given(engine);
      const { startHere, ask } = installation;
      const gateway = await startHere();
      await makeKey(gateway, 'a');
      await held(installation, gateway);
      const [head] = await ask<Record<string, string | number>>('select * from audit_heads');
      await emptied(installation);
      const body = {
        found: { number: 0, seal: '', records: 0 },
        given_up: [
          { organisation_id: head!.organisation_id, number: Number(head!.number), seal: head!.seal, records: 1 },
        ],
      };
      await ask(`insert into audit_records (id, organisation_id, at, batch, method, user_type, user_id, workspace_id,
        response_status_code, resource_type, action, client_ip, country, uri, mac, query_params, request_headers, request_body)
        values ('forged', '${head!.organisation_id}', 1, 99, 'POST', 'api_key', '', '', 200, 'audit_log', 'restart', '', '',
        'cli:audit/restart', 'forged', '{}', '{}', '${JSON.stringify(body)}')`);
      await ask(`insert into audit_batches values ('${head!.organisation_id}', 99, '["forged"]', 'forged', 1)`);
      await ask(
        `insert into audit_heads values ('${head!.organisation_id}', 99, 1, 'forged', 1, '${head!.signature}')`,
      );

      await eventually('the node says so', async () => (await alarms(gateway)).includes('audit-seal'));
      expect((await makeKey(gateway, 'b')).status).toBe(503);
    });

    test('a database that was wiped as a whole is no first start for a node that has seen it', async () => {
      const installation = await given(engine);
      const { start, audit, ask, place, home } = installation;
      const gateway = await start();
      await makeKey(gateway, 'a');
      await held(installation, gateway);
      await gateway.stop();
      if (place.databaseUrl) await ask('drop schema public cascade; create schema public');
      else for (const end of ['', '-wal', '-shm']) rmSync(join(place.dataDir, `state.db${end}`), { force: true });

      const again = await start();
      expect(await alarms(again)).toContain('audit-seal');
      expect((await makeKey(again, 'b')).json.error.code).toBe('audit_log_in_doubt');
      const verdict = await audit('verify');
      expect([verdict.exitCode, verdict.errors]).toEqual([1, expect.stringContaining('is gone')]);
      await again.stop();
      const file = join(home, 'desired.yaml');
      writeFileSync(file, 'version: 1\nworkspaces:\n  - slug: one\n    name: One\n');
      const applied = await installation.run('apply', file);
      expect([applied.exitCode, applied.errors]).toEqual([1, expect.stringContaining('audit log is in doubt')]);

      expect((await audit('restart', '--reason', 'a new beginning')).exitCode).toBe(0);
      expect((await audit('verify')).exitCode).toBe(0);
      const anew = await start();
      expect((await makeKey(anew, 'b')).status).toBe(200);
    });

    test('dropped tables are an alarm, not a failure of every request', async () => {
      const installation = await given(engine);
      const { startHere, ask } = installation;
      const gateway = await startHere();
      await makeKey(gateway, 'a');
      await held(installation, gateway);

      for (const table of TABLES) await ask(`drop table ${table}`);

      await eventually('the node says so', async () => (await alarms(gateway)).includes('audit-seal'));
      expect((await makeKey(gateway, 'b')).json.error.code).toBe('audit_log_in_doubt');
    });
  });
}

test('every node that has seen the end of the log raises the alarm, and one command lifts it for all', async () => {
  const installation = await given('postgres');
  const { start, audit, newHome } = installation;
  const nodes = [await start(), await start(newHome())];
  await makeKey(nodes[0]!, 'a');
  for (const node of nodes) await held(installation, node);

  await emptied(installation);

  for (const node of nodes) {
    await eventually('the node says so', async () => (await alarms(node)).includes('audit-seal'));
    expect((await makeKey(node, 'b')).status).toBe(503);
  }
  // A node that comes without a memory begins a log of its own: those who remember do not follow it.
  const stranger = await start(newHome());
  expect((await makeKey(stranger, 'c')).status).toBe(200);
  await sealed(installation);
  expect((await makeKey(nodes[0]!, 'd')).status).toBe(503);

  const restarted = await audit('restart', '--reason', 'lost');
  expect([restarted.exitCode, restarted.errors]).toEqual([0, '']);
  for (const node of [...nodes, stranger]) {
    await eventually('the node has understood', async () => !(await alarms(node)).includes('audit-seal'));
    expect((await makeKey(node, 'e')).status).toBe(200);
  }
  await sealed(installation);
  expect((await audit('verify')).exitCode).toBe(0);
});
