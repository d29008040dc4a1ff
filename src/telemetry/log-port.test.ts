import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createDatabase, startPostgres } from '../../test/postgres.ts';
import { ask, eventually, removeTemporaryFolders, temporaryFolder } from '../../test/telemetry/log-rows.ts';
import { type LogPortOptions, openLogPort } from './log-port.ts';
import type { LogDetail, LogPage } from './log-query.ts';
import type { LogTarget } from './log-store.ts';
import type { LogOutcome } from './log-writer.ts';
import { createMetrics } from './metrics/metrics.ts';
import { createRequestLog } from './request-log.ts';

const workerUrl = new URL('./log-worker.ts', import.meta.url);

afterAll(removeTemporaryFolders);

/** The whole log with its real threads. */
function startLog({ target, ...over }: { target?: LogTarget } & Partial<LogPortOptions> = {}) {
  const dataDir = over.dataDir ?? temporaryFolder();
  const total = { written: 0, spooled: 0, dropped: 0, bodiesDropped: 0 };
  const worker = openLogPort({
    workerUrl,
    target: target ?? { engine: 'sqlite', file: join(dataDir, 'logs.db') },
    dataDir,
    retentionDays: null,
    onOutcome: (outcome) => {
      for (const [name, amount] of Object.entries(outcome)) total[name as keyof LogOutcome] += amount;
    },
    ...over,
  });
  const metrics = createMetrics({ version: '0', startedAt: 0, mostCallers: 0 });
  const log = createRequestLog({ worker, metrics, bodies: { enabled: true, capBytes: 1_000_000 } });
  const call = (body = '{"messages":[]}') => {
    const id = Bun.randomUUIDv7();
    const entry = log.open({
      id,
      traceId: id,
      method: 'POST',
      path: '/v1/chat/completions',
      route: '/v1/*',
      clientAddress: '127.0.0.1',
      startedAt: Date.now(),
      startedMono: performance.now(),
    });
    entry.organisationId = 'org';
    entry.workspaceId = 'workspace';
    entry.keepBodies = true;
    entry.requestHeaders = { 'content-type': 'application/json', authorization: 'Bearer hidden' };
    entry.responseHeaders = { 'content-type': 'text/plain' };
    entry.captureRequest().add(new TextEncoder().encode(body));
    entry.captureResponse().add(new TextEncoder().encode(`answer to ${id}`));
    entry.close({ status: 200 });
    return id;
  };
  const list = async (limit = 1_000) => JSON.parse(await log.list(ask({ limit }))) as LogPage;
  const ids = async () => (await list()).data.map(({ id }) => id).toSorted();
  return { log, worker, call, list, ids, total, dataDir };
}

const targets: [string, () => Promise<LogTarget | undefined>][] = [
  ['SQLite', async () => undefined],
  ['PostgreSQL', async () => ({ engine: 'postgres', url: await createDatabase() })],
];

for (const [name, newTarget] of targets) {
  test(`${name}: figures are computed in the thread that reads`, async () => {
    const { log, call, list } = startLog({ target: await newTarget() });
    const made = [call(), call(), call()];
    await eventually(async () => expect((await list()).data).toHaveLength(made.length));
    const range = { from: Date.now() - 60_000, until: Date.now() + 60_000 };
    const question = { kind: 'graph', name: 'requests', filter: ask(), range } as const;
    const answers = await Promise.all([log.analyse(question), log.analyse(question), list()]);
    for (const text of answers.slice(0, 2)) expect(JSON.parse(text as string).summary).toEqual({ requests: 3 });
    await log.close();
  });

  test(`${name}: figures that take too long are refused, and the thread goes on`, async () => {
    const { log, call, list } = startLog({ target: await newTarget(), analyseWithinMs: -1 });
    call();
    await eventually(async () => expect((await list()).data).toHaveLength(1));
    const question = { kind: 'graph', name: 'cost', filter: ask(), range: { from: 0, until: Date.now() } } as const;
    const refusal = await log.analyse(question).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'analytics_too_slow', status: 503 });
    expect((await list()).data).toHaveLength(1);
    await log.close();
  });

  test(`${name}: an entry is readable, bodies and all, without being flushed`, async () => {
    const { log, call, list } = startLog({ target: await newTarget() });
    const id = call('{"messages":["second"]}');
    await eventually(async () => expect((await list()).data.map((record) => record.id)).toContain(id));
    const text = (await log.read(ask(), id))!;
    expect(text).not.toContain('hidden');
    const detail = JSON.parse(text) as LogDetail;
    expect(detail.request!.body).toBe('{"messages":["second"]}');
    expect(detail.response!.body).toBe(`answer to ${id}`);
    expect(await log.read(ask(), 'missing')).toBeNull();
    await log.close();
  });

  test(`${name}: flush means stored, for more than one batch of every size`, async () => {
    const { log, call, ids, worker } = startLog({ target: await newTarget() });
    const made = Array.from({ length: 700 }, (_, index) => call('x'.repeat((index % 7) * 5_000)));
    await log.flush();
    expect(worker.queuedRecords).toBe(0);
    expect(worker.queuedBytes).toBe(0);
    expect(await ids()).toEqual(made.toSorted());
    await log.close();
  });
}

test('PostgreSQL stopped and started again: nothing is lost, reads say that the store is away', async () => {
  const postgres = await startPostgres();
  const { log, call, ids, list, total, dataDir } = startLog({
    target: { engine: 'postgres', url: postgres.url },
  });
  const made = [call(), call()];
  await log.flush();
  expect((await list()).data.length).toBe(2);
  await postgres.stop();
  for (let index = 0; index < 20; index++) made.push(call());
  await log.flush();
  expect(total.spooled).toBe(20);
  expect(readdirSync(join(dataDir, 'spool')).length).toBeGreaterThan(0);
  const refusal = await list().catch((error: unknown) => error);
  expect((refusal as { code?: string }).code).toBe('store_unavailable');
  await postgres.start();
  await eventually(async () => expect(await ids()).toEqual(made.toSorted()));
  await eventually(() => expect(readdirSync(join(dataDir, 'spool'))).toEqual([]));
  made.push(call());
  await log.flush();
  expect(await ids()).toEqual(made.toSorted());
  expect(total).toEqual({ written: 23, spooled: 20, dropped: 0, bodiesDropped: 0 });
  await log.close();
  await postgres.remove();
});

test('a process that ends while the store is away leaves its entries for the next one', async () => {
  const dataDir = temporaryFolder();
  mkdirSync(join(dataDir, 'logs.db'));
  const first = startLog({ dataDir });
  const made = [first.call(), first.call()];
  await first.log.close();
  expect(first.total.spooled).toBe(2);
  rmSync(join(dataDir, 'logs.db'), { recursive: true });
  const second = startLog({ dataDir });
  await eventually(async () => expect(await second.ids()).toEqual(made.toSorted()));
  await second.log.close();
});

test('a thread that dies is replaced and gets its records again', async () => {
  const dataDir = temporaryFolder();
  const fragile = new URL(`${join(dataDir, 'fragile.ts')}`, 'file:');
  // Dies on the first batch it sees; the marker file makes the second life a good one.
  await Bun.write(
    fragile,
    `import { existsSync, writeFileSync } from 'node:fs';
     import ${JSON.stringify(workerUrl.pathname)};
     const inner = self.onmessage;
     self.onmessage = (event) => {
       const marker = ${JSON.stringify(join(dataDir, 'died'))};
       if (typeof event.data === 'string' && !existsSync(marker)) {
         writeFileSync(marker, '');
         throw new Error('dies once');
       }
       inner(event);
     };`,
  );
  const { log, call, ids, total, worker } = startLog({ dataDir, workerUrl: fragile });
  const id = call();
  await eventually(() => expect(total.written).toBe(1));
  expect(await ids()).toEqual([id]);
  expect(total.bodiesDropped).toBe(1);
  expect(worker.queuedRecords).toBe(0);
  expect(worker.queuedBytes).toBe(0);
  await log.close();
});
