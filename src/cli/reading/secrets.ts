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
