import { maskedBody } from '../audit/mask.ts';
import { insertRecords, type NewRecord, usualAction } from '../audit/record.ts';
import { NOBODY } from '../core/audit-event.ts';
import { newId } from '../core/ids.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { Db } from '../storage/store.ts';
import type { Installation } from './installation.ts';

/** A change that an operator made with a command instead of a call. */
export interface CommandedChange {
  /** The command: `apply/<name>`, `import/litellm`. */
  readonly command: string;
  readonly method: NewRecord['method'];
  readonly resource: string;
  /** Default: the usual one of the method. */
  readonly action?: string;
  /** The workspace's id; empty where it belongs to the organisation. */
  readonly workspaceId: string;
  readonly body: object;
}

const AT_ONCE = 200;

/** In the transaction of the changes. An operator at the command line has no key, so the record names the command. */
export async function recordChanges(
  db: Db,
  { sealer, who, now }: { sealer: Sealer; who: Installation['who']; now: number },
  changes: readonly CommandedChange[],
): Promise<void> {
  const records = changes.map(
    ({ command, method, resource, action, workspaceId, body }): NewRecord => ({
      id: newId<string>(),
      at: now,
      method,
      uri: `cli:${command}`,
      organisation_id: who.organisationId,
      workspace_id: workspaceId,
      user_type: 'api_key',
      user_id: NOBODY,
      response_status_code: 200,
      resource_type: resource,
      action: action ?? usualAction(method),
      client_ip: '',
      country: '',
      query_params: '{}',
      request_headers: '{}',
      request_body: maskedBody({ actor: 'command line', ...body }),
    }),
  );
  for (let at = 0; at < records.length; at += AT_ONCE) await insertRecords(db, sealer, records.slice(at, at + AT_ONCE));
}
