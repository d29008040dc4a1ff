import { fail, GatewayError } from '../core/errors.ts';
import { allOf, andThen, type NowOrLater } from '../core/runtime/now-or-later.ts';
import { Secret } from '../core/secret.ts';
import { storedSecretNames } from '../core/secret-names.ts';
import { isSecretReference, parseReference, REFERENCE_FORM, type SecretSource } from '../core/secret-reference.ts';
import type { StoredCredential } from '../core/stored-credential.ts';
import { addressesOf, type SealedKey } from './virtual-key.ts';

/** A reference in a virtual key, and the member that it stands for. */
interface Placed {
  /** As errors name it: `key`, `configurations.aws_secret_access_key`. */
  readonly field: string;
  readonly path: readonly string[];
  readonly reference: string;
}

/** What a virtual key holds beside its credential: where its calls go. */
type Referring = SealedKey & { readonly customHost: string | null };

/** Every reference in it. One in another place than that of a secret is refused. */
function referencesIn({ key, configurations }: SealedKey): Placed[] {
  const found: Placed[] = isSecretReference(key) ? [{ field: 'key', path: [], reference: key.secret }] : [];
  const look = (value: unknown, path: readonly string[]) => {
    const field = ['configurations', ...path].join('.');
    if (isSecretReference(value)) {
      const isHeader = path.length === 2 && path[0] === 'custom_headers';
      if (!isHeader && !(path.length === 1 && storedSecretNames.has(path[0]!)))
        fail(
          'invalid_request',
          field,
          `takes no reference to a secret; ${[...storedSecretNames].join(', ')} and custom_headers do`,
        );
      found.push({ field, path, reference: value.secret });
    } else if (value !== null && typeof value === 'object' && path[0] !== 'prices') {
      for (const [name, item] of Object.entries(value)) look(item, [...path, name]);
    }
  };
  look(configurations, []);
  return found;
}

/** The same with secrets in the places of their references. */
function filledIn(sealed: SealedKey, placed: readonly Placed[], values: readonly string[]) {
  let key = sealed.key;
  const configurations: Record<string, unknown> = { ...sealed.configurations };
  for (const [index, { path }] of placed.entries()) {
    const [name, inner] = path;
    if (name === undefined) key = values[index]!;
    else if (inner === undefined) configurations[name] = values[index];
    else configurations[name] = { ...(configurations[name] as object), [inner]: values[index] };
  }
  return { key: key as string | null, configurations };
}

/** A virtual key as it is checked: without what only its store knows. */
export function withoutReferences(sealed: SealedKey): {
  key: string | null;
  configurations: SealedKey['configurations'];
} {
  const placed = referencesIn(sealed);
  if (placed.length === 0) return sealed as { key: string | null; configurations: SealedKey['configurations'] };
  const { key, configurations } = filledIn(
    sealed,
    placed,
    placed.map(() => 'kept-elsewhere'),
  );
  const isReferred = (name: string) => isSecretReference(sealed.configurations[name]);
  // A certificate and its key are looked at together or not at all.
  const isTls = (name: string) => name.startsWith('tls_');
  const hasTls = Object.keys(configurations).some((name) => isTls(name) && isReferred(name));
  const kept = Object.entries(configurations).filter(([name]) => !isReferred(name) && !(hasTls && isTls(name)));
  return { key, configurations: Object.fromEntries(kept) };
}

/** Refuses references that are not written as such, and those that the operator does not allow this workspace. */
export function refuseReferences(
  sealed: Referring,
  workspace: string,
  secrets: Pick<SecretSource, 'refusal'>,
): readonly Placed[] {
  const placed = referencesIn(sealed);
  const use = { workspace, addresses: addressesOf(sealed) };
  for (const { field, reference } of placed) {
    if (!parseReference(reference))
      fail('invalid_request', `${field}.secret`, `is no reference to a secret; ${REFERENCE_FORM}`);
    const why = secrets.refusal(reference, use);
    if (why !== null) fail('invalid_request', `${field}.secret`, why);
  }
  return placed;
}

/** With its secrets, as they are now: what cannot be fetched when it is saved would fail at every call. */
export async function fetchedNow(
  sealed: Referring,
  workspace: string,
  secrets: SecretSource,
): Promise<{ key: string | null; configurations: SealedKey['configurations'] }> {
  const placed = refuseReferences(sealed, workspace, secrets);
  const values: string[] = [];
  for (const { field, reference } of placed) {
    try {
      values.push(await secrets.value(reference));
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'secret_unavailable') throw error;
      const [, why, isAway] = error.facts as [string, string, boolean?];
      if (isAway) throw error;
      fail('invalid_request', `${field}.secret`, why);
    }
  }
  return filledIn(sealed, placed, values);
}

/**
 * Puts the secrets into opened virtual keys. While they stay the same, so does the object that is made of them: what others
 * keep by it is kept.
 */
export function createSecretFiller(secrets: SecretSource) {
  const filled = new WeakMap<
    StoredCredential,
    { readonly values: readonly string[]; readonly made: StoredCredential }
  >();
  const referring = new WeakMap<StoredCredential, { readonly sealed: SealedKey; readonly placed: readonly Placed[] }>();
  const refused = new WeakMap<StoredCredential, string | null>();

  const refusalOf = (stored: StoredCredential, placed: readonly Placed[], workspace: string): string | null => {
    let why = refused.get(stored);
    if (why === undefined) {
      const use = { workspace, addresses: addressesOf(stored) };
      why = placed.map(({ reference }) => secrets.refusal(reference, use)).find((each) => each !== null) ?? null;
      refused.set(stored, why);
    }
    return why;
  };

  const fill = (stored: StoredCredential, workspace: string): NowOrLater<StoredCredential> => {
    const refers = referring.get(stored);
    if (!refers) return stored;
    const { sealed, placed } = refers;
    const [{ reference }] = placed as [Placed, ...Placed[]];
    const why = refusalOf(stored, placed, workspace);
    // The operator may have changed the rules since it was saved.
    if (why !== null) fail('secret_unavailable', parseReference(reference)?.store ?? '', why);
    return andThen(allOf(placed.map((each) => secrets.value(each.reference))), (values) => {
      const before = filled.get(stored);
      if (before && values.every((value, index) => value === before.values[index])) return before.made;
      const { key, configurations } = filledIn(sealed, placed, values);
      const made: StoredCredential = {
        ...stored,
        credential: key ? new Secret(key) : null,
        configurations,
        renewed: async () => {
          await Promise.all(placed.map((each) => secrets.renew(each.reference)));
          const next = await fill(stored, workspace);
          return next === made ? null : next;
        },
      };
      filled.set(stored, { values, made });
      return made;
    });
  };

  return {
    /** An opened virtual key, its references remembered. */
    opened(stored: Omit<StoredCredential, 'credential'>, sealed: SealedKey): StoredCredential {
      const placed = referencesIn(sealed);
      const credential = typeof sealed.key === 'string' && sealed.key ? new Secret(sealed.key) : null;
      const made: StoredCredential = { ...stored, credential };
      if (placed.length > 0) referring.set(made, { sealed, placed });
      return made;
    },
    fill,
  };
}
