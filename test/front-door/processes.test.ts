import { afterEach, expect, test } from 'bun:test';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { childrenOf, isRunning, nodeEnvironment, startNode } from '../nodes.ts';
import { keptPort } from '../ports.ts';
import { createEmptyDatabase } from '../postgres.ts';
import { eventually, forTests, type GatewayProcess, runGateway } from '../process.ts';
import { readScrape, valueIn } from '../telemetry/scrape.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function givenPair(): Promise<GatewayProcess> {
  const environment = { GATEWAY_PROCESSES: '2', PORT: String(await keptPort()) };
  const gateway = await startNode(await createEmptyDatabase(), { environment });
  cleanups.push(() => gateway.isAlive && gateway.stop());
  return gateway;
}

/** On a connection of its own: the kernel deals out connections, not requests. */
const alone = { headers: { connection: 'close' } };

/** Which process answered, told by when it started: metrics begin with those of the process that was asked. */
async function answeredBy({ api }: GatewayProcess): Promise<string> {
  const { text } = await api.get('/metrics', alone);
  return /^process_start_time_seconds\{process="\d"\} (\S+)$/m.exec(text)?.[1] ?? '';
}

async function answeringIn(gateway: GatewayProcess, calls: number): Promise<number> {
  const seen = new Set<string>();
  for (let call = 0; call < calls; call++) seen.add(await answeredBy(gateway));
  return seen.size;
}

test('two processes share one port, both answer, and the greeting comes once', async () => {
  const gateway = await givenPair();

  expect(childrenOf(gateway.pid).map(listeningIn)).toEqual([1, 1]);
  expect(await answeringIn(gateway, 60)).toBe(2);
  expect(gateway.output.match(/^Gateway /gm)).toHaveLength(1);
  expect(gateway.output).toContain('(PostgreSQL, 2 processes)');
  expect(gateway.output).not.toContain('Warning');

  const { json } = await gateway.api.post('/v1/api-keys', { name: 'seen by both', scopes: ['virtual_keys.list'] });
  const use = async () => (await gateway.api.get('/v1/virtual-keys', { ...alone, key: json.key })).status;
  for (let call = 0; call < 20; call++) expect(await use()).toBe(200);
  await gateway.api.delete(`/v1/api-keys/${json.id}`);
  await eventually('both refuse it', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, use));
    return replies.every((status) => status === 401);
  });

  const children = childrenOf(gateway.pid);
  expect(await gateway.stop()).toBe(0);
  expect(gateway.output.match(/^Stopped\.$/gm)).toHaveLength(1);
  expect([gateway.errors, children.filter(isRunning)]).toEqual(['', []]);
});

test('a process that is killed is started again, and only requests under way at that moment may fail', async () => {
  const gateway = await givenPair();
  const requests: { start: number; end: number; isGood: boolean }[] = [];
  let isOver = false;
  const load = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const start = performance.now();
      const isGood = await gateway.api.get('/v1/virtual-keys', alone).then(
        ({ status }) => status === 200,
        () => false,
      );
      requests.push({ start, end: performance.now(), isGood });
    }
  });
  await eventually('requests are answered', () => requests.length > 50);
  const [victim = 0] = childrenOf(gateway.pid);

  const from = performance.now();
  process.kill(victim, 'SIGKILL');
  await eventually('it is gone', () => !isRunning(victim));
  const to = performance.now();

  await eventually('there are two again', async () => (await answeringIn(gateway, 20)) === 2);
  isOver = true;
  await Promise.all(load);
  const failed = requests.filter(({ isGood }) => !isGood);
  expect(failed.filter(({ start, end }) => start > to || end < from)).toEqual([]);
  expect(gateway.errors).toMatch(/^Process \d ended \(SIGKILL\); it is started again in \d+ ms\.\n$/);
  expect(gateway.output.match(/^Gateway /gm)).toHaveLength(1);
  expect(await gateway.stop()).toBe(0);
});

test('one scrape answers for both processes, and says when one of them does not', async () => {
  const gateway = await givenPair();
  const { id, key } = (await gateway.api.post('/v1/api-keys', { name: 'for both' })).json;
  const scrape = async (format: 'text' | 'openmetrics' = 'text') => {
    const accept = format === 'text' ? 'text/plain' : 'application/openmetrics-text';
    return readScrape((await gateway.api.get('/metrics', { headers: { ...alone.headers, accept } })).text, format);
  };
  const ups = async () =>
    ((await scrape()).get('gateway_process_up')?.samples ?? [])
      .map(({ labels, value }) => `${labels.process} ${value}`)
      .sort();
  const callsOf = async (process: string) =>
    valueIn(await scrape(), 'gateway_caller_requests_total', { process, api_key: id }) ?? 0;
  expect(await ups()).toEqual(['0 1', '1 1']);

  let calls = 0;
  await eventually('both have calls to tell of', async () => {
    for (let more = 0; more < 10; more++, calls++) await gateway.api.get('/v1/api-keys', { ...alone, key });
    return (await callsOf('0')) > 0 && (await callsOf('1')) > 0;
  });
  await eventually('all calls are told of', async () => (await callsOf('0')) + (await callsOf('1')) === calls);
  const exact = await scrape('openmetrics');
  for (const [name, { samples }] of exact)
    for (const { labels } of samples) expect([name, labels.process]).toEqual([name, expect.stringMatching(/^[01]$/)]);
  expect(exact.get('process_start_time_seconds')?.samples).toHaveLength(2);

  const [, stopped = 0] = childrenOf(gateway.pid);
  process.kill(stopped, 'SIGSTOP');
  cleanups.push(() => isRunning(stopped) && process.kill(stopped, 'SIGCONT'));
  // A connection that the kernel deals to the stopped one is not answered.
  const seen = await Promise.race(Array.from({ length: 8 }, ups));
  expect(seen.filter((line) => line.endsWith(' 0'))).toHaveLength(1);
  process.kill(stopped, 'SIGCONT');
  await eventually('it answers again', async () => Bun.deepEquals(await ups(), ['0 1', '1 1']));
});

test('when the supervising process is killed its processes end, and the port is free again', async () => {
  const gateway = await givenPair();
  const children = childrenOf(gateway.pid);
  expect(children).toHaveLength(2);

  gateway.signal('SIGKILL');

  await eventually('they end', () => !children.some(isRunning));
});

test('several processes are refused without PostgreSQL and on a port that is taken', async () => {
  const lonely = await runGateway({ environment: { ...forTests, GATEWAY_PROCESSES: '2' } });
  expect([lonely.exitCode, lonely.errors]).toEqual([1, expect.stringMatching(/^gateway: GATEWAY_PROCESSES .*\.\n$/)]);

  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => server.close());
  const { port } = server.address() as { port: number };
  const environment = { ...nodeEnvironment(await createEmptyDatabase()), GATEWAY_PROCESSES: '2', PORT: String(port) };
  const refused = await runGateway({ environment });
  expect([refused.exitCode, refused.output]).toEqual([1, '']);
  expect(refused.errors.trim().split('\n')).toEqual([expect.stringContaining(`PORT ${port}`)]);
});

test('a fault that shows only when a process starts ends all of them with its one sentence', async () => {
  const databaseUrl = await createEmptyDatabase();
  await (await startNode(databaseUrl)).stop();
  const wrongKey = Buffer.alloc(32, 9).toString('base64');

  const refused = await runGateway({
    environment: { ...nodeEnvironment(databaseUrl), GATEWAY_PROCESSES: '2', GATEWAY_ENCRYPTION_KEY: wrongKey },
  });

  expect([refused.exitCode, refused.output]).toEqual([1, '']);
  expect(refused.errors.trim().split('\n')).toEqual([expect.stringContaining('GATEWAY_ENCRYPTION_KEY is not the key')]);
});

/** How many sockets of that process take connections. */
function listeningIn(pid: number): number {
  const LISTEN = '0A';
  const rows = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').trim().split('\n').slice(1);
  const inodes = rows.map((row) => row.trim().split(/\s+/)).filter(([, , , state]) => state === LISTEN);
  const own = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`)));
  return inodes.filter((columns) => own.has(`socket:[${columns[9]}]`)).length;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

test('a worker serves nobody, needs PostgreSQL, and stops when it is told to', async () => {
  const refused = await runGateway({ arguments: ['worker'], environment: forTests });
  expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining('needs DATABASE_URL')]);

  const alone = await startNode(await createEmptyDatabase(), {
    arguments: ['worker'],
    greeting: /(does background work)/,
  });
  cleanups.push(() => alone.isAlive && alone.kill());
  expect([listeningIn(alone.pid), alone.output]).toEqual([0, expect.not.stringContaining('http')]);
  expect(await alone.stop()).toBe(0);
  expect([alone.errors, alone.output.match(/^Stopped\.$/gm)?.length]).toEqual(['', 1]);
});
