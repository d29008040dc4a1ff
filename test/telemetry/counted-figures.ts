import { Database, Statement } from 'bun:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Client } from 'pg';
import { type Amount, addAmount, nothing, SUMS } from '../../src/telemetry/aggregates/amount.ts';
import type { Packed } from '../../src/telemetry/aggregates/chunk.ts';
import {
  CORE,
  CORE_DIMENSIONS,
  type Cube,
  columnsOfCube,
  type Kind,
  kindOf,
  metadataCube,
  TOTAL,
  textOfKind,
  WHOLE,
} from '../../src/telemetry/aggregates/cubes.ts';
import type { Source } from '../../src/telemetry/aggregates/fact.ts';
import { FIVES, GRAINS, type GrainName } from '../../src/telemetry/aggregates/grains.ts';
import { inOrder } from '../../src/telemetry/aggregates/histogram.ts';
import type { FigureOptions } from '../../src/telemetry/aggregates/options.ts';
import { stateIn } from '../../src/telemetry/aggregates/state.ts';
import { kindsOf, sharedIn, wholesOf } from '../../src/telemetry/aggregates/wholes.ts';
import { type GuardrailCount, GuardrailCounts } from '../../src/telemetry/hits/counts.ts';
import type { LogRow } from '../../src/telemetry/log-columns.ts';
import { type LogStore, type LogTarget, openLogStore } from '../../src/telemetry/log-store.ts';
import { seeded } from '../fuzz.ts';
import { createDatabase } from '../postgres.ts';
import { unpack } from './cells.ts';
import { batchOf, removeTemporaryFolders, row, temporaryFolder } from './log-rows.ts';

const KEYS = ['team', '_user'];
const FIGURES: FigureOptions = { metadataKeys: KEYS, keepDays: { minutes: 36_500, hours: 36_500, days: 36_500 } };
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The statement that fails, counted from now; none when it is negative. */
let failsIn = -1;
const beforeStatement = () => {
  if (failsIn >= 0 && failsIn-- === 0) throw Object.assign(new Error('killed'), { code: 'ECONNRESET' });
};

/** Every statement of both stores passes here: what happens before one of them fails is as if the process had died there. */
const originals = { run: Statement.prototype.run, all: Statement.prototype.all, query: Client.prototype.query };
type Ask = <Row>(text: string) => Promise<Row[]>;

async function asking<Result>(target: LogTarget, work: (ask: Ask) => Promise<Result>): Promise<Result> {
  if (target.engine === 'sqlite') {
    const raw = new Database(target.file);
    try {
      return await work(async <Row>(text: string) => raw.query(text).all() as Row[]);
    } finally {
      raw.close();
    }
  }
  const client = new Client({ connectionString: target.url });
  await client.connect();
  try {
    return await work(async <Row>(text: string) => (await client.query(text)).rows as Row[]);
  } finally {
    await client.end();
  }
}

type Shown = Record<string, string>;

const shown = ({ sums, durations, firstBytes }: Amount): string =>
  [...SUMS.map((name) => sums[name]), ...[durations, firstBytes].map((each) => [...inOrder(each)].join())].join(' ');

/** By cubes, what their digests tell apart of the core. */
const DIGESTS: Readonly<Record<string, readonly (readonly [digest: string, told: readonly string[]])[]>> = {
  '+': [
    ['outcomes', ['provider', 'model', 'status']],
    ['models', CORE_DIMENSIONS.filter((name) => !['api_key_id', 'virtual_key'].includes(name))],
    ['keys', ['api_key_id', 'virtual_key', 'provider', 'model']],
  ],
  ...Object.fromEntries(
    ['user_id', ...KEYS.map(metadataCube)].map((person) => [
      `+${person}`,
      [[`+outcomes/${person}`, ['provider', 'model', 'status']]],
    ]),
  ),
};
const TOLD = new Map(Object.values(DIGESTS).flat());

/** In a digest, any core stands for all that agree in what it tells apart. */
function keyText(
  cube: string,
  [core, ...others]: readonly number[],
  textOf: (id: number) => string | undefined,
): string {
  const told = TOLD.get(cube);
  const kind = told && kindOf(textOf(core!)!);
  const first = kind
    ? JSON.stringify([kind.workspaceId, told.map((name) => kind.values[CORE_DIMENSIONS.indexOf(name as never)])])
    : textOf(core!);
  return [first, ...others.map(textOf)].join(' ');
}

/** Every cell, with what it amounts to as text. */
const cellsOf = (target: LogTarget): Promise<Shown> =>
  asking(target, async (ask) => {
    const kinds = await ask<{ id: number; text: string }>('select id, text from analytics_kinds');
    const texts = new Map(kinds.map(({ id, text }) => [id, text]));
    const rows = await ask<Packed & { grain: number; cube: Cube; bucket: number }>('select * from analytics_cells');
    return Object.fromEntries(
      rows.flatMap((row) =>
        unpack(row, columnsOfCube(row.cube).length)
          // No kind leads to what is left of a workspace that was deleted.
          .filter(({ key }) => texts.has(key[0]!))
          .map(({ key, amount }) => [
            `${row.grain} ${row.bucket} ${row.cube} ${keyText(row.cube, key, (id) => texts.get(id))}`,
            shown(amount),
          ]),
      ),
    );
  });

/** What entries that have this in common count for. */
function cubesFor(text: string): [cube: Cube, kinds: readonly Kind[]][] {
  const { total, core, user, combined, dimensions, metadata } = kindsOf(sharedIn(text), KEYS);
  return [
    [TOTAL, [total]],
    [CORE, [core]],
    [WHOLE, [core, user, combined]],
    ...dimensions().map((kind): [Cube, Kind[]] => [kind.cube as Cube, [kind]]),
    ...[['user_id', user] as const, ...KEYS.map((key, at) => [metadataCube(key), metadata[at]!] as const)].flatMap(
      ([cube, own]): [Cube, Kind[]][] => [
        [cube, [own]],
        [`${CORE}${cube}`, [core, own]],
      ],
    ),
  ];
}

/** The same by looking at every entry. */
const recounted = (target: LogTarget): Promise<Shown> =>
  asking(target, async (ask) => {
    const rows = await ask<Source>('select * from request_logs');
    const { rolledBefore, prunedBefore, digestedFrom } = stateIn(await ask('select name, value from analytics_state'));
    const entries = rows.map((each) => ({ ...each, created_at: Number(each.created_at), cost: each.cost }));
    const minutes = [...wholesOf(entries.map(numbers), KEYS).values()];
    const isKept = (begins: number, name: GrainName) => begins >= prunedBefore[name] && begins < rolledBefore[name];
    const expected = new Map<string, Amount>();
    const add = (place: string, amount: Amount) => {
      const sum = expected.get(place) ?? nothing();
      addAmount(sum, amount);
      expected.set(place, sum);
    };
    for (const { text, bucket: minute, amount } of minutes)
      for (const [at, { name, ms, id: grain }] of GRAINS.entries()) {
        const bucket = Math.floor((minute * GRAINS[0].ms) / ms);
        if (!isKept(bucket * ms, name)) continue;
        for (const [cube, kinds] of cubesFor(text)) {
          const digests = at >= FIVES && bucket * ms >= digestedFrom[name] ? (DIGESTS[cube] ?? []) : [];
          const texts = kinds.map(textOfKind);
          for (const each of [cube, ...digests.map(([digest]) => digest)])
            add(`${grain} ${bucket} ${each} ${keyText(each, [...texts.keys()], (id) => texts[id])}`, amount);
        }
      }
    return Object.fromEntries([...expected].map(([place, amount]) => [place, shown(amount)]));
  });

/** This client of PostgreSQL gives large numbers as text. */
const numbers = (entry: Source): Source =>
  Object.fromEntries(
    Object.entries(entry).map(([name, value]) => [
      name,
      /_(tokens|bytes)$/.test(name) && value !== null ? Number(value) : value,
    ]),
  ) as unknown as Source;

/** What guardrails came to, added up. */
const guardrailsOf = (target: LogTarget): Promise<Shown> =>
  asking(target, async (ask) => {
    const rows = await ask<GuardrailCount>('select * from analytics_guardrails');
    return shownGuardrails(new GuardrailCounts().merge(rows.map(countNumbers)));
  });

/** The same by looking at every entry. */
const recountedGuardrails = (target: LogTarget): Promise<Shown> =>
  asking(target, async (ask) => {
    const rows = await ask<Source>('select * from request_logs');
    return shownGuardrails(
      new GuardrailCounts().add(rows.map((each) => ({ ...each, created_at: Number(each.created_at) }))),
    );
  });

const countNumbers = (count: GuardrailCount): GuardrailCount => ({
  ...count,
  judged: Number(count.judged),
  failed: Number(count.failed),
  denied: Number(count.denied),
});

const shownGuardrails = (counts: GuardrailCounts): Shown =>
  Object.fromEntries(
    counts
      .all()
      .filter(({ judged }) => judged !== 0)
      .map(({ workspace_id, guardrail, hour, judged, failed, denied }) => [
        `${workspace_id} ${guardrail} ${hour}`,
        `${judged} ${failed} ${denied}`,
      ]),
  );

const settled = async (store: LogStore, target: LogTarget) => {
  // PostgreSQL takes a moment to notice that a connection was thrown away; until then it holds the lock.
  if (target.engine === 'postgres') while (await isLocked(target)) await Bun.sleep(20);
  while (await store.tend());
};

/** Though the process dies before one statement, and then before another. */
async function settledThoughKilled(store: LogStore, target: LogTarget) {
  for (let statement = 0, isDone = false; !isDone; statement += 1 + statement) {
    failsIn = statement;
    isDone = await settled(store, target).then(
      () => true,
      () => false,
    );
    failsIn = -1;
  }
}

const isLocked = (target: LogTarget): Promise<boolean> =>
  asking(target, async (ask) => {
    const held = await ask(`select 1 from pg_locks join pg_database on pg_database.oid = pg_locks.database
      where locktype = 'advisory' and datname = current_database()`);
    return held.length > 0;
  });

export interface CountsToTry {
  /** Each is another order of what is written, fails and comes again, of so many steps. */
  readonly seeds: readonly number[];
  readonly steps: number;
  /** So far back entries go of which longer figures are made. */
  readonly days: number;
  /** So far back entries go that the version before would count. */
  readonly hours: number;
}

/** Figures that a store keeps are what looking at every entry finds, whatever happens meanwhile. */
export function describeCountedFigures({ seeds, steps, days, hours }: CountsToTry): void {
  afterAll(removeTemporaryFolders);
  beforeAll(() => {
    for (const name of ['run', 'all'] as const)
      (Statement.prototype as unknown as Record<string, unknown>)[name] = function (this: unknown, ...values: never[]) {
        beforeStatement();
        return (originals[name] as (...given: never[]) => unknown).apply(this, values);
      };
    (Client.prototype as unknown as Record<string, unknown>).query = function (this: unknown, ...values: never[]) {
      beforeStatement();
      return (originals.query as unknown as (...given: never[]) => unknown).apply(this, values);
    };
  });
  afterAll(() => {
    Object.assign(Statement.prototype, { run: originals.run, all: originals.all });
    Client.prototype.query = originals.query;
  });
  afterEach(() => {
    failsIn = -1;
  });

  for (const [engine, newTarget] of [
    ['SQLite', async (): Promise<LogTarget> => ({ engine: 'sqlite', file: join(temporaryFolder(), 'logs.db') })],
    ['PostgreSQL', async (): Promise<LogTarget> => ({ engine: 'postgres', url: await createDatabase() })],
  ] as const) {
    describe(`figures on ${engine}`, () => {
      for (const seed of seeds) {
        test(`are what the log says, whatever fails between any two statements and comes again (seed ${seed})`, async () => {
          const random = seeded(seed);
          const target = await newTarget();
          // Two nodes share PostgreSQL; the embedded store has one writer.
          const nodes = [await openLogStore(target, 'writer', { figures: FIGURES })];
          if (target.engine === 'postgres') nodes.push(await openLogStore(target, 'writer', { figures: FIGURES }));
          const sent: LogRow[][] = [];
          const maybeFailing = async (work: (store: LogStore) => Promise<unknown>) => {
            failsIn = random.chance(0.4) ? random.below(14) : -1;
            await work(random.pick(nodes)).catch((error: { code?: string }) => expect(error.code).toBe('ECONNRESET'));
            failsIn = -1;
          };
          for (let step = 0; step < steps; step++) {
            const choice = random.below(10);
            if (choice < 5) {
              const batch = Array.from({ length: 1 + random.below(12) }, () => randomRow(random));
              sent.push(batch);
              await maybeFailing((store) => store.insert(batchOf(...batch)));
            } else if (choice < 7 && sent.length > 0) {
              const again = random.pick(sent);
              const later = random.chance(0.5) ? again : again.map((entry) => judged(entry, random.chance(0.5)));
              await maybeFailing((store) => store.insert(batchOf(...later, randomRow(random))));
            } else if (choice < 9) await maybeFailing((store) => store.tend());
            else if (random.chance(0.3)) {
              const person = { organisationId: 'org', userId: 'eve', names: ['eve'] };
              const whose = random.chance(0.5) ? { workspaceId: 'doomed' } : person;
              await maybeFailing((store) => store.erase(whose, 1 + random.below(10)));
            }
          }
          for (const batch of sent) await nodes[0]!.insert(batchOf(...batch));
          for (const store of nodes) await settled(store, target);
          const expected = await recounted(target);
          expect(Object.keys(expected).length).toBeGreaterThan(500);
          const cells = await cellsOf(target);
          // What is left of a person whose entries are gone may stand under no name.
          expect(cells).toEqual(expected);
          const guardrails = await recountedGuardrails(target);
          expect(Object.keys(guardrails).length).toBeGreaterThan(4);
          expect(await guardrailsOf(target)).toEqual(guardrails);

          await asking(target, async (ask) => {
            await ask('delete from analytics_cells where bucket % 5 = 0');
            await ask('delete from analytics_guardrails where hour % 2 = 0');
            await ask('update analytics_guardrails set denied = denied + 7');
            const one = (column: string) =>
              `(select ${column} from analytics_cells where cube = '+' and grain = 0 order by bucket limit 1)`;
            await ask(`update analytics_cells set sums = ${one('sums')}, more = ${one('more')}
              where cube = '+' and bucket % 3 = 0`);
          });
          await nodes[0]!.recount(true);
          for (const store of nodes) await maybeFailing(() => store.tend());
          await nodes[0]!.insert(batchOf(randomRow(random)));
          await settled(nodes[0]!, target);
          expect(await nodes[0]!.recount(false)).toMatchObject({ countedFrom: null });
          expect(await cellsOf(target)).toEqual(await recounted(target));
          expect(await guardrailsOf(target)).toEqual(await recountedGuardrails(target));
          for (const store of nodes) await store.close();
        });
      }

      test('of an hour, a quarter of a day and a day are made when these are over, and take in what comes late', async () => {
        const random = seeded(3);
        const target = await newTarget();
        const opened = await openLogStore(target, 'writer', { figures: FIGURES });
        await opened.close();
        await asking(target, (ask) =>
          ask(`update analytics_state set value = value - ${days * DAY_MS} where name like 'rolled_%'`),
        );
        const of = () => randomRow(random, days * DAY_MS);
        const store = await openLogStore(target, 'writer', { figures: FIGURES });
        await store.insert(batchOf(...Array.from({ length: 60 }, of)));
        await settledThoughKilled(store, target);
        const { rolledBefore } = await asking(target, async (ask) =>
          stateIn(await ask('select * from analytics_state')),
        );
        expect(rolledBefore.days).toBe(Math.floor(Date.now() / DAY_MS) * DAY_MS);
        expect(await cellsOf(target)).toEqual(await recounted(target));
        await store.insert(batchOf(...Array.from({ length: 60 }, of)));
        await settled(store, target);
        expect(await cellsOf(target)).toEqual(await recounted(target));
        await store.close();
      });

      test('have digests once nodes of the version before are gone: those of what was there, then of what comes', async () => {
        const random = seeded(5);
        const target = await newTarget();
        const opened = await openLogStore(target, 'writer', { figures: FIGURES });
        await opened.close();
        const ask = (text: string) => asking(target, (asked) => asked(text));
        await ask(`update analytics_state set value = value - ${days * DAY_MS} where name like 'rolled_%'`);
        await ask("delete from analytics_state where name like 'digest%'");
        await ask(`insert into analytics_state (name, value) values ('digests_begin', ${Date.now() + DAY_MS})`);
        const digests = async () =>
          (
            await ask(
              "select 1 from analytics_cells where cube in ('outcomes', 'keys', 'models') or cube like '+outcomes/%'",
            )
          ).length;
        const comes = async () => {
          const rows = Array.from({ length: 60 }, () => randomRow(random, days * DAY_MS));
          const store = await openLogStore(target, 'writer', { figures: FIGURES });
          await store.insert(batchOf(...rows));
          await settled(store, target);
          await store.close();
        };
        await comes();
        expect(await digests()).toBe(0);
        expect(await cellsOf(target)).toEqual(await recounted(target));

        await ask("update analytics_state set value = 0 where name = 'digests_begin'");
        const store = await openLogStore(target, 'writer', { figures: FIGURES });
        await settledThoughKilled(store, target);
        await store.close();
        const { digestedFrom } = await asking(target, async (asked) =>
          stateIn(await asked('select * from analytics_state')),
        );
        expect(digestedFrom).toMatchObject({ fives: 0, hours: 0, quarters: 0, days: 0 });
        expect(await digests()).toBeGreaterThan(10);
        expect(await cellsOf(target)).toEqual(await recounted(target));
        await comes();
        expect(await cellsOf(target)).toEqual(await recounted(target));
      });

      test('are written as the version before reads them until its nodes are gone, and then in runs and by five minutes, too', async () => {
        const random = seeded(4);
        const target = await newTarget();
        let store = await openLogStore(target, 'writer', { figures: FIGURES });
        const setState = (name: string, value: number) =>
          asking(target, (ask) => ask(`update analytics_state set value = ${value} where name = '${name}'`));
        const beginAt = async (moment: number) => {
          for (const name of ['rolled_fives', 'pruned_fives', 'in_runs_from']) await setState(name, moment);
        };
        const layouts = () =>
          asking(target, async (ask) => {
            const rows = await ask<{ grain: number; more: unknown }>('select grain, more from analytics_cells');
            return {
              plain: rows.filter(({ more }) => more === null).length,
              inRuns: rows.filter(({ more }) => more !== null).length,
              fives: rows.filter(({ grain }) => Number(grain) === 4).length,
            };
          });
        const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
        const beginning = hour - hours * HOUR_MS;
        for (const name of ['rolled_hours', 'rolled_quarters', 'rolled_days'])
          await setState(name, beginning - (beginning % DAY_MS));
        const of = () => randomRow(random, hours * HOUR_MS);

        await beginAt(hour + DAY_MS);
        await store.insert(batchOf(...Array.from({ length: 80 }, of)));
        await settled(store, target);
        expect(await layouts()).toMatchObject({ inRuns: 0, fives: 0 });
        expect(await cellsOf(target)).toEqual(await recounted(target));

        // Hours from before were made of minutes; those from then on are made of fives.
        await beginAt(hour - 3 * HOUR_MS);
        await setState('rolled_hours', hour - 5 * HOUR_MS);
        await asking(target, (ask) =>
          ask(`delete from analytics_cells where grain = 1 and bucket >= ${hour / HOUR_MS - 5}`),
        );
        // Longer buckets are looked for at once by a node that starts.
        await store.close();
        store = await openLogStore(target, 'writer', { figures: FIGURES });
        await store.insert(batchOf(...Array.from({ length: 80 }, of)));
        await settled(store, target);
        const { plain, inRuns, fives } = await layouts();
        expect(Math.min(plain, inRuns, fives)).toBeGreaterThan(0);
        expect(await cellsOf(target)).toEqual(await recounted(target));
        await store.close();
      });
    });
  }
}

type Random = ReturnType<typeof seeded>;

function randomRow(random: Random, withinMs = 4 * HOUR_MS): LogRow {
  const failed = random.chance(0.2);
  const maybe = <Value>(value: Value): Value | null => (random.chance(0.6) ? value : null);
  return row({
    // Near now: what is counted anew begins there.
    created_at: Date.now() - random.below(withinMs),
    workspace_id: random.pick(['one', 'doomed', null]),
    user_id: maybe(random.pick(['ada', 'eve'])),
    model: random.pick(['gpt-4o', 'nu\0ll']),
    path: random.pick(['/v1/chat/completions', '/v1/files/file-12']),
    status: failed ? 500 : 200,
    failed_by: failed ? 'provider' : null,
    first_byte_ms: maybe(random.below(1_000) / 8),
    duration_ms: random.below(60_000) / 8,
    cost: maybe(random.below(1_000) / 1e6),
    hook_results: maybe(JSON.stringify({ before_request_hooks: [{ id: random.pick(['g', 'h']) }] })),
    metadata: maybe(JSON.stringify({ team: random.pick(['blue', 'red']), _user: random.pick(['ada', 'joe']) })),
  });
}

const judged = (entry: LogRow, verdict: boolean): LogRow => ({
  ...entry,
  hook_results: JSON.stringify({
    before_request_hooks: [{ id: 'g', deny: true, execution_time: 12.5, ...(!verdict && { verdict }) }],
  }),
});
