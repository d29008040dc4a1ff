import type { ApiKeys } from '../auth/api-keys.ts';
import type { OrganisationStore } from '../auth/organisation.ts';
import type { VirtualKeys } from '../auth/virtual-keys.ts';
import type { Workspaces } from '../auth/workspaces.ts';
import type { Principal } from '../core/principal.ts';
import type { Scope } from '../core/scopes.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { Policies } from '../limits/policies/policies.ts';
import type { Configs } from '../routing/configs.ts';
import type { Db } from '../storage/store.ts';
import type { Desired, Kind, Shape, Stored } from './desired.ts';

/** One transaction, and the repositories that work inside it. */
export interface Context {
  readonly db: Db;
  readonly sealer: Sealer;
  readonly who: Principal;
  readonly now: number;
  readonly organisation: OrganisationStore;
  readonly workspaces: Workspaces;
  readonly virtualKeys: VirtualKeys;
  readonly configs: Configs;
  readonly apiKeys: ApiKeys;
  readonly policies: Policies;
}

export interface KindScopes {
  readonly read: Scope;
  readonly create: readonly Scope[];
  readonly change: readonly Scope[];
  readonly delete: readonly Scope[];
}

type Noun = 'virtual_keys' | 'configs' | 'api_keys' | 'policies';

export const scopesOf = (noun: Noun): KindScopes => ({
  read: `${noun}.read`,
  create: [`${noun}.create`],
  change: [`${noun}.update`],
  delete: [`${noun}.delete`],
});

/** How one kind of object is found, compared and written. */
export interface KindOf<Wish> {
  readonly kind: Kind;
  /** What the calls that do the same ask of a caller. */
  readonly scopes: KindScopes;
  wishes(desired: Desired): readonly Wish[];
  title(wish: Wish): string;
  shape(wish: Wish): Shape;
  /** The object of that name, or the one the mark of an earlier run leads to. A text says why it cannot be used. */
  find(context: Context, wish: Wish, markedId: string | null): Promise<Stored | string | null>;
  /** Answers the id. */
  create(context: Context, wish: Wish): Promise<string>;
  change(context: Context, wish: Wish, stored: Stored): Promise<void>;
  /** What an object is called that the file no longer names; null when it is gone already. */
  titleOf(context: Context, id: string): Promise<string | null>;
  /** Why it cannot be deleted once those other objects are gone; null when it can. */
  blocker(context: Context, id: string, goingToo: ReadonlySet<string>): Promise<string | null>;
  delete(context: Context, id: string): Promise<void>;
}
