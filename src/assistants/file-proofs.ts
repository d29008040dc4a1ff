import type { WorkspaceId } from '../core/ids.ts';
import type { Proofs } from '../guardrails/proof.ts';
import type { Call } from '../http/route.ts';
import type { WorkProofs } from '../relay/work-proofs.ts';
import type { NewToolResources } from './tools.ts';

export interface GivingParts {
  readonly proofs: Pick<WorkProofs, 'prove'>;
  /** Whether files of the workspace are shown to an embedding model. */
  readonly embeds: (workspaceId: WorkspaceId) => Promise<boolean>;
}

type Request = Pick<Call, 'principal' | 'headers' | 'log'>;

/**
 * What a request proves to the guardrails that judge calls of the embedding model. It is asked in the workspace's own name:
 * what holds for the caller's key alone does not concern it. Throws 446.
 */
export const provenToWorkspace = (
  { principal, headers, log }: Request,
  proofs: GivingParts['proofs'],
): Promise<Proofs> =>
  proofs.prove({ who: { ...principal, defaults: {} }, headers, kept: null, endpoint: 'embed', log });

/** The same for a request that may bring files; undefined where no model is asked for it. */
export async function provenByGiver(
  call: Request,
  bringsFiles: boolean,
  { proofs, embeds }: GivingParts,
): Promise<Proofs | undefined> {
  if (!bringsFiles || !(await embeds(call.principal.workspaceId))) return undefined;
  return provenToWorkspace(call, proofs);
}

interface MayBringFiles {
  readonly tool_resources?: NewToolResources | null;
  readonly messages?: readonly HasAttachments[] | null;
}

interface HasAttachments {
  readonly attachments?: readonly { readonly tools?: readonly { readonly type: string }[] | null }[] | null;
}

/** Whether files come with it that are to be searched. */
export const bringsFiles = ({ tool_resources, messages }: MayBringFiles): boolean =>
  (tool_resources?.file_search?.vector_stores ?? []).some(({ file_ids = [] }) => file_ids.length > 0) ||
  (messages ?? []).some(({ attachments }) =>
    (attachments ?? []).some(({ tools }) => (tools ?? []).some(({ type }) => type === 'file_search')),
  );
