import { fail } from '../../core/errors.ts';
import { LoopTurns } from '../../core/loop-turns.ts';
import type { IngestedRow } from '../../storage/schema.ts';
import type { Store } from '../../storage/store.ts';
import { Malformed, type Received } from './received.ts';
import { judge, MOST_ATTRIBUTE_BYTES, type Sender } from './row.ts';

/** What of a request was not taken as it came. */
export interface Outcome {
  readonly rejected: number;
  /** Empty: everything was. */
  readonly message: string;
}

export const MOST_ITEMS = 10_000;
const ROWS_AT_ONCE = 200;
const SWEPT_AT_ONCE = 1_000;

/** Where a page of a session's spans goes on. */
export interface Position {
  readonly startedAt: number;
  readonly id: string;
}

/** Spans, log records and points of metrics that clients have sent. */
export function createIngest({ store }: { store: Store }) {
  /** Clients of many spans give others their turn. */
  const turns = new LoopTurns(1);
  const insert = async (rows: readonly IngestedRow[]) => {
    if (rows.length === 0) return;
    await store.db
      .insertInto('ingested_spans')
      .values([...rows])
      .onConflict((conflict) => conflict.columns(['workspace_id', 'id']).doNothing())
      .execute();
  };

  return {
    /** What cannot be stored is counted and named; the others are stored. */
    async take(items: Iterable<Received>, sender: Sender): Promise<Outcome> {
      let rows: IngestedRow[] = [];
      let taken = 0;
      let rejected = 0;
      let shortened = 0;
      let fault = '';
      const refuse = (why: string) => {
        rejected++;
        fault ||= why;
      };
      try {
        for (const item of items) {
          const judged = taken < MOST_ITEMS ? judge(item, sender) : { fault: `more than ${MOST_ITEMS} in one request` };
          if ('fault' in judged) {
            refuse(judged.fault);
            continue;
          }
          taken++;
          if (judged.isShortened) shortened++;
          rows.push(judged.row);
          if (rows.length < ROWS_AT_ONCE) continue;
          await insert(rows);
          rows = [];
          await turns.wait();
        }
      } catch (error) {
        if (error instanceof Malformed) return fail('invalid_request', 'body', error.message);
        throw error;
      }
      await insert(rows);
      return { rejected, message: messageOf(rejected, fault, shortened) };
    },

    list: (workspaceId: string, sessionId: string, { limit, after }: { limit: number; after: Position | null }) => {
      let select = store.db
        .selectFrom('ingested_spans')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where('session_id', '=', sessionId);
      if (after)
        select = select.where((where) =>
          where.or([
            where('started_at', '>', after.startedAt),
            where.and([where('started_at', '=', after.startedAt), where('id', '>', after.id)]),
          ]),
        );
      return select.orderBy('started_at').orderBy('id').limit(limit).execute();
    },

    /** Removes what is older; says how much it was. */
    async sweep(before: number, signal?: AbortSignal): Promise<number> {
      let swept = 0;
      for (let gone = -1; gone !== 0 && !signal?.aborted; swept += gone) {
        const old = await store.db
          .selectFrom('ingested_spans')
          .select(['workspace_id', 'id'])
          .where('created_at', '<', before)
          .limit(SWEPT_AT_ONCE)
          .execute();
        for (const [workspace, rows] of Map.groupBy(old, ({ workspace_id }) => workspace_id))
          await store.db
            .deleteFrom('ingested_spans')
            .where('workspace_id', '=', workspace)
            .where(
              'id',
              'in',
              rows.map(({ id }) => id),
            )
            .execute();
        gone = old.length;
      }
      return swept;
    },
  };
}

export type Ingest = ReturnType<typeof createIngest>;

function messageOf(rejected: number, fault: string, shortened: number): string {
  const parts = [
    ...(rejected > 0 ? [`${rejected} refused, the first one has ${fault}`] : []),
    ...(shortened > 0 ? [`${shortened} shortened: attributes may have ${MOST_ATTRIBUTE_BYTES} bytes`] : []),
  ];
  return parts.join('; ');
}
