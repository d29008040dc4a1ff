import * as z from 'zod';
import type { Checked } from '../core/schema.ts';
import { address } from './options.ts';

/** The bucket through which requests and answers travel, where a provider's batches are files in one: `batch_storage`. */
export const batchStorage = () =>
  z.strictObject({
    uri: z
      .string()
      .regex(
        /^(?:gs|s3):\/\/[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](?:\/[\w.=@+-]+)*\/?$/,
        'takes gs://bucket/folder or s3://bucket/folder',
      ),
    /** The role that Bedrock assumes to read and write it. */
    role_arn: z
      .string()
      .regex(/^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/, 'takes arn:aws:iam::123456789012:role/name')
      .optional(),
    /** Where the bucket is reached, when not at the address that all buckets of the provider have. */
    endpoint: z
      .string()
      .refine(isAddress, 'takes an http or https address without query, such as https://storage.example.com')
      .optional(),
  });

export type BatchStorage = Checked<typeof batchStorage>;

function isAddress(text: string): boolean {
  try {
    address('endpoint', text);
    return true;
  } catch {
    return false;
  }
}
