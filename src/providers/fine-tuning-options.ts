import * as z from 'zod';
import type { Checked } from '../core/schema.ts';

/** What a virtual key may say about fine-tuning, in its configurations under `fine_tuning`. */
export const fineTuningOptions = () =>
  z.strictObject({
    /** Where training files are put and results come to, where the provider reads them from a bucket. */
    storage_uri: z
      .string()
      .regex(
        /^(?:gs|s3):\/\/[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](?:\/[\w.=@+-]+)*\/?$/,
        'takes gs://bucket/folder or s3://bucket/folder',
      )
      .optional(),
    /** The role that Bedrock assumes to read and write that bucket. */
    role_arn: z
      .string()
      .regex(/^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/, 'takes arn:aws:iam::123456789012:role/name')
      .optional(),
    /** The Fireworks account that jobs and datasets belong to. */
    account_id: z
      .string()
      .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'takes lower-case letters, digits and inner dashes')
      .optional(),
  });

export type FineTuningOptions = Checked<typeof fineTuningOptions>;
