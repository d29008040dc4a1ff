import { type EndingStep, type Endings, type Owned, ofPerson, ofWorkspace, removeRows } from '../storage/ending.ts';
import type { Store } from '../storage/store.ts';

const TABLES = ['responses', 'response_items'];

/** Responses that are kept for clients, with their items. */
export function responseEndings({ engine }: Pick<Store, 'engine'>): Endings {
  const children = [{ table: 'response_items', column: 'response_id' }] as const;
  const remove = (owned: Owned, { transaction, atMost }: EndingStep) =>
    transaction((db) => removeRows(db, engine, { table: 'responses', children, owned, atMost }));
  return {
    endsWithWorkspace: [{ area: 'responses', tables: TABLES, remove: (id, step) => remove(ofWorkspace(id), step) }],
    endsWithUser: [{ area: 'responses', tables: TABLES, remove: (person, step) => remove(ofPerson(person), step) }],
  };
}
