import type { NowOrLater } from './runtime/now-or-later.ts';

/** Where a secret is kept, in the place of the secret: `{ "secret": "vault:team-a/openai#api_key" }`. */
export interface SecretReference {
  readonly secret: string;
}

export const isSecretReference = (value: unknown): value is SecretReference =>
  value !== null &&
  typeof value === 'object' &&
  Object.keys(value).length === 1 &&
  typeof (value as { secret?: unknown }).secret === 'string';

export interface ParsedReference {
  /** The operator's name of the store. */
  readonly store: string;
  readonly path: string;
  /** A member of a secret that is an object. Null: all of its text. */
  readonly field: string | null;
}

export const REFERENCE_FORM = 'give store:path or store:path#field, such as vault:team-a/openai#api_key';

const REFERENCE = /^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?):([\w.@+=-]+(?:\/[\w.@+=-]+)*)(?:#([\w.@+-]{1,128}))?$/;
const MOST_CHARACTERS = 512;

/** Null: it is not written as a reference is. Names that a server could read as a way to another folder are none. */
export function parseReference(text: string): ParsedReference | null {
  if (text.length > MOST_CHARACTERS) return null;
  const [, store, path, field = null] = REFERENCE.exec(text) ?? [];
  if (store === undefined || path === undefined) return null;
  if (path.split('/').some((part) => part === '.' || part === '..')) return null;
  return { store, path, field };
}

/** Who wants to use a reference, and where the secret would go. */
export interface ReferenceUse {
  /** The slug of the workspace of the virtual key. */
  readonly workspace: string;
  /** Addresses that were stored with the virtual key in place of its provider's own. */
  readonly addresses: readonly string[];
}

/** The secret stores of the operator, as those who hold references see them. */
export interface SecretSource {
  /** Why it may not be used so: one sentence. Null: it may. */
  refusal(reference: string, use: ReferenceUse): string | null;
  /** What is kept there; at once when it is in memory. Throws `secret_unavailable`. */
  value(reference: string): NowOrLater<string>;
  /** Asks the store again, because what it gave was refused. At most every few seconds. */
  renew(reference: string): Promise<void>;
}

/** Where the operator has set up no store. */
export const noSecrets: SecretSource = {
  refusal: () => 'there is no secret store; the operator sets them up with GATEWAY_SECRET_STORES',
  value: () => Promise.reject(new Error('there is no secret store')),
  renew: async () => {},
};
