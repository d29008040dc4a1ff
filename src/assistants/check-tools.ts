import { fail } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import type { Db } from '../storage/store.ts';
import type { CheckTools } from './assistants.ts';
import type { MessagesDeps } from './messages.ts';
import type { BuiltInTools, BuiltInType } from './runs/built-in.ts';
import { isBuiltIn } from './runs/built-in.ts';

export interface CheckToolsDeps {
  readonly builtIns: BuiltInTools;
  /** Throws `file_not_found` for a file that the workspace does not have. */
  readonly checkFile: (db: Db, workspaceId: WorkspaceId, fileId: string) => Promise<void>;
}

/** A tool that would never be carried out is refused when it is asked for, not when it is needed. */
export function createToolChecks({ builtIns, checkFile }: CheckToolsDeps) {
  const refuseMissing = (param: string, type: BuiltInType) => {
    if (builtIns[type]) return;
    fail('unsupported_value', param, `Invalid '${param}': this gateway has no '${type}'. Use functions instead.`);
  };

  const check: CheckTools = async (db, workspaceId, { tools = [], tool_resources: resources }) => {
    for (const { type } of tools) if (isBuiltIn(type)) refuseMissing('tools', type);
    const stores = resources?.file_search?.vector_store_ids ?? [];
    if (stores.length > 0) refuseMissing('tool_resources', 'file_search');
    const files = resources?.code_interpreter?.file_ids ?? [];
    if (files.length > 0) refuseMissing('tool_resources', 'code_interpreter');
    for (const id of files) await checkFile(db, workspaceId, id);
  };

  const attach: MessagesDeps['attach'] = async (_db, _workspaceId, _threadId, attachments) => {
    for (const { tools } of attachments) for (const { type } of tools) refuseMissing('attachments', type);
  };

  return { check, attach };
}
