/** What a check has found proven by the request that began some work, so far as later calls are judged by it. */
export interface Proof {
  readonly claims: Readonly<Record<string, unknown>>;
  /** The protected header of the token. */
  readonly header: Readonly<Record<string, unknown>>;
  /** Milliseconds. */
  readonly verifiedAt: number;
  /** Only where the operator wants the token itself to be judged again. */
  readonly token?: string;
}

/** By what vouches for them, so that a check finds what was proven to it, and no other does. */
export type Proofs = ReadonlyMap<string, Proof>;

/**
 * How a call stands to its caller when it is not the caller's own: while work is accepted, checks give what they have found
 * proven to `keep`, which answers false when there is no room for it; later there is `kept`, and no caller.
 */
export type Proving = Keeping | Proven;

export interface Keeping {
  readonly keep: (key: string, proof: Proof) => boolean;
  readonly kept?: undefined;
}

export interface Proven {
  readonly kept: Proofs;
  readonly keep?: undefined;
}

export const NOTHING_PROVEN: Proven = { kept: new Map() };
