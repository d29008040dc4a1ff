import { maskedBody } from '../audit/mask.ts';
import { insertRecords, type NewRecord, usualAction } from '../audit/record.ts';
import { NOBODY } from '../core/audit-event.ts';
import { newId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { Db } from '../storage/store.ts';

/** Who makes changes, as their records say it. */
export interface Author extends Pick<NewRecord, 'user_type' | 'user_id' | 'client_ip'> {
  /** Where it was asked for: the address of the call, or the command that was given. */
  uriOf(command: string): string;
  /** What every record says beside the change. */
  readonly told: Readonly<Record<string, unknown>>;
}

/** An operator at the command line has no key, so the record names the command. */
export const COMMAND_LINE: Author = {
  uriOf: (command) => `cli:${command}`,
  user_type: 'api_key',
  user_id: NOBODY,
  client_ip: '',
  told: { actor: 'command line' },
};

/** One of several changes that are made together, as a call of its own would have made it. */
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

/** In the transaction of the changes. */
export async function recordChanges(
  db: Db,
  { sealer, who, author, now }: { sealer: Sealer; who: Principal; author: Author; now: number },
  changes: readonly CommandedChange[],
): Promise<void> {
  const records = changes.map(
    ({ command, method, resource, action, workspaceId, body }): NewRecord => ({
      id: newId<string>(),
      at: now,
      method,
      uri: author.uriOf(command),
      organisation_id: who.organisationId,
      workspace_id: workspaceId,
      user_type: author.user_type,
      user_id: author.user_id,
      response_status_code: 200,
      resource_type: resource,
      action: action ?? usualAction(method),
      client_ip: author.client_ip,
      country: '',
      query_params: '{}',
      request_headers: '{}',
      request_body: maskedBody({ ...author.told, ...body }),
    }),
  );
  for (let at = 0; at < records.length; at += AT_ONCE) await insertRecords(db, sealer, records.slice(at, at + AT_ONCE));
}
