import { afterEach, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from '../gateway.ts';
import { nodeEnvironment, startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import {
  eventually,
  forTests,
  type GatewayProcess,
  newDataDir,
  removeDataDir,
  runGateway,
  startProcess,
} from '../process.ts';
import { startRedis } from '../redis.ts';
import { startS3 } from '../s3.ts';
import { query } from '../state-tables.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const newHome = () => {
  const home = newDataDir();
  cleanups.push(() => removeDataDir(home));
  return home;
};
const started = async (starting: Promise<GatewayProcess>) => {
  const gateway = await starting;
  cleanups.push(() => gateway.isAlive && gateway.kill());
  return gateway;
};
const makeKey = (gateway: GatewayProcess, name: string) => gateway.api.post('/v1/api-keys', { name });
const degraded = async (gateway: GatewayProcess): Promise<string[]> =>
  (await gateway.api.get('/health')).json.degraded.map(({ part }: { part: string }) => part);
type Place = Parameters<typeof query>[0];
const latestHead = async (place: Place) => {
  const waiting = 'select count(*) as n from audit_records where batch is null';
  await eventually(
    'every record is sealed',
    async () => Number((await query<{ n: number }>(place, waiting))[0]!.n) === 0,
  );
  return (await query<{ signature: string }>(place, 'select signature from audit_heads'))[0]!.signature;
};
const emptied = async (place: Place) => {
  for (const table of ['audit_records', 'audit_batches', 'audit_heads', 'audit_days'])
    await query(place, `delete from ${table}`);
};

const bucketSettings = () => {
  const s3 = startS3();
  cleanups.push(() => s3.stop());
  return {
    s3,
    environment: {
      GATEWAY_AUDIT_WITNESS_BUCKET: `s3://${s3.bucket}/witness?endpoint=${s3.origin}&region=${s3.region}`,
      GATEWAY_AUDIT_WITNESS_ACCESS_KEY_ID: s3.accessKeyId,
      GATEWAY_AUDIT_WITNESS_SECRET_ACCESS_KEY: s3.secretAccessKey,
    },
  };
};

for (const kind of ['file', 'bucket'] as const)
  test(`a ${kind} remembers the end of the log for a node that has lost its own memory`, async () => {
    const databaseUrl = await createDatabase();
    const { s3, environment: ofBucket } = bucketSettings();
    const file = join(newHome(), 'heads');
    const environment: Record<string, string> =
      kind === 'file' ? { GATEWAY_AUDIT_WITNESS_FILE: file } : { ...ofBucket };
    const witnessed = () =>
      kind === 'file'
        ? existsSync(file)
          ? readFileSync(file, 'utf8')
          : ''
        : new TextDecoder().decode(s3.objects.get('witness/audit-heads.json')?.bytes);
    const first = await started(startNode(databaseUrl, { dataDir: newHome(), environment }));
    const place = { databaseUrl, dataDir: first.dataDir };
    expect((await makeKey(first, 'a')).status).toBe(200);
    const signature = await latestHead(place);
    await eventually('the witness is told', () => witnessed().includes(signature));
    await first.stop();
    await emptied(place);

    const home = newHome();
    const second = await started(startNode(databaseUrl, { dataDir: home, environment }));

    expect(await degraded(second)).toContain('audit-seal');
    expect((await makeKey(second, 'b')).json.error.code).toBe('audit_log_in_doubt');
    expect(witnessed()).toContain(signature);
    const all = { ...nodeEnvironment(databaseUrl), ...environment };
    const audit = (...rest: string[]) =>
      runGateway({ arguments: ['audit', ...rest], dataDir: newHome(), environment: all });
    const verdict = await audit('verify');
    expect([verdict.exitCode, verdict.errors]).toEqual([1, expect.stringContaining('does not hold')]);
    expect((await audit('restart', '--reason', 'lost')).exitCode).toBe(0);
    await eventually('the node has understood', async () => !(await degraded(second)).includes('audit-seal'));
    expect((await makeKey(second, 'b')).status).toBe(200);
    const later = await latestHead(place);
    await eventually('the witness is told of the new log', () => witnessed().includes(later));
    expect((await audit('verify')).exitCode).toBe(0);
  });

test('Redis remembers the end of the log for nodes whose data dir does not outlive them', async () => {
  const redis = await startRedis();
  cleanups.push(() => redis.stop());
  const databaseUrl = await createDatabase();
  const environment = { REDIS_URL: redis.url };
  const first = await started(startNode(databaseUrl, { dataDir: newHome(), environment }));
  const place = { databaseUrl, dataDir: first.dataDir };
  expect((await makeKey(first, 'a')).status).toBe(200);
  await latestHead(place);
  // The last word is said before a process ends.
  await first.stop();
  await emptied(place);

  const second = await started(startNode(databaseUrl, { dataDir: newHome(), environment }));

  expect(await degraded(second)).toContain('audit-seal');
  expect((await makeKey(second, 'b')).status).toBe(503);
});

test('a webhook is told each end with a signature; while it is away changes go on and /health says so', async () => {
  const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
  const messages: { headers: Headers; body: string }[] = [];
  let status = 503;
  const receiver = serve(async (request) => {
    messages.push({ headers: request.headers, body: await request.text() });
    return new Response(null, { status });
  });
  cleanups.push(() => receiver.stop());
  const gateway = await started(
    startProcess({
      environment: {
        ...forTests,
        GATEWAY_AUDIT_WITNESS_URL: `${receiver.origin}/audit`,
        GATEWAY_AUDIT_WITNESS_SECRET: secret,
      },
    }),
  );
  expect((await makeKey(gateway, 'a')).status).toBe(200);
  await eventually('the outage shows', async () => (await degraded(gateway)).includes('audit-witness'));
  expect((await makeKey(gateway, 'b')).status).toBe(200);
  const signature = await latestHead({ databaseUrl: null, dataDir: gateway.dataDir });

  status = 200;
  await eventually('the webhook is told', () => messages.at(-1)!.body.includes(signature));
  await eventually('all is well', async () => !(await degraded(gateway)).includes('audit-witness'));
  const { headers, body } = messages.at(-1)!;
  const signed = createHmac('sha256', Buffer.alloc(32, 5))
    .update(`${headers.get('webhook-id')}.${headers.get('webhook-timestamp')}.${body}`)
    .digest('base64');
  expect(headers.get('webhook-signature')).toBe(`v1,${signed}`);
  expect(JSON.parse(body)).toMatchObject({ type: 'audit.heads', data: [{ signature }] });
});

test('an end that another installation or nobody signed is not demanded from a log', async () => {
  const { s3, environment } = bucketSettings();
  const forged = { organisation_id: 'x', number: 9, records: 9, seal: 'x', at: 1, signature: 'forged' };
  s3.objects.set('witness/audit-heads.json', { bytes: Buffer.from(JSON.stringify([forged])), at: Date.now() });
  const gateway = await started(startProcess({ environment: { ...forTests, ...environment } }));

  expect((await makeKey(gateway, 'a')).status).toBe(200);
  expect(await degraded(gateway)).toEqual([]);
});

test('a file of kept ends that is damaged stops the start and is named', async () => {
  const home = newHome();
  const gateway = await started(startProcess({ dataDir: home }));
  await makeKey(gateway, 'a');
  await gateway.stop();
  const file = join(home, 'data', 'audit-heads.json');
  expect(existsSync(file)).toBe(true);
  rmSync(file);
  await Bun.write(file, '[{"organisation_id"');

  const failed = await runGateway({ dataDir: home, environment: forTests });

  expect([failed.exitCode, failed.errors]).toEqual([1, expect.stringContaining('audit-heads.json is damaged')]);
});
