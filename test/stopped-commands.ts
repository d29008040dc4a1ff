import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Installation, installationOn } from '../src/cli/installation.ts';
import { createSealer } from '../src/crypto/seal.ts';
import { carryOut, look } from '../src/desired/carry-out.ts';
import { createFindings } from '../src/desired/reading/findings.ts';
import { openPostgres, openSqlite } from '../src/storage/store.ts';
import { everythingIn, watchedStore } from './faulty-store.ts';
import { createDatabase } from './postgres.ts';
import { type Wishes, wishesOf } from './wishes.ts';

const homes: string[] = [];

const newFile = () => {
  const home = mkdtempSync(join(tmpdir(), 'gateway-whole-'));
  homes.push(home);
  return join(home, 'state.db');
};
export const openAt = async (database: string): Promise<Installation> => {
  const store = await (database.startsWith('postgres') ? openPostgres(database) : openSqlite(database));
  return installationOn(store, createSealer(Buffer.alloc(32, 1)), null);
};

export const planned = (installation: Installation, { desired, options }: Wishes) =>
  look(installation, desired, createFindings(), options);
export const done = async (installation: Installation, wishes: Wishes, store = installation.store) =>
  carryOut({ ...installation, store }, { ...wishes, plan: await planned(installation, wishes) });

class Stopped extends Error {}

const LOOK_EVERY = 8;

export const ENGINES = ['sqlite', 'postgres'] as const;
export const newDatabase = async (engine: (typeof ENGINES)[number]) =>
  engine === 'postgres' ? createDatabase() : newFile();

/** Commands that are stopped before and after one of so many statements. The first, the last and the commit are always among them. */
export function describeStops({ every }: { readonly every: number }): void {
  afterAll(() => {
    for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
  });
  describe.each(ENGINES)('on %s', (engine) => {
    test.each(['litellm', 'portkey', 'apply'])(
      '%s stops at a statement, and nothing of it is there',
      async (command) => {
        const installation = await openAt(await newDatabase(engine));
        try {
          for (const wishes of await wishesOf(command)) {
            const before = await everythingIn(installation.store);
            let [statements, stops] = [0, 0];
            for (let stopsAt = 1; ; stopsAt = Math.min(stopsAt + every, statements)) {
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
              if (isLast || ++stops % LOOK_EVERY === 0) expect(await everythingIn(installation.store)).toBe(before);
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
  });
}
