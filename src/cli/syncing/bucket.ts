import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '../../core/secret.ts';
import { createS3, elementsIn, type S3, type S3Place, textIn } from '../../files/s3.ts';
import { readS3Url, S3_URL_FORM } from '../../files/s3-url.ts';
import { createEgressPolicy } from '../../http/egress.ts';
import { createUpstream, UpstreamFailure } from '../../http/upstream.ts';
import type { Settings } from '../../settings.ts';
import { inWordsOfBuckets } from '../backing-up/bucket-at.ts';
import { readAt } from './folder.ts';
import { type LeftOut, MOST_FILE_BYTES, obstacleTo, requireFew, type Source, type SourceFile } from './source.ts';

const ATTEMPTS = 3;

/** Objects of a bucket below a prefix. */
export function bucketSource(settings: Settings, given: string): Source {
  const place = placeOf(settings, given);
  const upstream = createUpstream({
    egress: createEgressPolicy({ trustedHosts: [...settings.trustedCustomHosts], proxy: settings.egressProxy }),
  });
  const s3 = createS3({ place, upstream, now: Date.now });
  const prefix = place.prefix ? `${place.prefix}/` : '';
  const home = mkdtempSync(join(tmpdir(), 'gateway-sync-'));
  const close = () => rmSync(home, { recursive: true, force: true });
  process.once('exit', close);
  let temporary = 0;
  return {
    name: `s3://${place.bucket}${place.prefix ? `/${place.prefix}` : ''}`,
    list: (choice) =>
      inWordsOfBuckets(
        (async () => {
          const files: SourceFile[] = [];
          const leftOut: LeftOut[] = [];
          for await (const { key, bytes, digest } of objectsOf(s3, prefix)) {
            const path = key.slice(prefix.length);
            // What stands for a folder in the tools of others.
            if (path === '' || path.endsWith('/') || !choice.takes(path)) continue;
            const isPath = path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
            const obstacle = isPath
              ? obstacleTo(path, bytes)
              : { path, why: 'has a name that is no path', isFault: true };
            if (obstacle) leftOut.push(obstacle);
            else files.push({ path, bytes, digest, head: null });
            requireFew(files.length);
          }
          return { files, leftOut };
        })(),
      ),
    fetch: async (file) => {
      const at = join(home, `object-${++temporary}`);
      const digest = await inWordsOfBuckets(download(s3, prefix + file.path, at));
      if (digest === null) return null;
      const { bytes, head } = await readAt(at);
      return { at, bytes, head, digest: digest || file.digest, release: () => rmSync(at, { force: true }) };
    },
    close,
  };
}

function placeOf({ environment }: Settings, given: string): S3Place {
  const place = readS3Url(given);
  if (typeof place === 'string') throw new Error(`${given} ${place}; give one such as ${S3_URL_FORM}.`);
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: key, AWS_SESSION_TOKEN: token } = environment;
  if (!id || !key)
    throw new Error(
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are missing: a bucket needs both, and AWS_SESSION_TOKEN where there is one.',
    );
  return {
    ...place,
    accessKeyId: id,
    secretAccessKey: new Secret(key),
    ...(token && { sessionToken: new Secret(token) }),
  };
}

async function* objectsOf(s3: S3, prefix: string) {
  for (let token: string | null = ''; token !== null; ) {
    const query = { 'list-type': '2', prefix, ...(token && { 'continuation-token': token }) };
    const { text } = await s3.text({ method: 'GET', query }, [200]);
    for (const element of elementsIn(text, 'Contents')) {
      const bytes = Number(textIn(element, 'Size'));
      const mark = textIn(element, 'ETag') ?? `${textIn(element, 'LastModified')}/${bytes}`;
      yield { key: textIn(element, 'Key') ?? '', bytes, digest: digestOf(mark) };
    }
    token = textIn(text, 'NextContinuationToken');
  }
}

const digestOf = (mark: string): string => `etag:${mark.replace(/[^\x21-\x7e]|"/g, '').slice(0, 150)}`;

/** The digest of what was fetched, '' where the storage names none; null: it is gone. */
async function download(s3: S3, key: string, to: string): Promise<string | null> {
  for (let attempt = 1; ; attempt++)
    try {
      return await downloadOnce(s3, key, to);
    } catch (error) {
      if (!(error instanceof UpstreamFailure) || attempt === ATTEMPTS) throw error;
    }
}

async function downloadOnce(s3: S3, key: string, to: string): Promise<string | null> {
  const incoming = await s3.send({ method: 'GET', key }, [200, 404]);
  try {
    if (incoming.status === 404) return null;
    const file = await open(to, 'w', 0o600);
    try {
      let bytes = 0;
      for (let piece = await incoming.read(); piece; piece = await incoming.read()) {
        bytes += piece.byteLength;
        if (bytes > MOST_FILE_BYTES) throw new Error(`has more than ${MOST_FILE_BYTES} bytes`);
        await file.write(piece);
      }
    } finally {
      await file.close();
    }
    const etag = incoming.headers.get('etag');
    return etag ? digestOf(etag) : '';
  } finally {
    incoming.cancel();
  }
}
