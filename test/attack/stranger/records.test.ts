import { afterEach, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../../gateway.ts';
import { query } from '../../state-tables.ts';
import { flood, minutesSince, storedBytes } from './flood.ts';

/** Strangers knock by the hundred: a few knocks are recorded, all of them are counted, and nothing fills the disk. */

/** Ten times as many and more in `test/long/stranger.test.ts`. */
const REQUESTS = 200;
const gateways: TestGateway[] = [];
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.stop();
});
const started = async (options: Parameters<typeof startGateway>[0]) => {
  const gateway = await startGateway(options);
  gateways.push(gateway);
  return gateway;
};
const total = (text: string, log: string) =>
  Number(new RegExp(`^gateway_records_left_out_total\\{log="${log}"\\} (\\d+)`, 'm').exec(text)![1]);

interface Recorded {
  readonly action: string;
  readonly resource_type: string;
  readonly response_status_code: number;
  readonly request_body: string;
  readonly request_headers: string;
  readonly query_params: string;
  readonly uri: string;
}
const NOBODY = "user_id = '00000000-0000-0000-0000-000000000000'";
const recordsOfStrangers = (place: TestGateway) =>
  query<Recorded>(place, `select * from audit_records where ${NOBODY} order by id`);

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(engine, () => {
    test('a flood of refused calls is stored in a few small records, and each call is counted', async () => {
      const first = await started({ engine });
      const nodes = [first];
      if (first.databaseUrl) nodes.push(await started({ engine, databaseUrl: first.databaseUrl }));
      const before = await storedBytes(first);
      const began = Date.now();

      for (const node of nodes) await flood(node.url, REQUESTS);

      let leftOut = 0;
      for (const node of nodes) {
        const { text } = await node.api.get('/metrics');
        expect(total(text, 'requests')).toBeGreaterThan(REQUESTS / 2);
        leftOut += total(text, 'audit');
      }
      // What a process has counted, it tells at the end of a minute, or of its own.
      const place = { dataDir: first.dataDir, databaseUrl: first.databaseUrl };
      const stored = (await storedBytes(first)) - before;
      expect(stored).toBeLessThan(nodes.length * minutesSince(began) * 1_000_000);
      const single = (await recordsOfStrangers(first)).filter(({ action }) => action !== 'left_out');
      for (const { uri, query_params, request_headers, request_body } of single)
        expect(uri.length + query_params.length + request_headers.length + request_body.length).toBeLessThan(3_000);
      // Of ten doors five are recorded by the audit log.
      expect(single.length + leftOut).toBe((nodes.length * REQUESTS * 5) / 10);
      if (engine === 'postgres') {
        for (const node of gateways.splice(0)) await node.stop();
        const summaries = (await query<Recorded>(place, `select * from audit_records where action = 'left_out'`)).map(
          ({ request_body }) => JSON.parse(request_body),
        );
        expect(summaries.reduce((sum, { left_out }) => sum + left_out, 0)).toBe(leftOut);
        expect(summaries[0].addresses).toEqual([{ address: '127.0.0.1', count: summaries[0].left_out }]);
        const told = await query<{ metadata: string; status: number; error_code: string }>(
          place,
          "select * from request_logs where metadata like '%left_out%'",
        );
        expect(told.map(({ error_code }) => error_code)).toContain('invalid_api_key');
      }
    });
  });
}

test('no failed sign-in from one address is left out, and none of the names it makes up stays', async () => {
  const gateway = await started({});
  const tries = 130;
  const began = Date.now();
  for (let tried = 0; tried < tries; tried += 10) {
    const emails = Array.from({ length: 10 }, (_, more) => `somebody-${tried + more}@nobody.example`);
    const signIn = (email: string) => gateway.api.post('/v1/sessions', { email, password: 'wrong' }, { key: null });
    await Promise.all(emails.map(signIn));
  }
  const records = await recordsOfStrangers(gateway);
  const failed = records.filter(({ response_status_code }) => response_status_code === 401);
  expect(failed.length).toBe(100);
  expect(failed.map(({ request_body }) => JSON.parse(request_body).email)).toContain('somebody-89@nobody.example');
  const turnedAway = records.filter(({ response_status_code }) => response_status_code === 429);
  expect(turnedAway.length).toBeWithin(10, minutesSince(began) * 10 + 1);
  const [row] = await query<{ n: number }>(gateway, 'select count(*) as n from sign_in_failures');
  expect(row!.n).toBeLessThan(230);
});

test('somebody with a key has all their refusals recorded, however many', async () => {
  const gateway = await started({});
  const { key } = await gateway.given.apiKey({ scopes: ['logs.list'] });
  for (let tried = 0; tried < 30; tried++) await gateway.api.post('/v1/api-keys', { name: 'more' }, { key });
  const [row] = await query<{ n: number }>(
    gateway,
    "select count(*) as n from audit_records where response_status_code = 403 and resource_type = 'api_keys'",
  );
  expect(row!.n).toBe(30);
});
