import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { Kysely, sql } from 'kysely';
import { createDatabase } from '../../test/postgres.ts';
import { eventually } from '../../test/process.ts';
import { createHealth } from '../core/health.ts';
import { type Changes, createChanges } from '../storage/changes.ts';
import type { Engine } from '../storage/migrate.ts';
import type { Schema } from '../storage/schema.ts';
import { sqliteDialect } from '../storage/sqlite.ts';
import { type Db, openPostgres, openSqlite, type Store } from '../storage/store.ts';
import { workTable } from './table.ts';
import { databaseClock } from './time.ts';
import { backoffOf, defaultTiming, type Kind, type Lease, LeaseLost, ShuttingDown, WorkCancelled } from './work.ts';
import { createWorkers, type Wake, type Workers, type WorkersOptions } from './workers.ts';

/** So often that no test waits for it; the leases themselves are as long as ever. */
const quick = { pollMs: 20, sweepMs: 20, heartbeatMs: 20 };
/** Nothing happens by itself. */
const idle = { pollMs: 3_600_000, sweepMs: 3_600_000 };

/** One suite, both stores. */
function workContract(engine: Engine, open: (url: string | null) => Promise<Store>) {
  describe(engine, () => {
    let store: Store;
    /** What wakes a node when a transaction has committed; a test that has it needs no luck with the time that takes. */
    let changes: Changes;
    let time = Date.now();
    const clock = () => time;
    const started: Workers[] = [];
    const errors: string[] = [];

    beforeAll(async () => {
      const databaseUrl = engine === 'postgres' ? await createDatabase() : null;
      store = await open(databaseUrl);
      await store.migrate();
      changes = createChanges({ store, databaseUrl, health: createHealth({ now: Date.now }) });
      await changes.start();
    });
    afterEach(async () => {
      await Promise.all(started.splice(0).map((workers) => workers.stop(0)));
      await store.db.deleteFrom('work').execute();
      await store.db.deleteFrom('facts').execute();
      errors.length = 0;
    });
    afterAll(async () => {
      await changes.close();
      await store.close();
    });

    const node = (kinds: readonly Kind[], options: Partial<WorkersOptions> = {}): Workers => {
      const onError = (what: string, error: unknown) => void errors.push(`${what}: ${(error as Error).message}`);
      const workers = createWorkers({ store, node: 'test', kinds, onError, timing: quick, ...options });
      started.push(workers);
      return workers;
    };
    const running = async (kinds: readonly Kind[], options: Partial<WorkersOptions> = {}): Promise<Workers> => {
      const workers = node(kinds, options);
      await workers.start();
      return workers;
    };
    const tableOf = (name: string) =>
      workTable({ engine, node: name, now: databaseClock(engine, clock), timing: defaultTiming });
    const given = (workers: Workers, kind: string, tenant = 'acme', ref = 'object') =>
      store.transaction((db) => workers.enqueue(db, { kind, tenant, ref }));
    const rows = () => store.db.selectFrom('work').selectAll().orderBy('id').execute();
    const row = async () => (await rows())[0]!;
    const write = (db: Db, name: string) => db.insertInto('facts').values({ name, value: 'written' }).execute();
    const written = async () =>
      (await store.db.selectFrom('facts').select('name').orderBy('name').execute()).map(({ name }) => name);
    const end = (lease: Lease) => lease.transaction((db) => lease.done(db));
    const isEmpty = async () => (await rows()).length === 0;

    test('fifty who claim at once never get the same row', async () => {
      const workers = node([kindOf('job')]);
      await store.transaction(async (db) => {
        for (let number = 0; number < 300; number++)
          await workers.enqueue(db, { kind: 'job', tenant: `tenant ${number % 7}`, ref: 'object' });
      });
      const now = databaseClock(engine);
      const claims = await Promise.all(
        Array.from({ length: 50 }, async (_, claimer) => {
          const table = workTable({ engine, node: `claimer ${claimer}`, now, timing: defaultTiming });
          const mine: string[] = [];
          while ((await table.nextDue(store.db, ['job']))[0]!.next !== null)
            mine.push(...(await table.claim(store.db, { kind: 'job', limit: 2, after: '' })).map(({ id }) => id));
          return mine;
        }),
      );
      expect(claims.flat()).toHaveLength(300);
      expect(new Set(claims.flat()).size).toBe(300);
      for (const { fence, attempts } of await rows()) expect([fence, attempts]).toEqual([1, 1]);
    });

    test('work is done once, and its row goes in the transaction of its effect', async () => {
      const kind = kindOf('job', async (lease) => {
        await lease.transaction(async (db) => {
          await write(db, lease.work.ref);
          await lease.done(db);
        });
      });
      const nodes = await Promise.all([running([kind]), running([kind]), running([kind])]);
      for (let number = 10; number < 40; number++) await given(nodes[0]!, 'job', 'acme', `effect ${number}`);
      await eventually('all is done', isEmpty);
      // A second insert of the same name would have failed.
      expect(await written()).toHaveLength(30);
      expect(errors).toEqual([]);
      await eventually('all slots are free', () => nodes.every((workers) => workers.status()[0]!.running === 0));
      expect(nodes.reduce((sum, workers) => sum + workers.status()[0]!.outcomes.done, 0)).toBe(30);
    });

    test('never more runs at once than the kind allows', async () => {
      let now = 0;
      let most = 0;
      const kind = kindOf('job', async (lease) => {
        most = Math.max(most, ++now);
        await Bun.sleep(5);
        await end(lease);
        now--;
      });
      const workers = node([{ ...kind, concurrency: 3 }]);
      for (let number = 0; number < 20; number++) await given(workers, 'job');
      await workers.start();
      await eventually('all is done', isEmpty);
      expect(most).toBe(3);
    });

    test('after the lease another node takes over, and the former owner can write nothing', async () => {
      const [first, second] = [tableOf('first'), tableOf('second')];
      await first.insert(store.db, { kind: 'job', tenant: 'acme', ref: 'object' }, false);
      const share = { kind: 'job', limit: 1, after: '' };
      const [held] = await first.claim(store.db, share);
      time += 29_000;
      expect(await second.reap(store.db)).toBe(0);
      expect(await second.claim(store.db, share)).toEqual([]);
      time += 1_001;
      expect(await second.reap(store.db)).toBe(1);
      const [taken] = await second.claim(store.db, share);

      expect(taken).toMatchObject({ id: held!.id, fence: 2, attempts: 2 });
      const before = await row();
      expect(await first.hold(store.db, held!)).toBeNull();
      expect(await first.remove(store.db, held!)).toBe(false);
      expect(await first.checkpoint(store.db, held!, 'late')).toBe(false);
      expect(await first.letGo(store.db, held!, { attempts: 0, hurriesWhenCancelled: true })).toBe(false);
      expect(await first.renew(store.db, [held!.id])).toEqual([]);
      expect(await row()).toEqual(before);
      expect(await store.transaction((db) => second.hold(db, taken!))).toEqual({ isCancelled: false });
    });

    test('a node that claims its own expired work again does not mistake the old lease for the new one', async () => {
      const table = tableOf('only');
      await table.insert(store.db, { kind: 'job', tenant: 'acme', ref: 'object' }, false);
      const share = { kind: 'job', limit: 1, after: '' };
      const [old] = await table.claim(store.db, share);
      time += 31_000;
      await table.reap(store.db);
      const [fresh] = await table.claim(store.db, share);
      expect(await table.hold(store.db, old!)).toBeNull();
      expect(await table.remove(store.db, old!)).toBe(false);
      expect(await table.hold(store.db, fresh!)).not.toBeNull();
    });

    test('a zombie that wakes up after the takeover writes nothing and is told so', async () => {
      const gate = Promise.withResolvers<void>();
      const outcome = Promise.withResolvers<unknown>();
      const late = kindOf('job', async (lease) => {
        await gate.promise;
        const writing = lease.transaction((db) => write(db, 'by the zombie'));
        outcome.resolve(await writing.catch((error: unknown) => error));
        throw new Error('goes on nevertheless');
      });
      // With a second slot, a last look of its own could take the work up again when its lease has ended.
      const zombie = await running([{ ...late, concurrency: 1 }], {
        clock,
        wake: changes,
        // A message may be lost on a machine that is busy.
        timing: { ...idle, pollMs: 500, heartbeatMs: 15_000 },
      });
      // Its first heartbeat comes at the start, and must not renew the lease when the clock has gone on.
      await Bun.sleep(5);
      await given(zombie, 'job');
      await eventually('it runs', () => zombie.status()[0]!.running === 1);
      time += 31_000;
      const kind = kindOf('job', async (lease) => {
        await lease.transaction(async (db) => {
          await write(db, 'by the successor');
          await lease.done(db);
        });
      });
      await running([kind], { clock });
      await eventually('the successor is done', isEmpty);
      gate.resolve();

      expect(await outcome.promise).toBeInstanceOf(LeaseLost);
      await eventually('the zombie stops', () => zombie.status()[0]!.running === 0);
      expect(zombie.status()[0]!.outcomes.lost).toBe(1);
      expect(await written()).toEqual(['by the successor']);
      expect(errors).toEqual([]);
    });

    test('the heartbeat keeps a lease for as long as the work takes', async () => {
      const gate = Promise.withResolvers<void>();
      const kind = kindOf('job', async (lease) => {
        await gate.promise;
        await end(lease);
      });
      const workers = await running([kind], { clock });
      await running([kind], { clock });
      await given(workers, 'job');
      await eventually('somebody has it', async () => (await row()).owner !== null);
      const { owner } = await row();
      for (let beat = 0; beat < 4; beat++) {
        time += 20_000;
        await eventually('the lease is renewed', async () => (await row()).lease_until === time + 30_000);
      }
      expect(await row()).toMatchObject({ owner, fence: 1 });
      gate.resolve();
      await eventually('it is done', isEmpty);
    });

    test('a claim that was never answered is not renewed', async () => {
      const workers = await running([kindOf('job', (lease) => untilAborted(lease))], { clock });
      await given(workers, 'job');
      await eventually('it runs', () => workers.status()[0]!.running === 1);
      const lost = await tableOf(workers.owner).insert(
        store.db,
        { kind: 'job', tenant: 'acme', ref: 'lost on the way' },
        true,
      );
      time += 20_000;
      const leases = async () => new Map((await rows()).map(({ id, lease_until }) => [id, lease_until]));
      await eventually('the other is renewed', async () => [...(await leases()).values()].includes(time + 30_000));
      expect((await leases()).get(lost.id)).toBe(time + 10_000);
    });

    test('a node that cannot renew its leases aborts its own work, and goes on when the store is back', async () => {
      const away = new Kysely<Schema>({ dialect: sqliteDialect(':memory:', { durability: 'normal' }) });
      await away.destroy();
      let isAway = false;
      const cut: Store = {
        ...store,
        get db() {
          return isAway ? away : store.db;
        },
        transaction: (work) => (isAway ? away.transaction().execute(work) : store.transaction(work)),
      };
      const reasons: unknown[] = [];
      const kind = kindOf('job', async (lease) => {
        if (lease.work.attempts > 1) return end(lease);
        await untilAborted(lease).catch((error: unknown) => reasons.push(error));
        throw new Error('stopped');
      });
      const timing = { ...quick, abortAfterMs: 500, leaseMs: 1_000 };
      const workers = await running([kind], { store: cut, timing });
      await given(workers, 'job');
      await eventually('it runs', () => workers.status()[0]!.running === 1);
      isAway = true;
      await eventually('it stops by itself', () => reasons.length === 1);
      expect(reasons[0]).toBeInstanceOf(LeaseLost);
      expect(errors.filter((error) => error.startsWith('renewing'))).toHaveLength(1);
      isAway = false;
      await eventually('it is done in the end', isEmpty);
      expect(workers.status()[0]!.outcomes).toMatchObject({ lost: 1, done: 1 });
    });

    test('what throws is tried again after a growing pause', async () => {
      const attempts: (number | string | null)[][] = [];
      const kind = kindOf('job', async (lease) => {
        attempts.push([lease.work.attempts, lease.work.lastError]);
        if (lease.work.attempts < 3) throw new TypeError('not yet');
        await end(lease);
      });
      const workers = await running([{ ...kind, backoff: { firstMs: 20_000, mostMs: 60_000 } }], { clock });
      await given(workers, 'job');
      const waits: number[] = [];
      for (const attempt of [1, 2]) {
        await eventually('it waits', () => workers.status()[0]!.outcomes.retried === attempt);
        waits.push((await row()).run_at - time);
        time = (await row()).run_at;
      }
      await eventually('it is done', isEmpty);
      expect(attempts).toEqual([
        [1, null],
        [2, 'TypeError: not yet'],
        [3, 'TypeError: not yet'],
      ]);
      expect(waits[0]).toBeWithin(10_000, 20_001);
      expect(waits[1]).toBeWithin(20_000, 40_001);
      expect(errors[0]).toMatch(/^job \S+ \(attempt 1 of 5\): not yet$/);
    });

    test('after the last attempt the kind says so, in the transaction in which the row goes', async () => {
      let begun = 0;
      const kind: Kind = {
        ...kindOf('job', async () => {
          begun++;
          throw new Error('never');
        }),
        maxAttempts: 3,
        backoff: { firstMs: 1, mostMs: 1 },
        failed: async (db, work, error) => {
          await write(db, `${work.ref} failed: ${(error as Error).message}`);
        },
      };
      const workers = await running([kind]);
      await given(workers, 'job');
      await eventually('it is given up', isEmpty);
      expect(begun).toBe(3);
      expect(await written()).toEqual(['object failed: never']);
      await eventually('it is counted', () => workers.status()[0]!.outcomes.failed === 1);
    });

    test('a kind that cannot even fail is asked again later, and what it wrote is undone', async () => {
      let isBroken = true;
      const kind: Kind = {
        ...kindOf('job', async () => {
          throw new Error('never');
        }),
        maxAttempts: 1,
        backoff: { firstMs: 1, mostMs: 1 },
        failed: async (db) => {
          await write(db, 'failed');
          if (isBroken) throw new Error('on purpose');
        },
      };
      const workers = await running([kind]);
      await given(workers, 'job');
      await eventually('it was tried', () => errors.some((error) => error.endsWith('on purpose')));
      expect(await written()).toEqual([]);
      isBroken = false;
      await eventually('it is given up', isEmpty);
      expect(await written()).toEqual(['failed']);
    });

    test('work that kills whoever begins it is given up without another try', async () => {
      const table = tableOf('victim');
      await table.insert(store.db, { kind: 'job', tenant: 'acme', ref: 'poison' }, false);
      for (let death = 0; death < 5; death++) {
        expect(await table.claim(store.db, { kind: 'job', limit: 1, after: '' })).toHaveLength(1);
        time += 31_000;
        await table.reap(store.db);
      }
      let begun = 0;
      const kind: Kind = {
        ...kindOf('job', async () => void begun++),
        failed: async (db, work) => void (await write(db, work.ref)),
      };
      await running([kind], { clock });
      await eventually('it is given up', isEmpty);
      expect(begun).toBe(0);
      expect(await written()).toEqual(['poison']);
    });

    test('a checkpoint keeps what was reached and gives back the attempts', async () => {
      const seen: unknown[] = [];
      const kind = kindOf('job', async (lease) => {
        const step = (lease.work.payload as number | null) ?? 0;
        seen.push([step, lease.work.attempts]);
        if (step === 3) return end(lease);
        await lease.transaction((db) => lease.checkpoint(db, step + 1));
        throw new Error('dies after every step');
      });
      const workers = await running([{ ...kind, maxAttempts: 2, backoff: { firstMs: 1, mostMs: 1 } }]);
      await given(workers, 'job');
      await eventually('it is done', isEmpty);
      expect(seen).toEqual([
        [0, 1],
        [1, 2],
        [2, 2],
        [3, 2],
      ]);
    });

    test('rescheduled work holds no lease until its time, and then starts afresh with its new payload', async () => {
      const kind = kindOf('job', async (lease) => {
        if (lease.work.payload === 'poll again') return end(lease);
        await lease.transaction((db) => lease.reschedule(db, { afterMs: 60_000 }, 'poll again'));
      });
      const workers = await running([kind], { clock });
      await given(workers, 'job');
      await eventually('it waits', () => workers.status()[0]!.outcomes.rescheduled === 1);
      expect(await row()).toMatchObject({ owner: null, attempts: 0, run_at: time + 60_000 });
      time += 59_999;
      await Bun.sleep(60);
      expect(await rows()).toHaveLength(1);
      time += 1;
      await eventually('it is done', isEmpty);
    });

    test('work for later is not begun before its time', async () => {
      const workers = await running([kindOf('job', end)], { clock });
      await store.transaction((db) =>
        workers.enqueue(db, { kind: 'job', tenant: 'acme', ref: 'object', runAt: time + 5_000, payload: { a: [1] } }),
      );
      await Bun.sleep(60);
      expect(await row()).toMatchObject({ owner: null, run_at: time + 5_000, payload: '{"a":[1]}' });
      time += 5_000;
      await eventually('it is done', isEmpty);
    });

    test('a handler that ends without saying how is tried again', async () => {
      const kind = kindOf('job', async (lease) => {
        if (lease.work.attempts === 2) await end(lease);
      });
      const workers = await running([{ ...kind, backoff: { firstMs: 1, mostMs: 1 } }]);
      await given(workers, 'job');
      await eventually('it is done', isEmpty);
      expect(errors[0]).toContain('ended without done, reschedule or release');
    });

    test('work is ended only with the handle of a fenced transaction', async () => {
      const outcome = Promise.withResolvers<unknown>();
      const kind = kindOf('job', async (lease) => {
        outcome.resolve(await lease.done(store.db).catch((error: unknown) => error));
        await end(lease);
      });
      const workers = await running([kind]);
      await given(workers, 'job');
      expect(String(await outcome.promise)).toContain('inside transaction() of its lease');
      await eventually('it is done', isEmpty);
    });

    test('a transaction that throws after done leaves the row', async () => {
      const kind = kindOf('job', async (lease) => {
        if (lease.work.attempts > 1) return end(lease);
        await lease.transaction(async (db) => {
          await write(db, 'half');
          await lease.done(db);
          throw new Error('on purpose');
        });
      });
      const workers = await running([{ ...kind, backoff: { firstMs: 1, mostMs: 1 } }]);
      await given(workers, 'job');
      await eventually('it is done', isEmpty);
      expect(workers.status()[0]!.outcomes.retried).toBe(1);
      expect(await written()).toEqual([]);
    });

    test('cancelling what nobody is at ends it in the same transaction', async () => {
      const kind = { ...kindOf('job'), cancelled: async (db: Db) => void (await write(db, 'cancelled')) };
      const workers = node([kind]);
      const id = await given(workers, 'job');
      const undone = store.transaction(async (db) => {
        await workers.cancel(db, { id });
        throw new Error('on purpose');
      });
      expect(await undone.catch((error: Error) => error.message)).toBe('on purpose');
      expect([await written(), (await rows()).length]).toEqual([[], 1]);

      expect(await store.transaction((db) => workers.cancel(db, { id }))).toEqual({ ended: 1, asked: 0 });
      expect([await written(), await isEmpty()]).toEqual([['cancelled'], true]);
      expect(await store.transaction((db) => workers.cancel(db, { id }))).toEqual({ ended: 0, asked: 0 });
    });

    test('cancelling what runs aborts it on its node, then the kind says so', async () => {
      const reasons: unknown[] = [];
      const kind: Kind = {
        ...kindOf('job', async (lease) => {
          await untilAborted(lease).catch((error: unknown) => reasons.push(error));
          await lease.transaction((db) => write(db, 'what was reached'));
          throw new Error('stopped');
        }),
        cancelled: async (db) => void (await write(db, 'cancelled')),
      };
      const owner = await running([kind]);
      const other = node([kind]);
      await given(owner, 'job');
      await given(owner, 'job');
      await given(owner, 'job', 'acme', 'another object');
      await eventually('all run', () => owner.status()[0]!.running === 3);
      const target = { kind: 'job', ref: 'another object' };
      expect(await store.transaction((db) => other.cancel(db, target))).toEqual({ ended: 0, asked: 1 });
      await eventually('one is over', () => owner.status()[0]!.outcomes.cancelled === 1);
      expect(reasons.map((reason) => reason instanceof WorkCancelled)).toEqual([true]);
      expect(await rows()).toHaveLength(2);
      expect(await written()).toEqual(['cancelled', 'what was reached']);
      expect(errors).toEqual([]);
    });

    test('on the same node a cancellation arrives at once, without waiting for the next look', async () => {
      const kind = kindOf('job', (lease) => untilAborted(lease));
      const workers = await running([kind], { wake: changes, timing: { ...idle, heartbeatMs: 15_000 } });
      await given(workers, 'job');
      await eventually('it runs', () => workers.status()[0]!.running === 1);
      await store.transaction((db) => workers.cancel(db, { kind: 'job', ref: 'object' }));
      await eventually('it is over', () => workers.status()[0]!.outcomes.cancelled === 1, 10_000);
      expect(await isEmpty()).toBe(true);
    });

    test('cancelled work whose owner died is ended by the next node, not begun again', async () => {
      const dead = tableOf('dead');
      await dead.insert(store.db, { kind: 'job', tenant: 'acme', ref: 'object' }, true);
      let begun = 0;
      const kind: Kind = {
        ...kindOf('job', async () => void begun++),
        cancelled: async (db) => void (await write(db, 'cancelled')),
      };
      const workers = await running([kind], { clock });
      await store.transaction((db) => workers.cancel(db, { kind: 'job', ref: 'object' }));
      time += 31_000;
      await eventually('it is ended', isEmpty);
      expect([begun, await written()]).toEqual([0, ['cancelled']]);
    });

    test('a cancellation that comes while the handler reschedules is not put off', async () => {
      const gate = Promise.withResolvers<void>();
      const kind: Kind = {
        ...kindOf('job', async (lease) => {
          await gate.promise;
          await lease.transaction((db) => lease.reschedule(db, { afterMs: 3_600_000 }));
        }),
        cancelled: async (db) => void (await write(db, 'cancelled')),
      };
      const workers = await running([kind]);
      await given(workers, 'job');
      await eventually('it runs', () => workers.status()[0]!.running === 1);
      await store.transaction((db) => workers.cancel(db, { kind: 'job', ref: 'object' }));
      gate.resolve();
      await eventually('it is ended', isEmpty);
      expect(await written()).toEqual(['cancelled']);
    });

    test('discarded work is gone, and whoever was at it loses its lease', async () => {
      const reasons: unknown[] = [];
      const kind = kindOf('job', (lease) =>
        untilAborted(lease).catch((error: unknown) => {
          reasons.push(error);
          throw error;
        }),
      );
      const workers = await running([kind]);
      await given(workers, 'job');
      await eventually('it runs', () => workers.status()[0]!.running === 1);
      expect(await store.transaction((db) => workers.discard(db, { kind: 'job', ref: 'object' }))).toBe(1);
      await eventually('it stops', () => workers.status()[0]!.outcomes.lost === 1);
      expect(reasons[0]).toBeInstanceOf(LeaseLost);
      expect(await isEmpty()).toBe(true);
    });

    test('a tenant with one row does not wait behind a tenant with thousands', async () => {
      const table = tableOf('node');
      await store.transaction(async (db) => {
        for (let number = 0; number < 2_000; number++)
          await table.insert(db, { kind: 'job', tenant: 'large', ref: 'x', runAt: time - 10_000 }, false);
        await table.insert(db, { kind: 'job', tenant: 'another', ref: 'x' }, false);
        await table.insert(db, { kind: 'job', tenant: 'small', ref: 'x' }, false);
      });
      let after = '';
      const order: string[] = [];
      for (let slot = 0; slot < 5; slot++) {
        const [work] = await table.claim(store.db, { kind: 'job', limit: 1, after });
        after = work!.tenant;
        order.push(after);
        // One slot only: it is done before the next is claimed, so that nothing runs when tenants are compared.
        await table.remove(store.db, work!);
      }
      expect(order).toEqual(['another', 'large', 'small', 'large', 'large']);
    });

    test('several rows at once are shared between tenants, and what already runs counts', async () => {
      const table = tableOf('node');
      await store.transaction(async (db) => {
        for (const tenant of ['a', 'b', 'c'])
          for (let number = 0; number < 20; number++) await table.insert(db, { kind: 'job', tenant, ref: 'x' }, false);
        for (let number = 0; number < 3; number++)
          await tableOf('other').insert(db, { kind: 'job', tenant: 'a', ref: 'x' }, true);
      });
      const claimed = await table.claim(store.db, { kind: 'job', limit: 9, after: '' });
      const count = (tenant: string) => claimed.filter((work) => work.tenant === tenant).length;
      expect([count('a'), count('b'), count('c')]).toEqual([1, 4, 4]);
    });

    test('a kind whose slots are all taken does not hold up another', async () => {
      const stuck = kindOf('stuck', (lease) => untilAborted(lease));
      const workers = await running([{ ...stuck, concurrency: 2 }, kindOf('swift', end)]);
      for (let number = 0; number < 10; number++) await given(workers, 'stuck');
      await eventually('it is full', () => workers.status()[0]!.running === 2);
      for (let number = 0; number < 10; number++) await given(workers, 'swift');
      await eventually('the other is done', () => workers.status()[1]!.outcomes.done === 10);
      expect(await rows()).toHaveLength(10);
    });

    test('a node that stops lets its work finish', async () => {
      const gate = Promise.withResolvers<void>();
      const kind = kindOf('job', async (lease) => {
        await gate.promise;
        await end(lease);
      });
      const workers = await running([{ ...kind, concurrency: 1 }]);
      await given(workers, 'job');
      await eventually('it runs', () => workers.status()[0]!.running === 1);
      const stopping = workers.stop(10_000);
      await given(workers, 'job');
      gate.resolve();
      await stopping;
      expect(workers.status()[0]!.outcomes).toMatchObject({ done: 1, released: 0 });
      expect(await rows()).toMatchObject([{ owner: null, fence: 0 }]);
    });

    test('what is not finished when the time is over is aborted and given to others, as if never begun', async () => {
      const reasons: unknown[] = [];
      const polite = kindOf('polite', (lease) =>
        untilAborted(lease).catch((error: unknown) => {
          reasons.push(error);
          throw error;
        }),
      );
      let late: Lease | undefined;
      const deaf = kindOf('deaf', async (lease) => {
        late = lease;
        await new Promise(() => {});
      });
      const workers = await running([polite, deaf]);
      await given(workers, 'polite');
      await given(workers, 'deaf');
      await eventually('both run', () => workers.status().every((status) => status.running === 1));
      await workers.stop(50);
      expect(reasons[0]).toBeInstanceOf(ShuttingDown);
      for (const left of await rows()) expect(left).toMatchObject({ owner: null, attempts: 0, fence: 1 });
      expect(await end(late!).catch((error: unknown) => error)).toBeInstanceOf(LeaseLost);
    });

    test('who accepts work does it itself, from the same transaction on', async () => {
      const doneBy: string[] = [];
      const kind = (name: string) => ({
        ...kindOf('job', async (lease) => {
          doneBy.push(`${name} ${lease.work.fence}`);
          await end(lease);
        }),
        concurrency: 1,
      });
      const own = await running([kind('own')]);
      await running([kind('other')]);
      const item = { kind: 'job', tenant: 'acme', ref: 'object' };
      for (let number = 0; number < 10; number++) {
        const accepted = await own.accept(item, async (db) => {
          await write(db, `state ${number}`);
          return number;
        });
        expect(accepted).toEqual({ result: number, isLocal: true });
        await eventually('it is done', () => own.status()[0]!.running === 0);
      }
      expect(doneBy).toEqual(Array.from({ length: 10 }, () => 'own 1'));
      expect(await written()).toHaveLength(10);
    });

    test('without a free slot accepted work is queued, and a failed transaction leaves nothing', async () => {
      const kind = { ...kindOf('job', (lease) => untilAborted(lease)), concurrency: 1 };
      const workers = await running([kind], { wake: changes, timing: { ...idle, heartbeatMs: 15_000 } });
      const item = { kind: 'job', tenant: 'acme', ref: 'object' };
      const failing = workers.accept(item, async () => {
        throw new Error('on purpose');
      });
      expect(await failing.catch((error: Error) => error.message)).toBe('on purpose');
      expect([await isEmpty(), workers.status()[0]!.running]).toEqual([true, 0]);
      expect((await workers.accept(item, async () => {})).isLocal).toBe(true);
      expect((await workers.accept(item, async () => {})).isLocal).toBe(false);
      expect((await rows()).map(({ owner }) => owner)).toEqual([workers.owner, null]);
    });

    test('work that is accepted while its node stops is left to others', async () => {
      const gate = Promise.withResolvers<void>();
      let begun = 0;
      const kind = kindOf('job', async () => void begun++);
      const workers = await running([kind]);
      const inserting = Promise.withResolvers<void>();
      const accepting = workers.accept({ kind: 'job', tenant: 'acme', ref: 'object' }, async () => {
        inserting.resolve();
        await gate.promise;
      });
      await inserting.promise;
      const stopping = workers.stop(50);
      gate.resolve();
      await Promise.all([accepting, stopping]);
      await eventually('its slot is free', () => workers.status()[0]!.running === 0);
      expect(begun).toBe(0);
      expect(await rows()).toMatchObject([{ owner: null, attempts: 0 }]);
    });

    test('work that waits for something is resumed here, or left alone when somebody is at it', async () => {
      const kind = kindOf('job', async (lease) => {
        if (lease.work.payload === 'waiting') return end(lease);
        await lease.transaction((db) => lease.reschedule(db, { afterMs: 600_000 }, 'waiting'));
      });
      const workers = await running([kind]);
      const target = { kind: 'job', ref: 'object' };
      await given(workers, 'job');
      await eventually('it waits', () => workers.status()[0]!.outcomes.rescheduled === 1);
      const resumed = await workers.resume(target, async (db) => void (await write(db, 'the answer')));
      expect(resumed).toMatchObject({ resumed: 1, isLocal: true });
      await eventually('it is done', isEmpty);
      expect(await written()).toEqual(['the answer']);
      expect(await workers.resume(target, async () => 'x')).toEqual({ result: 'x', resumed: 0, isLocal: false });
      expect(workers.status()[0]!.running).toBe(0);
    });

    test('a message wakes a node long before it would look by itself', async () => {
      const heard = new Set<(payload: string | null) => void>();
      const wake: Wake = {
        notify: async (db, channel, payload) => {
          await sql`select 1`.execute(db);
          if (channel === 'gateway_work') setTimeout(() => heard.forEach((handler) => void handler(payload)), 50);
        },
        onNotify: (_channel, handler) => {
          heard.add(handler);
          return () => heard.delete(handler);
        },
      };
      const kind = kindOf('job', async (lease) => {
        if (lease.work.ref === 'object') return end(lease);
        await untilAborted(lease);
      });
      const timing = { ...idle, heartbeatMs: 15_000 };
      const worker = await running([kind], { wake, timing });
      const front = node([kind], { wake });
      await given(front, 'job');
      await eventually('it is done', () => worker.status()[0]!.outcomes.done === 1);
      await given(front, 'job', 'acme', 'long');
      await eventually('it runs', () => worker.status()[0]!.running === 1);
      await store.transaction((db) => front.cancel(db, { kind: 'job', ref: 'long' }));
      await eventually('it is cancelled', () => worker.status()[0]!.outcomes.cancelled === 1);
      await worker.stop(0);
      expect(heard.size).toBe(0);
    });

    test('a process that has the store for itself frees what its predecessor left', async () => {
      const dead = tableOf('dead');
      await dead.insert(store.db, { kind: 'job', tenant: 'acme', ref: 'object' }, true);
      const seen: number[] = [];
      const kind = kindOf('job', async (lease) => {
        seen.push(lease.work.fence, lease.work.attempts);
        await end(lease);
      });
      await running([kind], { clock, isAlone: true });
      await eventually('it is done', isEmpty);
      expect(seen).toEqual([2, 2]);
    });

    test('every kind is swept with the time of the database, also when another one fails', async () => {
      const times: number[] = [];
      const broken: Kind = {
        ...kindOf('broken'),
        sweep: async (db) => {
          await write(db, 'undone');
          throw new Error('on purpose');
        },
      };
      const tidy: Kind = { ...kindOf('tidy'), sweep: async (_db, now) => void times.push(now) };
      await running([broken, tidy], { clock });
      await eventually('it is swept twice', () => times.length >= 2);
      expect(times[0]).toBe(time);
      expect(errors).toContain('sweeping broken: on purpose');
      expect(await written()).toEqual([]);
    });

    test('the oldest waiting work shows as lag', async () => {
      const kind = { ...kindOf('job', (lease) => untilAborted(lease)), concurrency: 1 };
      const workers = await running([kind], { clock });
      await given(workers, 'job');
      await given(workers, 'job');
      await eventually('one runs', () => workers.status()[0]!.running === 1);
      time += 7_000;
      await eventually('the other waits', () => workers.status()[0]!.lagMs === 7_000);
      expect(workers.status()[0]).toMatchObject({ kind: 'job', concurrency: 1 });
    });

    test('work of an unknown kind is refused, with the known ones', async () => {
      const workers = node([kindOf('job')]);
      const enqueued = given(workers, 'jop');
      expect(await enqueued.catch((error: Error) => error.message)).toBe(
        'There is no kind of work "jop"; known are job.',
      );
    });

    if (engine === 'postgres') {
      test('a transaction that is frozen in the middle does not keep others from taking over', async () => {
        const [first, second] = ['frozen', 'next'].map((name) =>
          workTable({
            engine,
            node: name,
            now: databaseClock(engine),
            timing: { leaseMs: 400, abortAfterMs: 200 },
          }),
        );
        const held = await first!.insert(store.db, { kind: 'job', tenant: 'acme', ref: 'object' }, true);
        const frozen = store.transaction(async (db) => {
          await first!.hold(db, held);
          await write(db, 'by the frozen one');
          await eventually('another took over', async () => {
            await second!.reap(store.db);
            return (await second!.claim(store.db, { kind: 'job', limit: 1, after: '' })).length === 1;
          });
          await write(db, 'by the frozen one, later');
        });
        expect(await frozen.catch((error: unknown) => error)).toMatchObject({ code: 'store_unavailable' });
        expect(await written()).toEqual([]);
      });
    }
  });
}

workContract('sqlite', async () => openSqlite(':memory:'));
workContract('postgres', async (url) => openPostgres(url!));

test('waits double up to a limit, and vary by half', () => {
  const kind = { ...kindOf('job'), backoff: { firstMs: 1_000, mostMs: 10_000 } };
  const waits = (random: () => number) => [1, 2, 3, 4, 5, 200].map((attempts) => backoffOf(kind, attempts, random));
  expect(waits(() => 1)).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  expect(waits(() => 0)).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000]);
});

test('leases that would end before their owner notices are refused', async () => {
  const store = openSqlite(':memory:');
  const options = { store, node: 'test', kinds: [], onError: () => {} };
  expect(() => createWorkers({ ...options, timing: { leaseMs: 20_000 } })).toThrow('abortAfterMs < leaseMs');
  await store.close();
});

function kindOf(name: string, run: Kind['run'] = async () => {}): Kind {
  return { name, concurrency: 10, run, failed: async () => {}, cancelled: async () => {} };
}

const untilAborted = ({ signal }: Lease): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
