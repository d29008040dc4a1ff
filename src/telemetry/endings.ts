import type { Endings } from '../storage/ending.ts';
import type { RequestLog } from './request-log.ts';

const TABLES = [
  'request_logs',
  'request_log_bodies',
  'request_log_labels',
  'request_log_places',
  'request_log_words',
  'request_log_sessions',
  'request_log_session_models',
  'analytics_kinds',
  'analytics_cells',
  'analytics_waiting',
  'analytics_guardrails',
];

/** Entries of the request log with their bodies. */
export const logEndings = (log: Pick<RequestLog, 'erase'>): Endings => ({
  // Ids of entries that wait to be exported: those that are gone by then stay behind.
  ofInstallation: ['analytics_state', 'request_log_unshipped'],
  endsWithWorkspace: [
    {
      area: 'request log',
      tables: TABLES,
      remove: async (id, step) => step.removedElsewhere(await log.erase({ workspaceId: id }, step.atMost)),
    },
  ],
  endsWithUser: [
    {
      area: 'request log',
      tables: TABLES,
      remove: async ({ id, organisationId, names }, step) =>
        step.removedElsewhere(await log.erase({ organisationId, userId: id, names }, step.atMost)),
    },
  ],
});
