import * as z from 'zod';
import { requiredVirtualKey } from '../auth/required-virtual-key.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import type { WorkspaceId } from '../core/ids.ts';
import { listQuery } from '../core/list.ts';
import type { Principal, WorkCaller } from '../core/principal.ts';
import type { Call } from '../http/route.ts';
import type { WorkProofs } from '../relay/work-proofs.ts';
import type { Configs } from '../routing/configs.ts';
import type { Store } from '../storage/store.ts';
import { checkBeta } from './access.ts';
import type { AssistantsApi } from './api.ts';
import type { VectorStores } from './vector-stores/vector-stores.ts';

export interface AssistantParts extends Omit<AssistantsApi, 'kinds'> {
  readonly store: Store;
  readonly vectorStores: VectorStores;
  readonly virtualKeys: VirtualKeys;
  readonly configs: Configs;
  readonly proofs: Pick<WorkProofs, 'prove'>;
  /** Throws 401 when the caller that began the run is gone or has expired. */
  readonly principalOf: (caller: WorkCaller) => Promise<Principal>;
}

/** Which page of a list is asked for. */
export const page = () => listQuery();

/** What is told of something that was deleted. */
export const deleted = (object: string) => () =>
  z.object({ id: z.string(), object: z.literal(object), deleted: z.literal(true) });

const wording = 'openai' as const;
export const reads = { scopes: ['assistants.read'] as const, wording };
/** One instruction or message alone may have 256,000 characters of four bytes each, and a thread begins with many. */
export const writes = { scopes: ['assistants.write'] as const, wording, largestBody: 32 << 20 };

export function workspaceOf(call: Call): WorkspaceId {
  checkBeta(call);
  return call.principal.workspaceId;
}

/** Threads belong to calls that name whose models they talk to. */
export async function onThread(call: Call, virtualKeys: VirtualKeys): Promise<WorkspaceId> {
  checkBeta(call);
  await requiredVirtualKey(call, virtualKeys);
  return call.principal.workspaceId;
}
