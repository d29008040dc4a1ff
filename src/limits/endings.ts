import { sql } from 'kysely';
import type { Endings } from '../storage/ending.ts';
import type { Store } from '../storage/store.ts';

const USER_GROUP = 'metadata._user:';

const inTheBooks = {
  area: 'ledger',
  tables: ['usage_ledger', 'limit_counters', 'limit_holds'],
  kept: 'What was spent belongs to the books: amounts, models and ids, no texts.',
};

/** What was spent stays in the books. */
export const ledgerEndings: Endings = {
  endsWithWorkspace: [inTheBooks],
  endsWithUser: [inTheBooks],
  ofInstallation: ['limits_mode', 'limits_nodes'],
};

/** Policies end with their workspace; those for a person with the person. */
export const policyEndings = ({ engine }: Pick<Store, 'engine'>): Endings => ({
  endsWithWorkspace: [
    {
      area: 'policies',
      tables: ['policies', 'policy_entities'],
      atOnce: async (db, id) => {
        const own = db.selectFrom('policies').select('id').where('workspace_id', '=', id);
        await db.deleteFrom('policy_entities').where('policy_id', 'in', own).execute();
        return (await db.deleteFrom('policies').where('workspace_id', '=', id).returning('id').execute()).length;
      },
    },
  ],
  endsWithUser: [
    {
      area: 'policies',
      tables: ['policy_entities'],
      // A group of callers is named by their metadata: `metadata._user:ann@example.com,model:gpt-4o`.
      atOnce: async (db, { names }) => {
        let rows = 0;
        for (const name of names) {
          const inside = engine === 'postgres' ? sql`strpos` : sql`instr`;
          const isNamed = sql<boolean>`${inside}(',' || value_key || ',', ${`,${USER_GROUP}${name},`}) > 0`;
          rows += (await db.deleteFrom('policy_entities').where(isNamed).returning('id').execute()).length;
        }
        return rows;
      },
    },
  ],
});
