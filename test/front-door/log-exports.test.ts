import { afterEach, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { tableFromIPC } from 'apache-arrow';
import { readParquet } from 'parquet-wasm';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually, forTests, newDataDir, removeDataDir, startProcess } from '../process.ts';
import { startS3, type TestS3 } from '../s3.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Listed {
  readonly key: string;
  readonly date: string;
  readonly workspace_id: string | null;
  readonly entries: number;
  readonly bytes: number;
  readonly sha256: string;
}

const hello = { model: 'any', messages: [{ role: 'user', content: 'Hello' }] };

function newBucket() {
  const s3 = startS3();
  cleanups.push(() => s3.stop());
  const environment = {
    GATEWAY_EXPORT_URL: `s3://${s3.bucket}/logs?endpoint=${s3.origin}&region=${s3.region}`,
    GATEWAY_EXPORT_ACCESS_KEY_ID: s3.accessKeyId,
    GATEWAY_EXPORT_SECRET_ACCESS_KEY: s3.secretAccessKey,
    GATEWAY_EXPORT_EVERY_SECONDS: '1',
  };
  return { s3, environment };
}

/** What manifests list, and nothing else. */
function listedIn(s3: TestS3): Listed[] {
  return [...s3.objects]
    .filter(([key]) => key.startsWith('logs/manifests/'))
    .sort()
    .flatMap(([, { bytes }]) => (JSON.parse(Buffer.from(bytes).toString()) as { files: Listed[] }).files);
}

function linesOf(s3: TestS3): Record<string, unknown>[] {
  return listedIn(s3).flatMap(({ key }) => {
    const text = Buffer.from(Bun.gunzipSync(Buffer.from(s3.objects.get(key)!.bytes))).toString();
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  });
}

const idsOf = (entries: readonly Record<string, unknown>[]) => entries.map(({ id }) => String(id)).sort();

/** Calls in two workspaces, one in three of them refused. Says the ids of their entries. */
async function callsOf(gateway: TestGateway, count: number): Promise<string[]> {
  const { id } = await gateway.given.workspace({ name: `Another ${count}` });
  const other = await gateway.given.apiKey({ workspace_id: id, name: 'of another' });
  const ids: string[] = [];
  for (let at = 0; at < count; at++) {
    const isRefused = at % 3 === 2;
    const headers = { 'x-gateway-virtual-key': isRefused ? 'missing' : 'sim', 'x-gateway-metadata': '{"team":"blue"}' };
    const reply = await gateway.api.post('/v1/chat/completions', hello, {
      headers,
      ...(isRefused && { key: other.key }),
    });
    ids.push(reply.headers.get('x-gateway-request-id')!);
  }
  return ids;
}

const holdsAll = (found: readonly string[], ids: readonly string[]) => ids.every((id) => found.includes(id));

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`exports on ${engine}`, () => {
    test('every entry is in the bucket once, by day and workspace, as the log shows it', async () => {
      const { s3, environment } = newBucket();
      const gateway = await startGateway({ engine, environment });
      cleanups.push(() => gateway.stop());
      const ids = await callsOf(gateway, 7);
      await eventually('all of them are exported', () => holdsAll(idsOf(linesOf(s3)), ids));
      const more = await callsOf(gateway, 5);
      await eventually('the next ones, too', () => holdsAll(idsOf(linesOf(s3)), more));

      const lines = linesOf(s3);
      expect(new Set(idsOf(lines)).size).toBe(lines.length);
      const [shown, line] = [await gateway.api.get(`/v1/logs/${ids[0]}`), lines.find(({ id }) => id === ids[0])];
      // It is worked out of today's prices when an entry is read.
      const { cost_details, ...stored } = shown.json;
      expect(cost_details).toBeNull();
      expect(line).toEqual(stored);
      expect(JSON.stringify(line)).toContain('Hello');
      for (const { key, date, workspace_id, sha256, bytes } of listedIn(s3)) {
        expect(key).toStartWith(`logs/date=${date}/workspace=${workspace_id ?? 'none'}/`);
        const stored = s3.objects.get(key)!.bytes;
        expect([stored.byteLength, createHash('sha256').update(stored).digest('hex')]).toEqual([bytes, sha256]);
      }
      expect((await gateway.api.get('/metrics')).text).toMatch(/^gateway_log_exported_total \d\d+$/m);
    });

    test('as tables that others can read, without bodies where they are not wanted', async () => {
      const { s3, environment } = newBucket();
      const gateway = await startGateway({
        engine,
        environment: { ...environment, GATEWAY_EXPORT_FORMAT: 'parquet', GATEWAY_EXPORT_BODIES: 'false' },
      });
      cleanups.push(() => gateway.stop());
      const ids = await callsOf(gateway, 4);
      const rows = () =>
        listedIn(s3).flatMap(({ key }) =>
          tableFromIPC(readParquet(s3.objects.get(key)!.bytes).intoIPCStream())
            .toArray()
            .map((row) => row!.toJSON() as Record<string, unknown>),
        );
      await eventually('all of them are exported', () => holdsAll(idsOf(rows()), ids));

      const row = rows().find(({ id }) => id === ids[0])!;
      const { json } = await gateway.api.get(`/v1/logs/${ids[0]}`);
      expect(Number(row.created_at)).toBe(json.created_at);
      expect([row.model, row.status, row.is_stream, Number(row.total_tokens), row.cost]).toEqual([
        json.model,
        json.status,
        false,
        json.total_tokens,
        json.cost,
      ]);
      expect([JSON.parse(String(row.metadata)), row.request, row.response]).toEqual([{ team: 'blue' }, null, null]);
      expect(JSON.parse(String(row.attempts))).toHaveLength(1);
    });

    if (engine === 'postgres') return;

    test('while the bucket is away entries wait, and health says so', async () => {
      const { s3, environment } = newBucket();
      s3.faults.push(...Array(9).fill(503));
      const gateway = await startGateway({ engine, environment });
      cleanups.push(() => gateway.stop());
      const ids = await callsOf(gateway, 3);
      const degraded = async () =>
        (await gateway.api.get('/health', { key: null })).json.degraded as { part: string }[];

      await eventually('it is named', async () => (await degraded()).some(({ part }) => part === 'export'));
      await eventually('all of them are exported', () => holdsAll(idsOf(linesOf(s3)), ids));

      await eventually('it is well again', async () => (await degraded()).length === 0);
      expect(new Set(idsOf(linesOf(s3))).size).toBe(linesOf(s3).length);
    });
  });

test('two nodes export every entry once', async () => {
  const { s3, environment } = newBucket();
  const one = await startGateway({ engine: 'postgres', environment });
  cleanups.push(() => one.stop());
  const two = await startGateway({ engine: 'postgres', environment, databaseUrl: one.databaseUrl! });
  cleanups.push(() => two.stop());
  const ids = (await Promise.all([callsOf(one, 6), callsOf(two, 7)])).flat();

  await eventually('all of them are exported', () => holdsAll(idsOf(linesOf(s3)), ids));

  await Bun.sleep(1_500);
  expect(new Set(idsOf(linesOf(s3))).size).toBe(linesOf(s3).length);
});

test('a process that is killed at any step of an export loses no entry and exports none twice', async () => {
  const { s3, environment } = newBucket();
  const dataDir = newDataDir();
  cleanups.push(() => removeDataDir(dataDir));
  const expected: string[] = [];
  // The file, its manifest, what comes after; the last round is not disturbed.
  for (const step of [0, 1, 2, null]) {
    const gateway = await startProcess({ dataDir, environment: { ...forTests, ...environment } });
    let isDead = false;
    const kill = (done: Response) => {
      isDead = true;
      process.kill(gateway.pid, 'SIGKILL');
      return done;
    };
    if (step !== null) s3.faults.push(...Array(step).fill((done: Response) => done), kill);
    for (let at = 0; at < 3 && !isDead; at++) {
      const reply = await gateway.api.get('/v1/models/none').catch(() => null);
      const id = reply?.headers.get('x-gateway-request-id');
      const isStored = async () => (await gateway.api.get(`/v1/logs/${id}`).catch(() => null))?.status === 200;
      // What a killed process had not stored yet is lost, as documented.
      await eventually('it is stored, or the process is dead', async () => {
        if (!(await isStored())) return isDead;
        expected.push(id!);
        return true;
      });
      if (step === 2) await Bun.sleep(1_500);
    }
    if (step === null) await eventually('all of them are exported', () => holdsAll(idsOf(linesOf(s3)), expected));
    else await eventually('it is dead', () => isDead);
    await gateway.kill();
    s3.faults.length = 0;
  }
  expect(new Set(idsOf(linesOf(s3))).size).toBe(linesOf(s3).length);
});
