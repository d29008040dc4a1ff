import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { streamOf } from '../http/pulled-stream.ts';
import { type Incoming, type Upstream, UpstreamFailure } from '../http/upstream.ts';
import { type BlobEntry, type BlobId, type Blobs, blobId } from './blobs.ts';
import { nothing } from './pieces.ts';
import { createS3, elementsIn, type S3Place, textIn } from './s3.ts';
import { abort, putObject, sizeOf } from './s3-object.ts';

/** Blobs as objects of a bucket. */
export function s3Blobs({ place, upstream, now }: { place: S3Place; upstream: Upstream; now: Clock }): Blobs {
  const s3 = createS3({ place, upstream, now });
  const folder = place.prefix ? `${place.prefix}/` : '';
  const keyOf = (id: BlobId) => folder + blobId(id);

  return {
    put: (id, content) => putObject(s3, keyOf(id), content),

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
