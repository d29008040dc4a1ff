import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a secret is kept; the file that is read never holds it itself. */
export type Reference = { readonly env: string } | { readonly file: string };

export const isReference = (value: unknown): value is Reference => {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  const [name, ...more] = Object.keys(value);
  return (name === 'env' || name === 'file') && more.length === 0;
};

/** Where the secrets of a file come from. */
export interface SecretFinder {
  /** How the file says where one is. */
  readonly form: string;
  /** Null: that is no such place. */
  find(value: unknown): Resolved | null;
}

/** The environment and the files of this process. */
export const secretsHere = (place: { environment: Environment; folder: string }): SecretFinder => ({
  form: 'give {env: NAME} or {file: path}',
  find: (value) => (isReference(value) ? resolveSecret(value, place) : null),
});

/** A caller sends them along: the gateway reads neither its environment nor its files for callers. */
export const secretsSent: SecretFinder = {
  form: 'give {secret_value: …}',
  find: (value) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
    if (isReference(value)) return { why: 'send the secret as {secret_value: …}; the gateway reads none for callers' };
    const [name, ...more] = Object.keys(value);
    const { secret_value: secret } = value as { secret_value?: unknown };
    if (name !== 'secret_value' || more.length > 0 || typeof secret !== 'string') return null;
    return secret === '' ? { why: 'the secret is empty' } : { secret };
  },
};

/** Remembers which secret stands where, so that they can be sent along. */
export const remembering = (source: SecretFinder, found: Map<unknown, string>): SecretFinder => ({
  ...source,
  find: (value) => {
    const resolved = source.find(value);
    if (resolved && resolved.why === undefined) found.set(value, resolved.secret);
    return resolved;
  },
});

/** The file with its secrets in the place of what refers to them. */
export function withSecrets(value: unknown, found: ReadonlyMap<unknown, string>): unknown {
  const secret = found.get(value);
  if (secret !== undefined) return { secret_value: secret };
  if (Array.isArray(value)) return value.map((item) => withSecrets(item, found));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withSecrets(item, found)]));
}

/** The secret, or why there is none. Relative paths start at `folder`. */
export type Resolved = { readonly secret: string; readonly why?: never } | { readonly why: string };

export function resolveSecret(
  reference: Reference,
  { environment, folder }: { environment: Environment; folder: string },
): Resolved {
  if ('env' in reference) {
    const name = String(reference.env);
    const secret = environment[name]?.trim();
    return secret ? { secret } : { why: `the environment variable ${name} is not set` };
  }
  const path = String(reference.file);
  try {
    const secret = readFileSync(resolve(folder, path), 'utf8').trim();
    return secret ? { secret } : { why: `the file ${path} is empty` };
  } catch (error) {
    return { why: `the file ${path} cannot be read (${(error as { code?: string }).code ?? 'unknown reason'})` };
  }
}
