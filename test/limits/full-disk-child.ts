import { openJournalCounters } from '../../src/limits/journal/journal-counters.ts';
import { openSqlite } from '../../src/storage/store.ts';
import { chargeOf, HOLD, reservationOf } from './reservations.ts';

/** For the test of a full disk: a call, one that is too large for what is left, and calls until one is refused. */
const [, , folder, now] = process.argv;
const store = openSqlite(':memory:');
await store.migrate();
const counters = await openJournalCounters({ store, folder: folder!, now: () => Number(now) });
const outcomes: string[] = [];

async function call(counter: string) {
  try {
    const { admitted } = await counters.reserve(reservationOf(chargeOf(counter, 10, 1e12)), HOLD);
    outcomes.push(String(admitted));
  } catch (error) {
    outcomes.push((error as { code: string }).code);
  }
}
await call('tokens');
await call('x'.repeat(100_000));
do await call('tokens');
while (outcomes.at(-1) === 'true');
process.stdout.write(JSON.stringify(outcomes));
process.exit();
