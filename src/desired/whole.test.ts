import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { everythingIn, watchedStore } from '../../test/faulty-store.ts';
import { createDatabase } from '../../test/postgres.ts';
import { type Wishes, wishesOf } from '../../test/wishes.ts';
import { type Installation, installationOn } from '../cli/installation.ts';
import { createSealer } from '../crypto/seal.ts';
import { openPostgres, openSqlite } from '../storage/store.ts';
import { carryOut, look } from './carry-out.ts';
import { createFindings } from './reading/findings.ts';

/** What a command wants is there as a whole or not at all, wherever it was stopped; run again, it is there. */

const homes: string[] = [];
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

const newFile = () => {
  const home = mkdtempSync(join(tmpdir(), 'gateway-whole-'));
  homes.push(home);
  return join(home, 'state.db');
};
const openAt = async (database: string): Promise<Installation> => {
  const store = await (database.startsWith('postgres') ? openPostgres(database) : openSqlite(database));
  return installationOn(store, createSealer(Buffer.alloc(32, 1)), null);
};

const planned = (installation: Installation, { desired, options }: Wishes) =>
  look(installation, desired, createFindings(), options);
const done = async (installation: Installation, wishes: Wishes, store = installation.store) =>
  carryOut({ ...installation, store }, { ...wishes, plan: await planned(installation, wishes) });

class Stopped extends Error {}

const LOOK_EVERY = 8;

describe.each(['sqlite', 'postgres'] as const)('on %s', (engine) => {
  const newDatabase = async () => (engine === 'postgres' ? createDatabase() : newFile());

  test.each(['litellm', 'portkey', 'apply'])(
    '%s stops at every statement, and nothing of it is there',
    async (command) => {
      const installation = await openAt(await newDatabase());
      try {
        for (const wishes of await wishesOf(command)) {
          const before = await everythingIn(installation.store);
          let statements = 0;
          for (let stopsAt = 1; ; stopsAt++) {
            const moments = [
              { at: 'before', statement: stopsAt },
              { at: 'after', statement: stopsAt },
              ...(stopsAt === 1 ? [{ at: 'commit', statement: 0 }] : []),
            ];
            for (const { at, statement } of moments) {
              const store = watchedStore(installation.store, (moment, number) => {
                statements = Math.max(statements, number);
                if (moment === at && (at === 'commit' || number === statement)) throw new Stopped();
              });
              await expect(done(installation, wishes, store)).rejects.toBeInstanceOf(Stopped);
            }
            // To look at all tables takes longer than to stop, and what one of them left would still be there at the next look.
            const isLast = stopsAt >= statements;
            if (isLast || stopsAt % LOOK_EVERY === 0) expect(await everythingIn(installation.store)).toBe(before);
            if (isLast) break;
          }
          expect(statements).toBeGreaterThan(10);

          await done(installation, wishes);
          expect(await everythingIn(installation.store)).not.toBe(before);
          expect((await planned(installation, wishes)).steps).toEqual([]);
        }
      } finally {
        await installation.close();
      }
    },
  );

  test('a process that is killed leaves nothing, and the next one does all of it', async () => {
    const database = await newDatabase();
    const [wishes] = (await wishesOf('litellm')) as [Wishes];
    const first = await openAt(database);
    const before = await everythingIn(first.store);
    const { length } = (await planned(first, wishes)).steps;
    await first.close();
    expect(length).toBeGreaterThan(3);
    const script = join(import.meta.dir, '../../test/die-at-statement.ts');
    for (const statement of ['12', '30', 'commit']) {
      const killed = Bun.spawn([process.execPath, script, database, 'litellm', statement], { stderr: 'pipe' });
      await killed.exited;
      expect(killed.signalCode).toBe('SIGKILL');
      const after = await openAt(database);
      expect(await everythingIn(after.store)).toBe(before);
      await after.close();
    }
    const last = await openAt(database);
    await done(last, wishes);
    expect((await planned(last, wishes)).steps).toEqual([]);
    await last.close();
  });
});
