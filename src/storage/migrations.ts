import type { Migration } from './migrate.ts';
import { keys } from './migrations/0001-keys.ts';
import { state } from './migrations/0002-state.ts';
import { alerts } from './migrations/0003-alerts.ts';

/** The history of the state database, one step per release. Append only; a released step never changes. */
export const migrations: readonly Migration[] = [keys, state, alerts];
