import type { JsonObject } from '../../dialects/ir.ts';
import type { ResponseEventsRow, ResponseWorkRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';

const ROWS_AT_ONCE = 100;

export const workOf = (db: Db, id: string): Promise<ResponseWorkRow | undefined> =>
  db.selectFrom('response_work').selectAll().where('response_id', '=', id).executeTakeFirst();

export async function changeWork(db: Db, id: string, change: Partial<ResponseWorkRow>): Promise<void> {
  await db.updateTable('response_work').set(change).where('response_id', '=', id).execute();
}

/** An event of the vendor's with its number. */
export type NumberedEvent = JsonObject & { readonly sequence_number: number };

export async function insertEvents(db: Db, id: string, events: readonly NumberedEvent[]): Promise<void> {
  const last = events.at(-1);
  if (!last) return;
  await db
    .insertInto('response_events')
    .values({ response_id: id, sequence: last.sequence_number, events: JSON.stringify(events) })
    .execute();
}

/** Some of what was told behind this number, in its order. */
export async function eventsAfter(db: Db, id: string, after: number): Promise<NumberedEvent[]> {
  const rows = await db
    .selectFrom('response_events')
    .select('events')
    .where('response_id', '=', id)
    .where('sequence', '>', after)
    .orderBy('sequence')
    .limit(ROWS_AT_ONCE)
    .execute();
  return rows.flatMap(numbered).filter(({ sequence_number }) => sequence_number > after);
}

/** All that was told behind this number. */
export async function everyEventAfter(db: Db, id: string, after: number): Promise<NumberedEvent[]> {
  const all: NumberedEvent[] = [];
  for (;;) {
    const some = await eventsAfter(db, id, all.at(-1)?.sequence_number ?? after);
    if (some.length === 0) return all;
    all.push(...some);
  }
}

const numbered = ({ events }: Pick<ResponseEventsRow, 'events'>): NumberedEvent[] => JSON.parse(events);

/** Of responses that ended before this moment, what was told cannot be heard again from here on. */
export async function pruneEvents(db: Db, endedBefore: number): Promise<void> {
  const rows = await db
    .selectFrom('response_work')
    .select('response_id')
    .where('ended_at', '<', endedBefore)
    .orderBy('response_id')
    .limit(ROWS_AT_ONCE)
    .execute();
  const ids = rows.map(({ response_id }) => response_id);
  if (ids.length === 0) return;
  await db.deleteFrom('response_events').where('response_id', 'in', ids).execute();
  await db.deleteFrom('response_work').where('response_id', 'in', ids).execute();
}
