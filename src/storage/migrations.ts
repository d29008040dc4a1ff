import type { Migration } from './migrate.ts';
import { keys } from './migrations/0001-keys.ts';
import { state } from './migrations/0002-state.ts';
import { alerts } from './migrations/0003-alerts.ts';
import { views } from './migrations/0004-views.ts';
import { members } from './migrations/0005-members.ts';
import { logins } from './migrations/0006-logins.ts';
import { toolSets } from './migrations/0007-tool-sets.ts';
import { mcpApps } from './migrations/0008-mcp-apps.ts';
import { scim } from './migrations/0010-scim.ts';
import { linkedKeys } from './migrations/0011-linked-keys.ts';
import { backgroundResponses } from './migrations/0013-background-responses.ts';
import { chunkLengths } from './migrations/0014-chunk-lengths.ts';
import { chunkCodes } from './migrations/0015-chunk-codes.ts';
import { storeSyncs } from './migrations/0016-store-syncs.ts';
import { chunkLocators } from './migrations/0017-chunk-locators.ts';
import { newSettlements } from './migrations/0018-new-settlements.ts';

/** The history of the state database, one step per release. Append only; a released step never changes. */
export const migrations: readonly Migration[] = [
  keys,
  state,
  alerts,
  views,
  members,
  logins,
  toolSets,
  mcpApps,
  scim,
  linkedKeys,
  backgroundResponses,
  chunkLengths,
  chunkCodes,
  storeSyncs,
  chunkLocators,
  newSettlements,
];
