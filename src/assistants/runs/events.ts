import type { RunEventRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { lockRuns } from './rows.ts';

/** One event of a run's stream: its name, and its data as one line of JSON. */
export interface RunEvent {
  readonly name: string;
  readonly data: string;
}

/** Where in a run's history an event stands. */
export interface Place {
  readonly epoch: number;
  readonly seq: number;
}

export interface PlacedEvent extends RunEvent, Place {}

/** Says that something has happened, in the transaction in which it does. */
export type Tell = (name: string, data: object) => void;

export const BEGINNING: Place = { epoch: 0, seq: 0 };

export const isAfter = (one: Place, other: Place): boolean =>
  one.epoch === other.epoch ? one.seq > other.seq : one.epoch > other.epoch;

/** A piece of an answer, which only those need who watch: what it adds up to comes again when it is whole. */
export const isDelta = ({ name }: Pick<RunEvent, 'name'>): boolean => name.endsWith('.delta');

/** `3.14`, and `3.14.delta` for a piece: a client that comes back says how far it was, and that it has a part. */
export const idOf = (event: PlacedEvent): string => `${event.epoch}.${event.seq}${isDelta(event) ? '.delta' : ''}`;

export function placeIn(id: string): (Place & { readonly isDelta: boolean }) | null {
  const found = /^(\d{1,15})\.(\d{1,15})(\.delta)?$/.exec(id);
  return found && { epoch: Number(found[1]), seq: Number(found[2]), isDelta: found[3] !== undefined };
}

/** Events that follow each other, as one row. */
export const rowOf = (runId: string, events: readonly PlacedEvent[], call: number | null): RunEventRow => ({
  run_id: runId,
  epoch: events[0]!.epoch,
  seq: events.at(-1)!.seq,
  call,
  events: events.map(({ name, data }) => `${name} ${data}`).join('\n'),
});

export function eventsIn({ epoch, seq, events }: RunEventRow): PlacedEvent[] {
  const lines = events.split('\n');
  return lines.map((line, index) => {
    const space = line.indexOf(' ');
    return { name: line.slice(0, space), data: line.slice(space + 1), epoch, seq: seq - lines.length + 1 + index };
  });
}

/**
 * The events of rows in their order, each once: pieces that a node could not write, or could not know to be written, go
 * again together with those after them.
 */
function eachOnce(rows: readonly RunEventRow[], after: Place): PlacedEvent[] {
  let last = after;
  return rows.flatMap(eventsIn).filter((event) => {
    if (!isAfter(event, last)) return false;
    last = event;
    return true;
  });
}

/** A repeated insert has the same rows: the first was committed, but its answer was lost on the way. */
export async function insertEvents(db: Db, rows: readonly RunEventRow[]): Promise<void> {
  if (rows.length === 0) return;
  await db
    .insertInto('run_events')
    .values([...rows])
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

const ROWS_AT_ONCE = 200;

/**
 * The events after a place, in their order: not necessarily all of them. Pieces that a node wrote down while another one
 * took the run over are left out where that one has said them again: readers would take them for the beginning of these.
 */
export async function eventsAfter(db: Db, runId: string, { epoch, seq }: Place): Promise<PlacedEvent[]> {
  const rows = await db
    .selectFrom('run_events')
    .selectAll()
    .where('run_id', '=', runId)
    .where((where) =>
      where.or([where('epoch', '>', epoch), where.and([where('epoch', '=', epoch), where('seq', '>', seq)])]),
    )
    .where(({ not, exists, selectFrom, ref }) =>
      not(
        exists(
          selectFrom('run_events as later')
            .select('later.seq')
            .where('later.run_id', '=', runId)
            .where('later.call', '=', ref('run_events.call'))
            .where('later.epoch', '>', ref('run_events.epoch')),
        ),
      ),
    )
    .orderBy('epoch')
    .orderBy('seq')
    .limit(ROWS_AT_ONCE)
    .execute();
  return eachOnce(rows, { epoch, seq });
}

/** What a call has said so far, as far as it was written down: the pieces of its last attempt. */
export async function piecesOf(db: Db, runId: string, call: number): Promise<PlacedEvent[]> {
  const rows = await db
    .selectFrom('run_events')
    .selectAll()
    .where('run_id', '=', runId)
    .where('call', '=', call)
    .orderBy('epoch')
    .orderBy('seq')
    .execute();
  const last = rows.at(-1)?.epoch;
  return eachOnce(
    rows.filter(({ epoch }) => epoch === last),
    BEGINNING,
  );
}

/** They will be said again. */
export async function forgetPieces(db: Db, runId: string, call: number): Promise<void> {
  await db.deleteFrom('run_events').where('run_id', '=', runId).where('call', '=', call).execute();
}

/** From here on, a client that asks for the events of these runs is told only how they ended. */
export async function forgetEvents(store: Pick<Store, 'engine'>, db: Db, runIds: readonly string[]): Promise<void> {
  if (runIds.length === 0) return;
  await lockRuns(store, db, runIds);
  await db.deleteFrom('run_events').where('run_id', 'in', runIds).execute();
  await db.updateTable('runs').set({ keeps_events: 0 }).where('id', 'in', runIds).execute();
}
