import { GatewayError } from '../core/errors.ts';
import type { BlobContent } from './blobs.ts';
import { inChunks } from './pieces.ts';
import { type S3, textIn } from './s3.ts';

/** At most 10,000 parts make an object, of at least 5 MiB each. */
const PART_BYTES = 8 * 1024 * 1024;
const MOST_PARTS = 10_000;

/** What fits one part is one request; more becomes an upload of parts, seen when it is whole. Says how many bytes. */
export async function putObject(s3: S3, key: string, content: BlobContent): Promise<number> {
  const parts = inChunks(content, PART_BYTES);
  const first = (await parts.next()).value ?? new Uint8Array();
  const second = first.byteLength < PART_BYTES ? undefined : (await parts.next()).value;
  if (!second) {
    await s3.text({ method: 'PUT', key, body: first }, [200]);
    return first.byteLength;
  }
  return putInParts(s3, key, [first, second], parts);
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

export const abort = (s3: S3, key: string, uploadId: string) =>
  s3.text({ method: 'DELETE', key, query: { uploadId } }, [200, 204, 404]);

export async function sizeOf(s3: S3, key: string): Promise<number | null> {
  const incoming = await s3.send({ method: 'HEAD', key }, [200, 404]);
  incoming.cancel();
  return incoming.status === 404 ? null : Number(incoming.headers.get('content-length'));
}
