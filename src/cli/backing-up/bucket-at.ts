import { type BackupBucket, openBackupBucket } from '../../backups/bucket.ts';
import { GatewayError } from '../../core/errors.ts';
import type { S3Place } from '../../files/s3.ts';
import { readS3Url, S3_URL_FORM } from '../../files/s3-url.ts';
import { createEgressPolicy } from '../../http/egress.ts';
import { createUpstream } from '../../http/upstream.ts';
import type { Settings } from '../../settings.ts';

/** The bucket that an operator names, or the one of the settings; null: it is a folder. */
export function placeGiven({ backup }: Settings, given: string | undefined): S3Place | null {
  if (given === undefined) return backup.bucket;
  if (!/^s3:/i.test(given)) return null;
  const place = readS3Url(given);
  if (typeof place === 'string') throw new Error(`${given} ${place}; give one such as ${S3_URL_FORM}.`);
  if (!backup.credentials)
    throw new Error(
      'GATEWAY_BACKUP_ACCESS_KEY_ID and GATEWAY_BACKUP_SECRET_ACCESS_KEY are missing: a bucket needs both.',
    );
  return { ...place, ...backup.credentials };
}

export const bucketAt = (settings: Settings, place: S3Place): BackupBucket =>
  openBackupBucket({
    place,
    upstream: createUpstream({
      egress: createEgressPolicy({ trustedHosts: [...settings.trustedCustomHosts], proxy: settings.egressProxy }),
    }),
    now: Date.now,
  });

/** The error of a bucket is worded for callers of files. */
export async function inWordsOfBuckets<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'blob_store_unavailable') throw error;
    throw new Error(`The bucket cannot be used: ${error.facts[0]}.`);
  }
}
