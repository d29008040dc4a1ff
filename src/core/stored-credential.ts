import type { Limit } from './limits.ts';
import type { LentIdentity } from './machine-identity.ts';
import type { PriceList } from './prices.ts';
import type { Secret } from './secret.ts';

/** A virtual key as the relay needs it: opened. */
export interface StoredCredential {
  readonly slug: string;
  readonly provider: string;
  readonly credential: Secret | null;
  readonly customHost: string | null;
  readonly configurations: Readonly<Record<string, unknown>>;
  readonly expiresAt: number | null;
  readonly limits: readonly Limit[];
  /** What this key pays where that is not the list price. */
  readonly prices: PriceList | null;
  /** The identity of the machine, where that pays in the place of a credential. */
  readonly machine?: LentIdentity;
  /** Of one with secrets that a store keeps: has them fetched again. Null: they are still the same. */
  readonly renewed?: () => Promise<StoredCredential | null>;
}
