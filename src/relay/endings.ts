import { type Endings, ofWorkspace, removeRows } from '../storage/ending.ts';
import type { Store } from '../storage/store.ts';

/** What providers signed, sealed, for at most a day. */
export const thoughtEndings = ({ engine }: Pick<Store, 'engine'>): Endings => ({
  endsWithWorkspace: [
    {
      area: 'kept thoughts',
      tables: ['kept_thoughts'],
      remove: (id, { transaction, atMost }) =>
        transaction((db) => removeRows(db, engine, { table: 'kept_thoughts', owned: ofWorkspace(id), atMost })),
    },
  ],
  endsWithUser: [
    {
      area: 'kept thoughts',
      tables: ['kept_thoughts'],
      kept: 'Sealed, under a name that says nothing of a person, and gone after a day.',
    },
  ],
});
