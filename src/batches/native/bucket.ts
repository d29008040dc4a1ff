import { fail } from '../../core/errors.ts';
import { elementsIn, textIn } from '../../files/s3.ts';
import type { Incoming } from '../../http/upstream.ts';
import { awsOrigin, awsSignature } from '../../providers/aws.ts';
import { jsonIn, ProviderAway, ProviderRefused, textOf } from '../../relay/provider-call.ts';
import { list, members, text } from './api.ts';
import type { Provider } from './ask.ts';
import { folderIn, placeIn } from './folder.ts';
import { streamOf } from './requests.ts';

/** What is done with the bucket through which a provider's batches travel. Objects go by their addresses. */
export interface Bucket {
  /** Whatever had that address before is gone. */
  put(uri: string, pieces: AsyncGenerator<Uint8Array>): Promise<void>;
  /** The addresses of all objects below a folder. */
  list(folder: string): Promise<string[]>;
  open(uri: string): Promise<Incoming>;
  /** Nothing happens when it is gone already. */
  remove(uri: string): Promise<void>;
}

/** The bucket of a virtual key, reached with its credential. */
export function bucketOf(provider: Provider): Bucket {
  const { storage } = provider.place;
  if (!storage)
    return fail('invalid_provider_option', 'configurations.batch_storage', 'is missing on the virtual key.');
  return storage.uri.startsWith('gs:') ? cloudStorage(provider, storage.endpoint) : s3(provider, storage.endpoint);
}

/** No answer of a provider and no name of an object leads the credential out of its own folder. */
function nameIn(uri: string, { place }: Provider): { bucket: string; name: string } {
  const isOurs = place.storage !== null && uri.startsWith(folderIn(place.storage.uri));
  // Addresses are walked: `..` would end in another folder, or in another bucket.
  if (!isOurs || uri.split('/').some((segment) => segment === '.' || segment === '..'))
    fail('invalid_provider_option', 'configurations.batch_storage.uri', 'the provider names results outside of it.');
  return placeIn(uri);
}

/** No folder has so many pages of names: a provider that sends more is not believed. */
const MOST_PAGES = 1_000;

async function allPages(
  read: (token: string | null) => Promise<{ found: readonly string[]; next: string | null }>,
): Promise<string[]> {
  const all: string[] = [];
  let token: string | null = null;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { found, next } = await read(token);
    all.push(...found);
    if (next === null) return all;
    token = next;
  }
  throw new ProviderAway('its list of objects has no end');
}

function gone(error: unknown): null {
  if (error instanceof ProviderRefused && error.status === 404) return null;
  throw error;
}

const GCS_PIECE = 256 << 10;

function cloudStorage(provider: Provider, endpoint = 'https://storage.googleapis.com'): Bucket {
  const objectUrl = (uri: string, query = '') => {
    const { bucket, name } = nameIn(uri, provider);
    return `${endpoint}/storage/v1/b/${bucket}/o/${encodeURIComponent(name)}${query}`;
  };
  return {
    put: async (uri, pieces) => {
      const { bucket, name } = nameIn(uri, provider);
      const url = `${endpoint}/upload/storage/v1/b/${bucket}/o?uploadType=media&name=${encodeURIComponent(name)}`;
      const body = streamOf(grouped(pieces, GCS_PIECE));
      await textOf(await provider.send({ method: 'POST', url, contentType: 'application/jsonl', body }));
    },
    list: async (folder) => {
      const { bucket, name } = nameIn(folder, provider);
      return allPages(async (token) => {
        const page = token ? `&pageToken=${encodeURIComponent(token)}` : '';
        const url = `${endpoint}/storage/v1/b/${bucket}/o?prefix=${encodeURIComponent(name)}${page}`;
        const answer = members(await jsonIn(await provider.send({ method: 'GET', url, body: null })));
        const found = list(answer.items).map((item) => `gs://${bucket}/${text(members(item).name)}`);
        return { found, next: text(answer.nextPageToken) };
      });
    },
    open: (uri) => provider.send({ method: 'GET', url: objectUrl(uri, '?alt=media'), body: null }),
    remove: async (uri) => {
      (await provider.send({ method: 'DELETE', url: objectUrl(uri), body: null }).catch(gone))?.cancel();
    },
  };
}

/** The signature covers the body, so requests go in parts that are held in memory. */
const S3_PART = 8 << 20;

function s3(provider: Provider, given: string | undefined): Bucket {
  const endpoint = given ?? awsOrigin('bedrock', 's3', provider.target.options);
  const authorize = awsSignature('s3');
  // With the bucket in the path, names with dots have a certificate, too.
  const send = (method: string, path: string, body: Uint8Array | null = null) =>
    provider.send({ method, url: `${endpoint}/${path}`, body, authorize });
  const pathOf = (uri: string) => {
    const { bucket, name } = nameIn(uri, provider);
    return `${bucket}/${name.split('/').map(encodeURIComponent).join('/')}`;
  };
  const putParts = async (path: string, parts: AsyncGenerator<Uint8Array>, first: Uint8Array[]) => {
    const id = textIn(await textOf(await send('POST', `${path}?uploads=`)), 'UploadId');
    if (!id) throw new ProviderAway('its bucket began no upload');
    const upload = `uploadId=${encodeURIComponent(id)}`;
    const tags: string[] = [];
    const put = async (part: Uint8Array) => {
      const incoming = await send('PUT', `${path}?partNumber=${tags.length + 1}&${upload}`, part);
      tags.push(incoming.headers.get('etag') ?? '');
      await textOf(incoming);
    };
    try {
      for (const part of first) await put(part);
      for await (const part of parts) await put(part);
      const named = tags.map((tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
      const whole = `<CompleteMultipartUpload>${named.join('')}</CompleteMultipartUpload>`;
      const done = await textOf(await send('POST', `${path}?${upload}`, Buffer.from(whole)));
      // The status comes before the parts are put together, and may turn out to be wrong.
      if (done.includes('<Error>')) throw new ProviderAway(`its bucket said ${textIn(done, 'Code')}`);
    } catch (error) {
      await send('DELETE', `${path}?${upload}`).catch(() => {});
      throw error;
    }
  };
  return {
    put: async (uri, pieces) => {
      const path = pathOf(uri);
      const parts = grouped(pieces, S3_PART);
      const first = (await parts.next()).value ?? new Uint8Array();
      const second = await parts.next();
      if (second.done) await textOf(await send('PUT', path, first));
      else await putParts(path, parts, [first, second.value]);
    },
    list: async (folder) => {
      const { bucket, name } = nameIn(folder, provider);
      return allPages(async (token) => {
        const page = token ? `&continuation-token=${encodeURIComponent(token)}` : '';
        const path = `${bucket}?list-type=2&prefix=${encodeURIComponent(name)}${page}`;
        const answer = await textOf(await send('GET', path));
        const found = elementsIn(answer, 'Contents').map((item) => `s3://${bucket}/${textIn(item, 'Key')}`);
        return { found, next: textIn(answer, 'NextContinuationToken') };
      });
    },
    open: (uri) => send('GET', pathOf(uri)),
    remove: async (uri) => (await send('DELETE', pathOf(uri)).catch(gone))?.cancel(),
  };
}

/** The same bytes in pieces of at least that size, but for the last. */
async function* grouped(pieces: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  let group: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    group.push(piece);
    bytes += piece.byteLength;
    if (bytes < size) continue;
    yield Buffer.concat(group);
    group = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(group);
}
