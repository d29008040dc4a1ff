import type { PriceList } from '../core/prices.ts';
import type { Principal } from '../core/principal.ts';

/** What is known of a virtual key without its credential. */
export interface KnownKey {
  readonly slug: string;
  readonly provider: string;
  /** Whether it leads to another host than its provider's own. */
  readonly hasOwnHost: boolean;
  readonly expiresAt: number | null;
  readonly prices: PriceList | null;
}

/** The virtual keys of a workspace: the oldest first, those of the environment last. Another one after every change. */
export interface KeyIndex {
  readonly keys: readonly KnownKey[];
  readonly bySlug: ReadonlyMap<string, KnownKey>;
}

export const keyIndexOf = (keys: readonly KnownKey[]): KeyIndex => ({
  keys,
  bySlug: new Map(keys.map((key) => [key.slug, key])),
});

/** `slug (provider)`, for errors that say what could have been sent. Nothing for a caller who may name no virtual key. */
export const shownKeys = ({ forbids }: Principal, { keys }: KeyIndex): string[] | undefined =>
  forbids?.has('virtual_key') ? undefined : keys.map(({ slug, provider }) => `${slug} (${provider})`);
