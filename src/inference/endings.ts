import { RESPONSE } from '../relay/background/background.ts';
import { type EndingStep, type Endings, type Owned, ofPerson, ofWorkspace, removeRows } from '../storage/ending.ts';
import type { Store } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';

export interface ResponseEndingDeps {
  readonly store: Pick<Store, 'engine'>;
  readonly workers: () => Pick<Workers, 'discard'>;
}

const CHILDREN = ['response_items', 'response_events', 'response_work'] as const;
const TABLES = ['responses', ...CHILDREN];
const AT_ONCE = 20;

/** Responses that are kept for clients, with their items. One that is being made loses its lease. */
export function responseEndings({ store, workers }: ResponseEndingDeps): Endings {
  const children = CHILDREN.map((table) => ({ table, column: 'response_id' }));
  const remove = async (owned: Owned, { db: reader, transaction, atMost }: EndingStep) => {
    const underWay = await reader
      .selectFrom('responses')
      .innerJoin('response_work', 'response_work.response_id', 'responses.id')
      .select('responses.id')
      .where(`responses.${owned.column}`, '=', owned.value)
      .where('ended_at', 'is', null)
      .limit(AT_ONCE)
      .execute();
    if (underWay.length === 0)
      return transaction((db) => removeRows(db, store.engine, { table: 'responses', children, owned, atMost }));
    const ids = underWay.map(({ id }) => id);
    return transaction(async (db) => {
      for (const ref of ids) await workers().discard(db, { kind: RESPONSE, ref });
      await db.deleteFrom('response_work').where('response_id', 'in', ids).execute();
      return ids.length;
    });
  };
  return {
    endsWithWorkspace: [{ area: 'responses', tables: TABLES, remove: (id, step) => remove(ofWorkspace(id), step) }],
    endsWithUser: [{ area: 'responses', tables: TABLES, remove: (person, step) => remove(ofPerson(person), step) }],
  };
}
