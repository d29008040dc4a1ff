import type { WorkspaceId } from '../../core/ids.ts';
import type { Principal } from '../../core/principal.ts';
import type { BatchDeps } from '../kinds.ts';
import type { AskDeps } from './ask.ts';

export interface NativeDeps extends BatchDeps {
  readonly native: AskDeps & { readonly firstPollMs?: number };
  /** Who goes on with what a provider has, when whoever began it is gone. */
  readonly workspaceAsCaller: (id: WorkspaceId) => Promise<Principal>;
}
