import { SECRET_NAME } from '../../auth/virtual-key.ts';
import { isSecretReference } from '../../core/secret-reference.ts';
import { mask, sha256 } from '../../crypto/seal.ts';
import type { ApiKeyWish } from '../desired.ts';
import { type Findings, pathText } from '../reading/findings.ts';
import type { SecretFinder } from '../reading/secrets.ts';
import type { Path, Source } from '../reading/source.ts';

const HASH = /^[0-9a-f]{64}$/;
const KEY = /^[\x21-\x7e]{16,1024}$/;

/** Reads the secrets of a file that may only say where they are kept. */
export interface SecretReader {
  /** Null: there is none, which is a fault by then. */
  read(value: unknown, path: Path): string | null;
  /** A secret of which the hash is enough. */
  readKnown(value: unknown, path: Path): ApiKeyWish['secret'] | null;
  /** References anywhere inside are followed; what is a secret by its name must be one. */
  readConfigurations(value: Readonly<Record<string, unknown>>, path: Path): Record<string, unknown>;
  /** The same for a config object, whose parameters are those of models and hold no references. */
  readConfig(value: Readonly<Record<string, unknown>>, path: Path): Record<string, unknown>;
}

export function createSecretReader(source: Source, findings: Findings, from: SecretFinder): SecretReader {
  const refuse = (path: Path, says: string): null => {
    findings.fault(source.placeOf(path), `${pathText(path)}: ${says}`);
    return null;
  };
  const read = (value: unknown, path: Path): string | null => {
    const resolved = from.find(value);
    if (resolved === null) return refuse(path, `${from.form}; a secret itself does not belong in this file`);
    return resolved.why === undefined ? resolved.secret : refuse(path, resolved.why);
  };
  const follow = (value: unknown, path: Path): unknown => {
    const name = String(path.at(-1)).replaceAll('-', '_');
    if (isSecretReference(value)) return value;
    if (from.find(value) !== null) return read(value, path);
    if (typeof value === 'string' && SECRET_NAME.test(name)) return read(value, path);
    if (Array.isArray(value)) return value.map((item, index) => follow(item, [...path, index]));
    if (value === null || typeof value !== 'object') return value;
    return followMembers(value, path);
  };
  /** What has members is no reference itself, however they are called. */
  const followMembers = (value: object, path: Path): Record<string, unknown> =>
    Object.fromEntries(Object.entries(value).map(([key, item]) => [key, follow(item, [...path, key])]));
  const readConfig: SecretReader['readConfig'] = (value, path) => {
    const { targets, override_params, default_params, ...own } = value;
    return {
      ...followMembers(own, path),
      ...(override_params !== undefined && { override_params }),
      ...(default_params !== undefined && { default_params }),
      ...(targets !== undefined && { targets: targetsIn(targets, [...path, 'targets']) }),
    };
  };
  const targetsIn = (targets: unknown, path: Path): unknown =>
    Array.isArray(targets)
      ? targets.map((target, index) =>
          target !== null && typeof target === 'object' ? readConfig(target, [...path, index]) : target,
        )
      : targets;
  return {
    read,
    readKnown: (value, path) => {
      if (value === undefined || value === null)
        return refuse(
          path,
          `is missing; ${from.form}, or {hash: …} with the SHA-256 of the key. Keys are not made up here`,
        );
      const hash = (value as { hash?: unknown }).hash;
      if (hash !== undefined && Object.keys(value).length === 1) {
        if (typeof hash !== 'string' || !HASH.test(hash))
          return refuse([...path, 'hash'], 'give the SHA-256 of the whole key, 64 lower-case hexadecimal digits');
        return { hash, masked: `sha256:${hash.slice(0, 6)}***`, mayReplace: true };
      }
      const secret = read(value, path);
      if (secret === null) return null;
      if (!KEY.test(secret)) return refuse(path, 'the secret must be 16 or more printable ASCII characters, no spaces');
      return { hash: sha256(secret), masked: mask(secret), mayReplace: true };
    },
    readConfigurations: followMembers,
    readConfig,
  };
}
