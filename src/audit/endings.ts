import type { Endings } from '../storage/ending.ts';

const TABLES = ['audit_records', 'audit_days', 'audit_batches', 'audit_heads'];

/** The audit log outlives those it speaks of: each record is chained to the next, so none can go. */
export const auditEndings: Endings = {
  endsWithWorkspace: [
    { area: 'audit log', tables: TABLES, kept: 'Who changed what is proof, and the chain holds only as a whole.' },
  ],
  endsWithUser: [
    {
      area: 'audit log',
      tables: TABLES,
      kept: 'Who changed what is proof, and the chain holds only as a whole. It names the person by an id; bodies of calls that made or changed the user, which hold the email address, stay as they were recorded.',
    },
  ],
};
