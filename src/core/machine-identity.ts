/** The clouds whose machines have an identity. */
export type IdentityKind = 'aws' | 'google' | 'azure';

/** A short-lived key of AWS. */
export interface MachineKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/** A request that is to be made with the identity of the machine. */
export interface LendingFor {
  readonly method: string;
  readonly url: string;
}

/** The identity of the machine that the gateway runs on, for one virtual key. */
export interface LentIdentity {
  readonly name: string;
  readonly kind: IdentityKind;
  /** Of AWS. Throws for a request to another host than those of its model services. */
  key(request: LendingFor): Promise<MachineKey>;
  /** An access token of Google or Azure. Throws likewise. */
  token(request: LendingFor): Promise<string>;
}

/**
 * The identity of the machine for what the operator has set up: a secret store that the gateway signs in to by it. A key of
 * AWS, or a token of Google or Azure. `resource` is what a token of Azure is for.
 */
export type OwnIdentity = (name: string, resource?: string) => Promise<MachineKey | string>;

/** What a virtual key that wants an identity looks like. */
export interface IdentityUse {
  /** The slug of its workspace. */
  readonly workspace: string;
  readonly provider: string;
  /** Addresses that were stored with it in place of the provider's own. */
  readonly addresses: readonly string[];
}

/** The identities that the operator lends. */
export interface MachineIdentities {
  /** Why it may not be used so: one sentence. Null: it may. */
  refusal(name: string, use: IdentityUse): string | null;
  lend(name: string, use: IdentityUse): LentIdentity;
}

/** The member of `configurations` in which a virtual key asks for one. */
export const IDENTITY_OPTION = 'machine_identity';
