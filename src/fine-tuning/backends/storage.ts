import { fail } from '../../core/errors.ts';
import { missing, type Place, type RemoteFiles } from './backend.ts';

type Scheme = 'gs' | 's3';

interface Kind {
  readonly scheme: Scheme;
  readonly provider: string;
}

const OPTION = 'configurations.fine_tuning.storage_uri';
const MEBIBYTE = 1 << 20;

/** The bucket of the virtual key, and the folder in it, which ends with a slash unless it is none. */
export function bucketOf({ tuning }: Place, scheme: Scheme, provider: string): { bucket: string; folder: string } {
  const uri = tuning.storage_uri ?? missing(provider, 'storage_uri');
  if (!uri.startsWith(`${scheme}://`)) fail('invalid_provider_option', OPTION, `takes ${scheme}://bucket/folder here.`);
  const [bucket = '', ...folders] = uri
    .slice(scheme.length + 3)
    .replace(/\/+$/, '')
    .split('/');
  return { bucket, folder: folders.map((each) => `${each}/`).join('') };
}

/** Files that a provider reads from a bucket: put there by the gateway, or there already and named by their address. */
export const storageFiles = ({ scheme, provider }: Kind): Omit<RemoteFiles, 'send'> => ({
  mostBytes: 64 * MEBIBYTE,
  reference: {
    pattern: new RegExp(`^${scheme}://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]/[\\x21-\\x7e]{1,900}$`),
    example: `${scheme}://bucket/examples.jsonl`,
  },
  check: (place) => {
    bucketOf(place, scheme, provider);
    // A stored credential goes to the host that is stored with it, and to no other.
    if (place.hasCustomHost)
      fail(
        'not_expressible',
        'training_file',
        provider,
        `a virtual key with a custom_host takes files by their address, such as ${scheme}://bucket/examples.jsonl`,
      );
  },
  // The name follows from the job, so a node that takes over writes the same object once more.
  nameIn: (_answer, { name }, place) => {
    const { bucket, folder } = bucketOf(place, scheme, provider);
    return `${scheme}://${bucket}/${folder}${name}.jsonl`;
  },
});
