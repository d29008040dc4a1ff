import type { Migration } from '../migrate.ts';
import { createLimitFunctions } from './state/limit-functions.ts';

/** Settlements that are new look for no earlier ones. Before, each batch read all of the ledger until the server knew how long it is. */
export const newSettlements: Migration = {
  name: '0018-new-settlements',
  up: async (db, engine) => {
    if (engine === 'postgres') await createLimitFunctions(db);
  },
};
