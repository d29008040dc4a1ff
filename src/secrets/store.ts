import type { Clock } from '../core/clock.ts';
import type { OwnIdentity } from '../core/machine-identity.ts';
import type { TokenSource } from '../providers/provider.ts';

/** What lies under a path: a text, or members. */
export type StoredSecret = string | Readonly<Record<string, unknown>>;

/** One secret store, read over its own protocol. */
export interface SecretStore {
  /** Throws `SecretGone` where the store says that there is no such secret, and any error where it says nothing of use. */
  read(path: string): Promise<StoredSecret>;
  /** Why a path cannot be one of this store. Null: it can. */
  faultOf(path: string): string | null;
}

/** The store has answered, and has no such secret. What was kept of it is not used any more. */
export class SecretGone extends Error {}

export interface StoreParts {
  /** Sends through the egress policy of the stores. */
  readonly send: (url: string, init: RequestInit) => Promise<Response>;
  readonly tokens: TokenSource;
  /** The identity of the machine, where the operator has the gateway sign in by it. */
  readonly machine: OwnIdentity;
  readonly now: Clock;
}

/** The answer's JSON. What a store says in words is not passed on: it may name accounts and paths of the operator. */
export async function jsonOf(response: Response): Promise<Record<string, unknown>> {
  const value: unknown = await response.json().catch(() => null);
  if (response.ok && value !== null && typeof value === 'object') return value as Record<string, unknown>;
  throw new Error(response.ok ? 'it answered something else than JSON' : `it answered ${response.status}`);
}

export const memberOf = (value: unknown, name: string): unknown =>
  value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[name] : undefined;

/** Without closing slashes. */
export const baseOf = (url: string): string => url.replace(/\/+$/, '');
