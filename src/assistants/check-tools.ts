import { fail } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import type { Db } from '../storage/store.ts';
import type { CheckTools } from './assistants.ts';
import { attachFiles } from './interpreter/attach.ts';
import type { MessagesDeps } from './messages.ts';
import type { BuiltInTools, BuiltInType } from './runs/built-in.ts';
import { isBuiltIn } from './runs/built-in.ts';
import type { ToolStores } from './vector-stores/tool-stores.ts';

export interface CheckToolsDeps {
  readonly builtIns: BuiltInTools;
  /** Throws `file_not_found` for a file that the workspace does not have. */
  readonly checkFile: (db: Db, workspaceId: WorkspaceId, fileId: string) => Promise<void>;
  readonly toolStores: ToolStores;
}

/** A tool that would never be carried out is refused when it is asked for, not when it is needed. */
export function createToolChecks({ builtIns, checkFile, toolStores }: CheckToolsDeps) {
  const refuseMissing = (param: string, type: BuiltInType) => {
    if (builtIns[type]) return;
    fail('unsupported_value', param, `Invalid '${param}': this gateway has no '${type}'. Use functions instead.`);
  };

  const check: CheckTools = async (db, workspaceId, { tools = [], tool_resources: resources }) => {
    for (const { type } of tools) if (isBuiltIn(type)) refuseMissing('tools', type);
    const { vector_store_ids: stores = [], vector_stores = [] } = resources?.file_search ?? {};
    if (stores.length + vector_stores.length > 0) refuseMissing('tool_resources', 'file_search');
    await toolStores.check(db, workspaceId, stores);
    const files = resources?.code_interpreter?.file_ids ?? [];
    if (files.length > 0) refuseMissing('tool_resources', 'code_interpreter');
    for (const id of files) await checkFile(db, workspaceId, id);
  };

  const attach: MessagesDeps['attach'] = async (db, giver, threadId, attachments) => {
    for (const { tools } of attachments) for (const { type } of tools) refuseMissing('attachments', type);
    const mounted = attachments.filter(({ tools }) => tools.some(({ type }) => type === 'code_interpreter'));
    const ids = mounted.map(({ file_id }) => file_id);
    if (ids.length > 0) await attachFiles(db, giver.workspaceId, threadId, ids);
    const searched = attachments.filter(({ tools }) => tools.some(({ type }) => type === 'file_search'));
    await toolStores.attach(
      db,
      giver,
      threadId,
      searched.map(({ file_id }) => file_id),
    );
  };

  return { check, attach };
}
