import { fail } from '../../core/errors.ts';
import type { Place } from './api.ts';

export type Scheme = 'gs' | 's3';

const OPTION = 'configurations.batch_storage';

/** What the requests of a batch are called in its folder. */
export const INPUT = 'input.jsonl';

/** The folder of the virtual key's batches, with a slash at its end. */
export function folderOf({ storage }: Place, scheme: Scheme, provider: string): string {
  if (!storage)
    return fail('invalid_provider_option', OPTION, `${provider} needs it for batches; set it on the virtual key.`);
  if (!storage.uri.startsWith(`${scheme}://`))
    return fail('invalid_provider_option', `${OPTION}.uri`, `takes ${scheme}://bucket/folder here.`);
  return folderIn(storage.uri);
}

export const folderIn = (uri: string): string => `${uri.replace(/\/+$/, '')}/`;

/** All that belongs to a batch whose requests lie in that file. */
export const folderOfFile = (file: string | null): string[] =>
  file?.endsWith(`/${INPUT}`) ? [file.slice(0, -INPUT.length)] : [];

/** `gs://bucket/some/object` → the bucket, and the object's name. */
export function placeIn(uri: string): { bucket: string; name: string } {
  const [, bucket, name] = /^(?:gs|s3):\/\/([^/]+)\/(.*)$/.exec(uri) ?? [];
  if (bucket === undefined || name === undefined) throw new Error(`${uri.slice(0, 80)} is no address in a bucket`);
  return { bucket, name };
}

export const isInBucket = (uri: string): boolean => /^(?:gs|s3):\/\//.test(uri);
