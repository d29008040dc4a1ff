import { writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openJournalCounters } from '../../src/limits/journal/journal-counters.ts';
import { openSqlite } from '../../src/storage/store.ts';
import { chargeOf, reservationOf, settlementOf } from './reservations.ts';

/** For the test of kills: calls without end, each told on stdout as soon as it is admitted. */
const place = process.argv[2]!;
const store = openSqlite(join(place, 'state.db'));
await store.migrate();
const counters = await openJournalCounters({ store, folder: join(place, 'limits'), now: Date.now });
writeFileSync(join(place, 'begun'), '');
for (;;) {
  const calls = Array.from({ length: 5 }, () => reservationOf(chargeOf('tokens', 10, 1e12)));
  for (const call of calls) {
    await counters.reserve(call, 60_000);
    writeSync(1, `${call.id}\n`);
  }
  for (const call of calls.slice(1)) counters.settle(settlementOf(call, 4));
  await Bun.sleep(1);
}
