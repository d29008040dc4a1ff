import type { Secret } from '../core/secret.ts';
import type { S3Place } from '../files/s3.ts';

/** How backups of the embedded store come into a bucket. */
export interface BackupSettings {
  /** Null: only where a command names an address. */
  readonly bucket: S3Place | null;
  /** For an address on the command line. */
  readonly credentials: Pick<S3Place, 'accessKeyId' | 'secretAccessKey'> | null;
  /** 32 bytes in base64, with which everything is sealed before it leaves the machine. */
  readonly key: Secret | null;
  /** From one to the next, where the gateway makes them by itself. */
  readonly everyMs: number;
  /** So many whole backups stay in the bucket; null: all. */
  readonly keep: number | null;
}
