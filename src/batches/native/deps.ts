import type { WorkspaceId } from '../../core/ids.ts';
import type { Prices } from '../../core/prices.ts';
import type { Principal } from '../../core/principal.ts';
import type { Policies } from '../../limits/policies/policies.ts';
import type { WorkHolds } from '../../limits/work-holds.ts';
import type { BatchDeps } from '../kinds.ts';
import type { AskDeps } from './ask.ts';

export interface NativeDeps extends BatchDeps {
  readonly native: AskDeps & { readonly firstPollMs?: number };
  /** What a batch that goes to a provider as a whole is held and counted with. */
  readonly limits: { readonly policies: Policies; readonly holds: WorkHolds; readonly prices: Prices };
  /** The caller on whose behalf a batch at a provider goes on, when the key or user that began it is gone. */
  readonly workspaceAsCaller: (id: WorkspaceId) => Promise<Principal>;
}
