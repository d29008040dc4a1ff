import type { WorkspaceId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import type { NowOrLater } from '../core/runtime/now-or-later.ts';
import type { StoredCredential } from '../core/stored-credential.ts';
import type { Owned } from '../storage/ending.ts';
import type { Db } from '../storage/store.ts';

/** In whose name a provider is asked, also when the workspace and its virtual keys are gone. */
export interface Payer {
  readonly who: Principal;
  readonly virtualKeys: {
    resolve(who: Principal, slug: string): NowOrLater<StoredCredential>;
  };
}

/** Something that a provider does for a workspace or a person, and that would go on there without the gateway. */
export interface RunningAbroad {
  readonly id: string;
  readonly workspaceId: WorkspaceId;
  /** The slug it was begun with. */
  readonly virtualKey: string;
}

/** What an area has running at providers. */
export interface WorkAbroad {
  readonly area: string;
  running(db: Db, owned: Owned): Promise<readonly RunningAbroad[]>;
  /** Asks the provider to stop it. Throws when the provider does not. */
  cancel(id: string, payer: Payer, signal: AbortSignal): Promise<void>;
}

/** How that went, as the report shows it. */
export interface CancelledAbroad {
  readonly area: string;
  readonly id: string;
  /** Null: the provider was told to stop. */
  readonly error: string | null;
}
