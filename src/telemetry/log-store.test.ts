import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import { createDatabase } from '../../test/postgres.ts';
import { ask, batchOf, packed, removeTemporaryFolders, row, temporaryFolder } from '../../test/telemetry/log-rows.ts';
import { cacheStatusOf, verdictOf } from './aggregates/fact.ts';
import { termsIn } from './filter/language.ts';
import { LOG_COLUMNS, LOG_MIGRATION_TABLE } from './log-columns.ts';
import { migrateSqliteLog } from './log-migrate.ts';
import { positionOf } from './log-query.ts';
import type { LogOwner } from './log-sink.ts';
import { type LogStore, type LogTarget, openLogStore } from './log-store.ts';

afterAll(removeTemporaryFolders);

const sqliteTarget = async (): Promise<LogTarget> => ({ engine: 'sqlite', file: join(temporaryFolder(), 'logs.db') });
const postgresTarget = async (): Promise<LogTarget> => ({ engine: 'postgres', url: await createDatabase() });

logStoreContract('SQLite', sqliteTarget);
logStoreContract('PostgreSQL', postgresTarget);

function logStoreContract(name: string, newTarget: () => Promise<LogTarget>) {
  describe(`the log store on ${name}`, () => {
    let target: LogTarget;
    let store: LogStore;
    let reader: LogStore;
    const idsOf = async (over = {}) => (await reader.list(ask(over))).data.map((record) => record.id);
    let workspaces = 0;
    /** Tests share the tables; each has a workspace of its own. */
    const newWorkspace = () => `workspace-${++workspaces}`;

    beforeAll(async () => {
      target = await newTarget();
      store = await openLogStore(target, 'writer');
      reader = await openLogStore(target, 'reader');
    });
    afterAll(async () => {
      await reader.close();
      await store.close();
    });

    test('a record comes back as it went in', async () => {
      const workspaceId = newWorkspace();
      const record = row({ workspace_id: workspaceId, is_stream: true, metadata: '{"team":"blue"}', user_id: 'u' });
      await store.insert(batchOf(record));
      const page = await reader.list(ask({ workspaceId }));
      const { attempts: _attempts, ...listed } = record;
      expect(page).toEqual({ object: 'list', data: [{ ...listed, metadata: { team: 'blue' } }], has_more: false });
      expect(Object.keys(record).sort()).toEqual([...LOG_COLUMNS].sort());
    });

    test('entries of a workspace or of a person are erased with labels and bodies, and no others', async () => {
      const [doomed, other] = [newWorkspace(), newWorkspace()];
      const of = (workspace: string, over = {}) => row({ workspace_id: workspace, ...over });
      const gone = [of(doomed), of(doomed, { metadata: '{"team":"blue"}' })];
      const person = [of(other, { user_id: 'ann' }), of(other, { metadata: '{"_user":"ann@example.com"}' })];
      const kept = [of(other, { user_id: 'bob' }), of(other, { metadata: '{"_user":"bob","team":"ann@example.com"}' })];
      const rows = [...gone, ...person, ...kept];
      // In one block, which is too small for what is left of it when most of it goes.
      await store.insert({ rows, bodies: rows.map(({ id }) => [packed({ request: `asked ${id}` })]) });
      const erased = async (whose: LogOwner) => [await store.erase(whose, 1), await store.erase(whose, 10)];

      expect(await erased({ workspaceId: doomed })).toEqual([1, 1]);
      expect(await idsOf({ workspaceId: doomed })).toEqual([]);
      const { organisation_id: organisationId } = person[0]!;
      const ann = { organisationId: organisationId!, userId: 'ann', names: ['ann', 'ann@example.com'] };
      expect(await erased({ ...ann, organisationId: 'another' })).toEqual([0, 0]);
      expect(await erased(ann)).toEqual([1, 1]);
      expect((await idsOf({ workspaceId: other })).toSorted()).toEqual(kept.map(({ id }) => id).toSorted());
      expect(await idsOf({ workspaceId: other, metadata: { team: 'ann@example.com' } })).toEqual([kept[1]!.id]);
      expect(await idsOf({ workspaceId: other, metadata: { _user: 'ann@example.com' } })).toEqual([]);
      for (const { id } of kept)
        expect((await reader.read({ organisationId: organisationId!, workspaceId: other }, id))?.request?.body).toBe(
          `asked ${id}`,
        );
      expect(await store.erase({ workspaceId: doomed }, 10)).toBe(0);
      expect(await erased({ organisationId: organisationId!, userId: 'bob', names: [] })).toEqual([1, 0]);
    });

    test('what guardrails found later is added to a record, in whatever order the two come', async () => {
      const workspaceId = newWorkspace();
      const [first, second] = [row({ workspace_id: workspaceId }), row({ workspace_id: workspaceId })];
      const found = (one: typeof first) => ({ ...one, hook_results: '{"before_request_hooks":[{"id":"late"}]}' });
      const early = (one: typeof first) => ({
        rows: [{ ...one, hook_results: '{"before_request_hooks":[]}' }],
        bodies: [[packed({ request: 'asked' })]],
      });
      await store.insert(early(first));
      await store.insert(batchOf({ ...found(first), status: 500 }));
      await store.insert(batchOf(found(second)));
      await store.insert(early(second));
      for (const { id } of [first, second]) {
        const record = await reader.read({ organisationId: 'org', workspaceId }, id);
        expect(record).toMatchObject({ status: 200, hook_results: { before_request_hooks: [{ id: 'late' }] } });
        expect(JSON.stringify(record!.request)).toContain('asked');
      }
    });

    test('a batch that is sent again changes nothing', async () => {
      const workspaceId = newWorkspace();
      const batch = batchOf(
        ...Array.from({ length: 40 }, () => row({ workspace_id: workspaceId, metadata: '{"a":"b"}' })),
      );
      const withBodies = { ...batch, bodies: batch.rows.map(() => [packed({ request: 'x' })]) };
      await store.insert(withBodies);
      await store.insert(withBodies);
      expect((await idsOf({ workspaceId })).length).toBe(40);
      expect((await idsOf({ workspaceId, metadata: { a: 'b' } })).length).toBe(40);
    });

    test('pages run newest first, over equal times too, and meet every record once', async () => {
      const workspaceId = newWorkspace();
      const rows = Array.from({ length: 57 }, (_, index) =>
        row({ workspace_id: workspaceId, created_at: 1_000 + Math.floor(index / 20), metadata: '{"k":"v"}' }),
      );
      await store.insert(batchOf(...rows));
      const expected = rows
        .toSorted((one, other) => other.created_at - one.created_at || (one.id < other.id ? 1 : -1))
        .map(({ id }) => id);
      for (const filter of [{}, { model: 'gpt-4o' }, { metadata: { k: 'v' } }]) {
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await reader.list(
            ask({ workspaceId, limit: 10, ...filter, after: cursor ? positionOf(cursor)! : undefined }),
          );
          expect(page.has_more).toBe(page.next_cursor !== undefined);
          seen.push(...page.data.map(({ id }) => id));
          cursor = page.next_cursor;
        } while (cursor);
        expect(seen).toEqual(expected);
      }
    });

    test('every filter selects what it says', async () => {
      const workspaceId = newWorkspace();
      const plain = row({ workspace_id: workspaceId, created_at: 5_000 });
      const other = row({
        workspace_id: workspaceId,
        created_at: 9_000,
        status: 429,
        failed_by: 'provider',
        provider: 'anthropic',
        model: 'claude',
        virtual_key: 'mine',
        api_key_id: 'key-2',
        user_id: 'user-2',
        trace_id: 'trace-2',
        path: '/v1/messages_%',
        is_stream: true,
        metadata: '{"team":"blue","env":"it\'s"}',
      });
      await store.insert(batchOf(plain, other));
      for (const filter of [
        { status: 429 },
        { failedBy: 'provider' as const },
        { provider: 'anthropic' },
        { model: 'claude' },
        { virtualKey: 'mine' },
        { apiKeyId: 'key-2' },
        { userId: 'user-2' },
        { traceId: 'trace-2' },
        { pathPrefix: '/v1/messages_%' },
        { isStream: true },
        { metadata: { team: 'blue' } },
        { metadata: { team: 'blue', env: "it's" } },
        { metadata: { team: 'blue' }, model: 'claude' },
        { startTime: 9_000 },
        { startTime: 6_000, endTime: 9_001 },
      ]) {
        expect(await idsOf({ workspaceId, ...filter })).toEqual([other.id]);
      }
      expect(await idsOf({ workspaceId, status: 200 })).toEqual([plain.id]);
      expect(await idsOf({ workspaceId, isStream: false })).toEqual([plain.id]);
      expect(await idsOf({ workspaceId, endTime: 9_000 })).toEqual([plain.id]);
      expect(await idsOf({ workspaceId, pathPrefix: '/v1/chat' })).toEqual([plain.id]);
      expect(await idsOf({ workspaceId, metadata: { team: 'red' } })).toEqual([]);
      expect(await idsOf({ workspaceId, metadata: { team: 'blue', env: 'x' } })).toEqual([]);
    });

    test('what guardrails and the cache came to is found as figures count it', async () => {
      const workspaceId = newWorkspace();
      const hook = (over: object) => ({ id: 'g', checks: [{ id: 'c', data: '"verdict":false,"deny":true' }], ...over });
      const judged = (before: readonly object[], after: readonly object[] = []) =>
        JSON.stringify({ before_request_hooks: before, after_request_hooks: after });
      const rows = [
        ...[judged([hook({})]), judged([hook({ verdict: null })]), judged([hook({ verdict: false })])],
        ...[
          judged([hook({ deny: true })], [hook({ verdict: false })]),
          judged([], [hook({ verdict: false, deny: true })]),
        ],
        null,
      ].map((hook_results) => row({ workspace_id: workspaceId, hook_results }));
      const asked = [
        ...['{"cache":["HIT",1,1],"target":"config","attempts":[{"target":"a","at":1,"cache":["MISS",1,1]}]}'],
        ...['{"attempts":[{"target":"a","at":1,"cache":["MISS",1,1]},{"target":"b","at":2}]}'],
        ...[
          '{"attempts":[{"target":"a","at":1,"cache":["REFRESH",1,1]}]}',
          '["\\"cache\\":[\\"HIT\\"",null,1,null,2]',
          null,
        ],
      ].map((attempts) => row({ workspace_id: workspaceId, attempts }));
      await store.insert(batchOf(...rows, ...asked));
      const found = async (filter: string) => new Set(await idsOf({ workspaceId, terms: termsIn(filter), limit: 50 }));
      const all = [...rows, ...asked];
      for (const verdict of ['passed', 'failed', 'denied', null])
        expect(await found(`verdict:${verdict ?? 'none'}`)).toEqual(
          new Set(all.filter((each) => verdictOf(each.hook_results) === verdict).map(({ id }) => id)),
        );
      for (const status of ['HIT', 'MISS', 'REFRESH', null])
        expect(await found(`cache:${status ?? 'none'}`)).toEqual(
          new Set(all.filter((each) => cacheStatusOf(each.attempts) === status).map(({ id }) => id)),
        );
      expect((await found('-verdict:none -cache:none')).size).toBe(0);
      expect((await found('verdict:DEN*,f*')).size).toBe(3);
    });

    test('a trace is those that name it, and the call whose id it is unless that names another', async () => {
      const workspaceId = crypto.randomUUID();
      const given = (id: string, trace_id: string, created_at: number) =>
        row({
          id: `${id} ${workspaceId}`,
          trace_id: `${trace_id} ${workspaceId}`,
          created_at,
          workspace_id: workspaceId,
        });
      await store.insert(batchOf(given('a', 'a', 1), given('b', 'a', 2), given('c', 'd', 3), given('e', 'c', 4)));
      const traced = async (id: string) =>
        (await idsOf({ workspaceId, traceId: `${id} ${workspaceId}` })).map((found) => found[0]);
      expect(await traced('a')).toEqual(['b', 'a']);
      expect(await traced('b')).toEqual([]);
      expect(await traced('c')).toEqual(['e']);
      expect(await traced('d')).toEqual(['c']);
    });

    test('a caller sees one workspace, or all of its own organisation, merged by time', async () => {
      const [one, two, foreign] = [newWorkspace(), newWorkspace(), newWorkspace()];
      const organisation = Bun.randomUUIDv7();
      const mine = Array.from({ length: 12 }, (_, index) =>
        row({ organisation_id: organisation, workspace_id: [one, two, null][index % 3], created_at: 1_000 + index }),
      );
      await store.insert(
        batchOf(...mine, row({ organisation_id: 'elsewhere', workspace_id: foreign, created_at: 1_005 })),
      );
      const newest = mine.toReversed().map(({ id }) => id);
      expect(await idsOf({ organisationId: organisation, workspaceId: null })).toEqual(newest);
      const page = await reader.list(ask({ organisationId: organisation, workspaceId: null, limit: 5 }));
      expect(page.data.map(({ id }) => id)).toEqual(newest.slice(0, 5));
      expect(
        await idsOf({
          organisationId: organisation,
          workspaceId: null,
          limit: 7,
          after: positionOf(page.next_cursor!)!,
        }),
      ).toEqual(newest.slice(5));
      expect((await idsOf({ organisationId: organisation, workspaceId: one })).length).toBe(4);
      expect(await idsOf({ organisationId: organisation, workspaceId: foreign })).toEqual([]);
    });

    test('one entry comes with its bodies, decoded where that is possible', async () => {
      const workspaceId = newWorkspace();
      const rows = Array.from({ length: 4 }, () => row({ workspace_id: workspaceId }));
      await store.insert({
        rows,
        bodies: [
          [
            packed({
              request: '{"q":"ä"}',
              response: gzipSync('{"a":1}'),
              responseHeaders: { 'content-encoding': 'gzip' },
            }),
          ],
          [packed({ response: Uint8Array.of(0xff, 0xfe, 0x00) })],
          [packed({ response: Buffer.from('grün').subarray(0, 3), truncated: true })],
          null,
        ],
      });
      const read = (index: number) => reader.read(ask({ workspaceId }), rows[index]!.id);
      expect(await read(0)).toMatchObject({
        id: rows[0]!.id,
        request: {
          headers: { 'content-type': 'application/json' },
          body: '{"q":"ä"}',
          encoding: 'utf8',
          truncated: false,
        },
        response: { body: '{"a":1}', encoding: 'utf8' },
      });
      expect(await read(1)).toMatchObject({ request: { body: null }, response: { body: '//4A', encoding: 'base64' } });
      expect(await read(2)).toMatchObject({ response: { body: 'gr', encoding: 'utf8', truncated: true } });
      expect(await read(3)).toMatchObject({ request: null, response: null });
    });

    test('a missing entry, a foreign workspace and a foreign organisation are the same: nothing', async () => {
      const workspaceId = newWorkspace();
      const record = row({ workspace_id: workspaceId });
      await store.insert(batchOf(record));
      expect(await reader.read(ask({ workspaceId }), 'missing')).toBeNull();
      expect(await reader.read(ask({ workspaceId: 'another' }), record.id)).toBeNull();
      expect(await reader.read({ organisationId: 'another', workspaceId: null }, record.id)).toBeNull();
      expect(await reader.read({ organisationId: 'org', workspaceId: null }, record.id)).toMatchObject({
        id: record.id,
      });
    });

    test('characters that a database cannot hold do not keep a record out', async () => {
      const workspaceId = newWorkspace();
      const metadata = JSON.stringify({ nul: 'a\0b', half: '\ud800', slash: '\\u0000' });
      const record = row({ workspace_id: workspaceId, model: 'x\0y\ud800z', path: '/v1/"\\u0000', metadata });
      await store.insert(batchOf(record));
      expect(await idsOf({ workspaceId, metadata: { nul: 'a\uFFFDb' } })).toEqual([record.id]);
      expect(await idsOf({ workspaceId, metadata: { slash: '\\u0000' } })).toEqual([record.id]);
      expect(await store.prune(record.created_at + 1, 100_000)).toBeGreaterThan(0);
    });

    test('retention deletes what is older, a bounded number at a time, with bodies and labels', async () => {
      await store.prune(Number.MAX_SAFE_INTEGER, 100_000);
      const [one, two] = [newWorkspace(), newWorkspace()];
      const rows = Array.from({ length: 30 }, (_, index) =>
        row({ workspace_id: [one, two, null][index % 3], created_at: index, metadata: '{"k":"v"}' }),
      );
      await store.insert({ rows, bodies: rows.map(() => [packed({ request: 'x' })]) });
      expect(await store.prune(20, 15)).toBe(15);
      expect(await store.prune(20, 15)).toBe(5);
      expect(await store.prune(20, 15)).toBe(0);
      const left = rows.slice(20).map(({ id }) => id);
      expect((await idsOf({ workspaceId: null })).toSorted()).toEqual(left.toSorted());
      expect((await idsOf({ workspaceId: null, metadata: { k: 'v' } })).toSorted()).toEqual(left.toSorted());
      expect(await reader.read(ask({ workspaceId: null }), rows[0]!.id)).toBeNull();
      expect(await countOf(target, 'request_log_bodies')).toBe(target.engine === 'postgres' ? 10 : 0);
      expect(await countOf(target, 'request_log_labels')).toBe(10);
    });

    test('a schema that is there already is left alone', async () => {
      const again = await openLogStore(target, 'writer');
      await again.insert(batchOf(row()));
      await again.close();
    });
  });
}

async function countOf(target: LogTarget, table: string): Promise<number> {
  const text = `select count(*) as total from ${table}`;
  if (target.engine === 'sqlite') return (new Database(target.file).query(text).get() as { total: number }).total;
  const client = new Client({ connectionString: target.url });
  await client.connect();
  const { rows } = await client.query(text);
  await client.end();
  return Number(rows[0].total);
}

const selective: [filter: string, index: string][] = [
  ["model = 'rare'", 'request_logs_by_model'],
  ["provider = 'rare'", 'request_logs_by_provider'],
  ["virtual_key = 'rare'", 'request_logs_by_virtual_key'],
  ["api_key_id = 'rare'", 'request_logs_by_api_key_id'],
  ["user_id = 'rare'", 'request_logs_by_user_id'],
  ["failed_by = 'gateway'", 'request_logs_by_failed_by'],
  ['status = 418 and status >= 400', 'request_logs_by_status'],
  [
    `trace_id = 'rare' and id in (
      select traced.id from request_logs as traced where traced.trace_id = 'rare' and traced.trace_id <> traced.id
      union all select 'rare')`,
    'request_logs_by_trace',
  ],
  ["(created_at, id) < (1700000000500, 'x')", 'request_logs_by_time'],
];
const question = (filter: string) =>
  `select * from request_logs where workspace_id = 'workspace' and organisation_id = 'org' and ${filter} order by created_at desc, id desc limit 101`;

async function fill(store: LogStore) {
  for (let at = 0; at < 20; at++) {
    await store.insert(
      batchOf(
        ...Array.from({ length: 256 }, (_, index) =>
          row({ created_at: 1_700_000_000_000 + at * 256 + index, trace_id: `${at}-${index}` }),
        ),
      ),
    );
  }
}

test('SQLite finds rare values and pages by an index', async () => {
  const file = join(temporaryFolder(), 'logs.db');
  const store = await openLogStore({ engine: 'sqlite', file }, 'writer');
  await fill(store);
  await store.close();
  expectIndexes(file);
});

test('a log of an earlier version gets its indexes turned round, and keeps its entries', async () => {
  const file = join(temporaryFolder(), 'logs.db');
  const store = await openLogStore({ engine: 'sqlite', file }, 'writer');
  await fill(store);
  await store.close();
  const database = new Database(file);
  const indexes = () =>
    database.query("select name, sql from sqlite_master where sql like 'create index%'").all() as Index[];
  const before = indexes();
  for (const { name, sql } of before.filter(({ sql }) => sql.includes('created_at'))) {
    database.run(`drop index ${name}`);
    database.run(sql.replace('created_at', 'created_at desc'));
  }
  database.run(`delete from ${LOG_MIGRATION_TABLE} where name like '0003%'`);
  await migrateSqliteLog(file);

  const plain = ({ name, sql }: Index) => `${name}: ${sql.replaceAll(/\s+/g, ' ')}`;
  expect(indexes().map(plain).sort()).toEqual(before.map(plain).sort());
  expect(database.query('select count(*) as count from request_logs').get()).toEqual({ count: 20 * 256 });
  database.close();
  expectIndexes(file);
});

interface Index {
  readonly name: string;
  readonly sql: string;
}

function expectIndexes(file: string) {
  const database = new Database(file);
  for (const [filter, index] of selective) {
    const plan = database.query(`explain query plan ${question(filter)}`).all() as { detail: string }[];
    const steps = plan.map(({ detail }) => detail).filter((step) => /^S(EARCH|CAN) (?!CONSTANT)/.test(step));
    expect(steps.at(-1)).toContain(index);
    for (const step of steps) expect(step).toStartWith('SEARCH');
  }
  database.close();
}

test('PostgreSQL finds rare values and pages by an index', async () => {
  const url = await createDatabase();
  const store = await openLogStore({ engine: 'postgres', url }, 'writer');
  await fill(store);
  await store.close();
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('analyze');
  for (const [filter, index] of selective) {
    const { rows } = await client.query(`explain ${question(filter)}`);
    const plan = rows.map((line) => line['QUERY PLAN']).join('\n');
    // Each part of the log has that index under a name of its own.
    const { rows: own } = await client.query(
      `select child.relname as name from pg_inherits join pg_class as child on child.oid = inhrelid
       where inhparent = to_regclass($1)`,
      [index],
    );
    expect(own.some(({ name }) => plan.includes(name))).toBe(true);
  }
  await client.end();
});

test('PostgreSQL reads the newest calls of some paths, and not all of their day', async () => {
  const url = await createDatabase();
  const store = await openLogStore({ engine: 'postgres', url }, 'writer');
  await fill(store);
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('analyze');
  const read = async () => {
    const { rows } = await client.query(
      `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) as total
       from pg_stat_user_tables where relname like 'request_logs%'`,
    );
    return Number(rows[0].total);
  };
  const quiet = async () => {
    for (let before = -1; before !== (await read()); await Bun.sleep(1_500)) before = await read();
    return read();
  };
  const before = await quiet();
  const [reader, paths] = [
    await openLogStore({ engine: 'postgres', url }, 'reader'),
    'path:/v1/chat/completions*,/mcp* verdict:none',
  ];
  const page = await reader.list(ask({ workspaceId: 'workspace', limit: 20, terms: termsIn(paths) }));
  const prefixed = await reader.list(ask({ workspaceId: 'workspace', limit: 20, pathPrefix: '/v1/chat' }));
  expect([page.data.length, prefixed.data.length]).toEqual([20, 20]);
  await reader.close();
  expect((await quiet()) - before).toBeLessThan(500);
  await client.end();
  await store.close();
});
