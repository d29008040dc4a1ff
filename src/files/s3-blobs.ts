import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { streamOf } from '../http/pulled-stream.ts';
import { type Incoming, type Upstream, UpstreamFailure } from '../http/upstream.ts';
import { type BlobEntry, type BlobId, type Blobs, blobId } from './blobs.ts';
import { inChunks, nothing } from './pieces.ts';
import { createS3, elementsIn, type S3, type S3Place, textIn } from './s3.ts';

/** At most 10,000 parts make an object, of at least 5 MiB each. */
const PART_BYTES = 8 * 1024 * 1024;
const MOST_PARTS = 10_000;

/** Blobs as objects of a bucket. What fits one part is one request; more becomes an upload of parts, seen when it is whole. */
export function s3Blobs({ place, upstream, now }: { place: S3Place; upstream: Upstream; now: Clock }): Blobs {
  const s3 = createS3({ place, upstream, now });
  const folder = place.prefix ? `${place.prefix}/` : '';
  const keyOf = (id: BlobId) => folder + blobId(id);

  return {
    put: async (id, content) => {
      const key = keyOf(id);
      const parts = inChunks(content, PART_BYTES);
      const first = (await parts.next()).value ?? new Uint8Array();
      const second = first.byteLength < PART_BYTES ? undefined : (await parts.next()).value;
      if (!second) {
        await s3.text({ method: 'PUT', key, body: first }, [200]);
        return first.byteLength;
      }
      return putInParts(s3, key, [first, second], parts);
    },

    get: async (id, { start = 0, end } = { start: 0 }) => {
      if (end !== undefined && end <= start) return (await sizeOf(s3, keyOf(id))) === null ? null : nothing();
      const isWhole = start === 0 && end === undefined;
      const range: Record<string, string> = isWhole
        ? {}
        : { range: `bytes=${start}-${end === undefined ? '' : end - 1}` };
      const incoming = await s3.send({ method: 'GET', key: keyOf(id), headers: range }, [200, 206, 404, 416]);
      if (incoming.status === 404 || incoming.status === 416) {
        incoming.cancel();
        return incoming.status === 404 ? null : nothing();
      }
      return contentOf(incoming);
    },

    size: (id) => sizeOf(s3, keyOf(id)),

    delete: async (id) => {
      await s3.text({ method: 'DELETE', key: keyOf(id) }, [200, 204, 404]);
    },

    async *list() {
      for (let token: string | null = ''; token !== null; ) {
        const query = { 'list-type': '2', prefix: folder, ...(token && { 'continuation-token': token }) };
        const { text } = await s3.text({ method: 'GET', query }, [200]);
        for (const entry of elementsIn(text, 'Contents')) yield* entryOf(entry, folder);
        token = textIn(text, 'NextContinuationToken');
      }
    },

    sweep: async (before) => {
      let swept = 0;
      for (let marker: Record<string, string> | null = {}; marker !== null; ) {
        const query: Record<string, string> = { uploads: '', prefix: folder, ...marker };
        const { text } = await s3.text({ method: 'GET', query }, [200]);
        for (const upload of elementsIn(text, 'Upload')) {
          if (Date.parse(textIn(upload, 'Initiated') ?? '') >= before) continue;
          await abort(s3, textIn(upload, 'Key') ?? '', textIn(upload, 'UploadId') ?? '');
          swept++;
        }
        marker = nextMarker(text);
      }
      return swept;
    },
  };
}

async function putInParts(s3: S3, key: string, begun: Uint8Array[], rest: AsyncGenerator<Uint8Array>): Promise<number> {
  const { text } = await s3.text({ method: 'POST', key, query: { uploads: '' } }, [200]);
  const uploadId = textIn(text, 'UploadId');
  if (!uploadId) throw new GatewayError('blob_store_unavailable', ['the object storage began no upload']);
  try {
    const tags: string[] = [];
    let size = 0;
    const upload = async (body: Uint8Array) => {
      if (tags.length === MOST_PARTS) throw new Error(`a blob is larger than ${MOST_PARTS * PART_BYTES} bytes`);
      const query = { partNumber: String(tags.length + 1), uploadId };
      const { headers } = await s3.text({ method: 'PUT', key, query, body }, [200]);
      tags.push(headers.get('etag') ?? '');
      size += body.byteLength;
    };
    for (let part = begun.shift(); part; part = begun.shift()) await upload(part);
    for await (const part of rest) await upload(part);
    await complete(s3, key, uploadId, tags, size);
    return size;
  } catch (error) {
    await rest.return(undefined);
    await abort(s3, key, uploadId).catch(() => {});
    throw error;
  }
}

async function complete(s3: S3, key: string, uploadId: string, tags: readonly string[], size: number) {
  const parts = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
  const body = new TextEncoder().encode(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
  const { status, text } = await s3.text({ method: 'POST', key, query: { uploadId }, body }, [200, 404]);
  // An answer that begins with 200 may still end in an error.
  if (status === 200 && !text.includes('<Error>')) return;
  // Sent again after an answer that was lost: the upload is gone because it is whole.
  if (status === 404 && (await sizeOf(s3, key)) === size) return;
  throw new GatewayError('blob_store_unavailable', [
    `the object storage did not complete the upload (${textIn(text, 'Code') ?? status})`,
  ]);
}

const abort = (s3: S3, key: string, uploadId: string) =>
  s3.text({ method: 'DELETE', key, query: { uploadId } }, [200, 204, 404]);

async function sizeOf(s3: S3, key: string): Promise<number | null> {
  const incoming = await s3.send({ method: 'HEAD', key }, [200, 404]);
  incoming.cancel();
  return incoming.status === 404 ? null : Number(incoming.headers.get('content-length'));
}

function contentOf(incoming: Incoming): ReadableStream<Uint8Array> {
  const expected = Number(incoming.headers.get('content-length'));
  let received = 0;
  const next = async () => {
    try {
      const piece = await incoming.read();
      received += piece?.byteLength ?? 0;
      if (piece || received === expected) return piece;
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
    }
    throw new GatewayError('blob_store_unavailable', ['the object storage broke off']);
  };
  return streamOf(next, () => incoming.cancel());
}

function* entryOf(xml: string, folder: string): Generator<BlobEntry> {
  const id = (textIn(xml, 'Key') ?? '').slice(folder.length);
  // Whatever else lies in the bucket is not ours.
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(id)) return;
  yield {
    id: blobId(id),
    size: Number(textIn(xml, 'Size')),
    storedAt: Date.parse(textIn(xml, 'LastModified') ?? ''),
  };
}

function nextMarker(xml: string): Record<string, string> | null {
  if (textIn(xml, 'IsTruncated') !== 'true') return null;
  return {
    'key-marker': textIn(xml, 'NextKeyMarker') ?? '',
    'upload-id-marker': textIn(xml, 'NextUploadIdMarker') ?? '',
  };
}
