import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { everythingIn } from '../../test/faulty-store.ts';
import { describeStops, done, ENGINES, newDatabase, openAt, planned } from '../../test/stopped-commands.ts';
import { type Wishes, wishesOf } from '../../test/wishes.ts';

/** What a command wants is there as a whole or not at all, wherever it was stopped; run again, it is there. */

/** At every statement in `test/long/desired.test.ts`. */
describeStops({ every: 7 });

describe.each(ENGINES)('on %s', (engine) => {
  test('a process that is killed leaves nothing, and the next one does all of it', async () => {
    const database = await newDatabase(engine);
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
