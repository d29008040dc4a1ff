import type { Health } from '../core/health.ts';
import type { OrganisationId } from '../core/ids.ts';
import type { Prices } from '../core/prices.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { EgressPolicy } from '../http/egress.ts';
import type { Upstream } from '../http/upstream.ts';
import type { Changes } from '../storage/changes.ts';
import type { Redis } from '../storage/redis.ts';
import type { Store } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';

/** What every area may use, open before the first of them. */
export interface Tools {
  readonly store: Store;
  /** The same for those who write often and little, and many at once. */
  readonly groupedStore: Store;
  /** Null: the store is the embedded one. */
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  readonly redis: Redis | null;
  readonly changes: Changes;
  /** They need the kinds of all areas, so they come after them. */
  readonly workers: () => Workers;
  readonly health: Health;
  readonly sealer: Sealer;
  readonly egress: EgressPolicy;
  readonly upstream: Upstream;
  /** The provider that is built in. */
  readonly simulate: (request: Request) => Promise<Response>;
  readonly prices: Prices;
  /** The organisation of this installation. */
  readonly organisationId: OrganisationId;
  /** Where clients reach this gateway. */
  readonly publicUrl: () => string;
  readonly version: string;
  readonly now: () => number;
  /** The time as calls read it, once per turn of the loop; code that measures takes `now`. */
  readonly turnNow: () => number;
  /** Unforeseen failures, for the operator. */
  readonly report: (requestId: string, error: unknown) => void;
}
