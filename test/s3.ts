import { createHash, createHmac, randomUUID } from 'node:crypto';
import { serve } from './gateway.ts';

/** A small S3 for tests: one bucket, path-style, multipart, and no request without a right signature. */
export interface TestS3 {
  readonly origin: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  readonly objects: Map<string, { bytes: Uint8Array; at: number }>;
  readonly uploads: Map<string, { key: string; at: number; parts: Map<number, Uint8Array> }>;
  /** How many requests of each method came, refused ones too. */
  readonly requests: string[];
  /** What the next requests get instead of an answer: a status, or a function that answers after the work is done. */
  readonly faults: (number | ((done: Response) => Response))[];
  stop(): void;
}

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();
const xml = (body: string, status = 200) =>
  new Response(`<?xml version="1.0" encoding="UTF-8"?>\n${body}`, {
    status,
    headers: { 'content-type': 'application/xml' },
  });
const refusal = (status: number, code: string) => xml(`<Error><Code>${code}</Code></Error>`, status);
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const strict = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** Signs the request as it arrived, by the book, and compares. */
function isSigned(request: Request, url: URL, body: Uint8Array, keys: { id: string; secret: string; region: string }) {
  const given =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/.exec(
      request.headers.get('authorization') ?? '',
    );
  if (!given) return false;
  const [, id, date, region, names = '', signature] = given;
  const time = request.headers.get('x-amz-date') ?? '';
  const isNow = Math.abs(Date.now() - Date.parse(time.replace(/^(....)(..)(..T..)(..)/, '$1-$2-$3:$4:'))) < 900_000;
  if (id !== keys.id || region !== keys.region || !time.startsWith(date!) || !isNow) return false;
  if (request.headers.get('x-amz-content-sha256') !== sha256(body)) return false;
  for (const needed of ['host', 'x-amz-content-sha256', 'x-amz-date'])
    if (!names.split(';').includes(needed)) return false;
  const query = [...url.searchParams].map(([name, value]) => `${strict(name)}=${strict(value)}`).sort();
  const headers = names.split(';').map((name) => `${name}:${request.headers.get(name)?.trim()}\n`);
  const canonical = [request.method, url.pathname, query.join('&'), headers.join(''), names, sha256(body)].join('\n');
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${date}/${region}/s3/aws4_request\n${sha256(canonical)}`;
  const key = ['s3', 'aws4_request'].reduce(hmac, hmac(hmac(`AWS4${keys.secret}`, date!), region!));
  return hmac(key, toSign).toString('hex') === signature;
}

export function startS3(): TestS3 {
  const bucket = 'gateway-files';
  const keys = { id: 'AKIDTESTONLYTESTONLY', secret: 'a/secret+for/tests+only', region: 'test-1' };
  const objects: TestS3['objects'] = new Map();
  const uploads: TestS3['uploads'] = new Map();
  const requests: string[] = [];
  const faults: TestS3['faults'] = [];

  const list = (query: URLSearchParams) => {
    const prefix = query.get('prefix') ?? '';
    const below = (key: string) => key.indexOf(query.get('delimiter') ?? '\n', prefix.length) + 1;
    const found = [...objects.keys()].filter((key) => key.startsWith(prefix));
    const names = [...new Set(found.map((key) => key.slice(0, below(key) || key.length)))].sort();
    const start = Number(query.get('continuation-token') ?? 0);
    // A small page, so that every listing has several.
    const page = names.slice(start, start + 2);
    const next = start + 2 < names.length ? `<NextContinuationToken>${start + 2}</NextContinuationToken>` : '';
    const contents = page.map((key) => {
      const object = objects.get(key);
      if (!object) return `<CommonPrefixes><Prefix>${escaped(key)}</Prefix></CommonPrefixes>`;
      const { bytes, at } = object;
      return `<Contents><Key>${escaped(key)}</Key><LastModified>${new Date(at).toISOString()}</LastModified><ETag>&quot;${createHash('md5').update(bytes).digest('hex')}&quot;</ETag><Size>${bytes.byteLength}</Size></Contents>`;
    });
    return xml(
      `<ListBucketResult>${contents.join('')}<IsTruncated>${next !== ''}</IsTruncated>${next}</ListBucketResult>`,
    );
  };

  const listUploads = (query: URLSearchParams) => {
    const mine = [...uploads].filter(([, { key }]) => key.startsWith(query.get('prefix') ?? ''));
    const elements = mine.map(
      ([id, { key, at }]) =>
        `<Upload><Key>${escaped(key)}</Key><UploadId>${id}</UploadId><Initiated>${new Date(at).toISOString()}</Initiated></Upload>`,
    );
    return xml(
      `<ListMultipartUploadsResult>${elements.join('')}<IsTruncated>false</IsTruncated></ListMultipartUploadsResult>`,
    );
  };

  const read = (request: Request, key: string): Response => {
    const object = objects.get(key);
    if (!object) return request.method === 'HEAD' ? new Response(null, { status: 404 }) : refusal(404, 'NoSuchKey');
    const size = object.bytes.byteLength;
    if (request.method === 'HEAD') return new Response(object.bytes as Uint8Array<ArrayBuffer>);
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get('range') ?? '');
    const etag = `"${createHash('md5').update(object.bytes).digest('hex')}"`;
    if (!range) return new Response(object.bytes as Uint8Array<ArrayBuffer>, { headers: { etag } });
    const [start, last] = [Number(range[1]), range[2] ? Math.min(Number(range[2]), size - 1) : size - 1];
    if (start >= size) return refusal(416, 'InvalidRange');
    return new Response(object.bytes.slice(start, last + 1) as Uint8Array<ArrayBuffer>, {
      status: 206,
      headers: { 'content-range': `bytes ${start}-${last}/${size}` },
    });
  };

  const write = (key: string, query: URLSearchParams, body: Uint8Array): Response => {
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    const uploadId = query.get('uploadId');
    if (uploadId === null) objects.set(key, { bytes: body, at: Date.now() });
    else {
      const upload = uploads.get(uploadId);
      if (!upload || upload.key !== key) return refusal(404, 'NoSuchUpload');
      upload.parts.set(Number(query.get('partNumber')), body);
    }
    return new Response(null, { headers: { etag } });
  };

  const complete = (key: string, uploadId: string, body: Uint8Array): Response => {
    const upload = uploads.get(uploadId);
    if (!upload || upload.key !== key) return refusal(404, 'NoSuchUpload');
    const text = new TextDecoder().decode(body);
    const named = [...text.matchAll(/<Part><PartNumber>(\d+)<\/PartNumber><ETag>("\w+")<\/ETag><\/Part>/g)];
    const parts = named.map(([, number]) => upload.parts.get(Number(number)));
    const isRight = named.every(([, , tag], index) => {
      const part = parts[index];
      const isLast = index === named.length - 1;
      return (
        part && tag === `"${createHash('md5').update(part).digest('hex')}"` && (isLast || part.byteLength >= 5 << 20)
      );
    });
    if (!isRight || named.length === 0) return refusal(400, 'InvalidPart');
    objects.set(key, { bytes: Buffer.concat(parts as Uint8Array[]), at: Date.now() });
    uploads.delete(uploadId);
    return xml(`<CompleteMultipartUploadResult><Key>${escaped(key)}</Key></CompleteMultipartUploadResult>`);
  };

  const answer = (request: Request, url: URL, body: Uint8Array): Response => {
    const query = url.searchParams;
    const [, home, ...rest] = decodeURIComponent(url.pathname).split('/');
    const key = rest.join('/');
    if (home !== bucket) return refusal(404, 'NoSuchBucket');
    if (key === '') return query.has('uploads') ? listUploads(query) : list(query);
    const uploadId = query.get('uploadId');
    switch (request.method) {
      case 'GET':
      case 'HEAD':
        return read(request, key);
      case 'PUT':
        return write(key, query, body);
      case 'DELETE':
        if (uploadId === null) objects.delete(key);
        else if (!uploads.delete(uploadId)) return refusal(404, 'NoSuchUpload');
        return new Response(null, { status: 204 });
      case 'POST': {
        if (uploadId !== null) return complete(key, uploadId, body);
        const id = randomUUID();
        uploads.set(id, { key, at: Date.now(), parts: new Map() });
        return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
      }
      default:
        return refusal(405, 'MethodNotAllowed');
    }
  };

  const { origin, stop } = serve(async (request) => {
    const url = new URL(request.url);
    const body = await request.bytes();
    requests.push(request.method);
    if (!isSigned(request, url, body, keys)) return refusal(403, 'SignatureDoesNotMatch');
    const fault = faults.shift();
    if (typeof fault === 'number') return refusal(fault, 'InternalError');
    const done = answer(request, url, body);
    return fault ? fault(done) : done;
  });
  return {
    origin,
    bucket,
    accessKeyId: keys.id,
    secretAccessKey: keys.secret,
    region: keys.region,
    objects,
    uploads,
    requests,
    faults,
    stop,
  };
}
