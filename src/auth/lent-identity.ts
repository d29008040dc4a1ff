import { fail } from '../core/errors.ts';
import { IDENTITY_OPTION, type LentIdentity, type MachineIdentities } from '../core/machine-identity.ts';
import { secretOptionNames } from '../core/secret-names.ts';
import { addressesOf } from './virtual-key.ts';

interface Asking {
  readonly provider: string;
  readonly customHost: string | null;
  readonly key: unknown;
  readonly configurations: Readonly<Record<string, unknown>>;
}

const FIELD = `configurations.${IDENTITY_OPTION}`;

/** A virtual key may ask for an identity of the machine that the operator lends its workspace, and holds no credential then. */
export function refuseIdentity(key: Asking, workspace: string, identities: Pick<MachineIdentities, 'refusal'>): void {
  const { configurations, provider } = key;
  const name = configurations[IDENTITY_OPTION];
  if (name === undefined) return;
  if (typeof name !== 'string' || name === '')
    fail('invalid_request', FIELD, 'give the name of an identity that the operator lends');
  const why = identities.refusal(name, { workspace, provider, addresses: addressesOf(key) });
  if (why !== null) fail('invalid_request', FIELD, why);
  if (key.key) fail('invalid_request', 'key', `give none where ${IDENTITY_OPTION} says who pays`);
  const other = [...secretOptionNames, 'azure_entra_scope', 'paid_by', 'tls_certificate', 'tls_authorities'].find(
    (each) => configurations[each] !== undefined,
  );
  if (other !== undefined)
    fail('invalid_request', `configurations.${other}`, `leave it out where ${IDENTITY_OPTION} says who pays`);
}

/** Of an opened virtual key. Undefined: it asks for none. */
export function lentTo(key: Asking, workspace: string, identities: MachineIdentities): LentIdentity | undefined {
  const { configurations, provider } = key;
  const name = configurations[IDENTITY_OPTION];
  if (typeof name !== 'string') return undefined;
  return identities.lend(name, { workspace, provider, addresses: addressesOf(key) });
}
