import { installationOn } from '../src/cli/installation.ts';
import { createSealer } from '../src/crypto/seal.ts';
import { carryOut, look } from '../src/desired/carry-out.ts';
import { createFindings } from '../src/desired/reading/findings.ts';
import { openPostgres, openSqlite } from '../src/storage/store.ts';
import { watchedStore } from './faulty-store.ts';
import { wishesOf } from './wishes.ts';

/** Carries out what a command wants, and is killed at a statement: `bun die-at-statement.ts <database> <command> <statement>`. */
const [database = '', command = '', last = ''] = process.argv.slice(2);
const open = database.startsWith('postgres') ? openPostgres : openSqlite;
const installation = await installationOn(await open(database), createSealer(Buffer.alloc(32, 1)), null);
const [{ desired, options }] = (await wishesOf(command)) as [Awaited<ReturnType<typeof wishesOf>>[number]];
const plan = await look(installation, desired, createFindings(), options);
const store = watchedStore(installation.store, (moment, statement) => {
  if (last === 'commit' ? moment === 'commit' : moment === 'after' && statement === Number(last))
    process.kill(process.pid, 'SIGKILL');
});
await carryOut({ ...installation, store }, { desired, plan, options });
await installation.close();
