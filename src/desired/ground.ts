import type { Principal } from '../core/principal.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { EndingsOf } from '../endings/endings.ts';
import type { Store } from '../storage/store.ts';
import type { Author } from './change-records.ts';

/** What a plan is made for and carried out on. */
export interface Ground {
  readonly store: Store;
  readonly sealer: Sealer;
  /** Who wants it: what is out of this caller's reach is neither shown nor changed. */
  readonly who: Principal;
  readonly author: Author;
  /** Ends a workspace in the transaction of the plan, which is that of the store given. */
  endWorkspace(store: Store): EndingsOf['endWorkspace'];
}
