import { createHash, createHmac } from 'node:crypto';
import { fail } from '../core/errors.ts';
import type { HeaderMap } from '../core/header-map.ts';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface AwsRequest {
  readonly method: string;
  readonly url: string;
  /** Gets the signature's own headers. */
  readonly headers: HeaderMap;
  readonly body: Uint8Array | null;
  readonly region: string;
  /** `bedrock`, `sagemaker`, `sts`, `s3`, … */
  readonly service: string;
  readonly credentials: AwsCredentials;
  readonly now: number;
}

/** Signs a request with AWS Signature Version 4. */
export function signAws(request: AwsRequest): void {
  const { headers, credentials, region, service } = request;
  const url = new URL(request.url);
  const time = new Date(request.now).toISOString().replace(/[-:]|\.\d+/g, '');
  const date = time.slice(0, 8);
  const payloadHash = sha256(request.body ?? '');

  // A client's own x-amz headers of these names belong to a signature of its own and would contradict ours.
  headers.set('x-amz-date', time);
  if (credentials.sessionToken) headers.set('x-amz-security-token', credentials.sessionToken);
  else headers.delete('x-amz-security-token');
  if (service === 's3') headers.set('x-amz-content-sha256', payloadHash);
  else headers.delete('x-amz-content-sha256');

  const signed: [string, string][] = [['host', url.host]];
  for (const [name, value] of headers) {
    if (name === 'content-type' || name.startsWith('x-amz-')) signed.push([name, value.trim().replace(/ +/g, ' ')]);
  }
  signed.sort(([a], [b]) => compare(a, b));
  const names = signed.map(([name]) => name).join(';');

  const canonical = [
    request.method,
    canonicalPath(url.pathname, service),
    canonicalQuery(url.search),
    ...signed.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    payloadHash,
  ].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');

  const key = [date, region, service, 'aws4_request'].reduce<Buffer | string>(
    (previous, part) => hmac(previous, part),
    `AWS4${credentials.secretAccessKey}`,
  );
  const signature = hmac(key, toSign).toString('hex');
  headers.set(
    'authorization',
    `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  );
}

/** Every service but S3 encodes the path as sent once more; S3 signs it encoded once. */
function canonicalPath(pathname: string, service: string): string {
  const segments = pathname.split('/');
  return segments.map((part) => encode(service === 's3' ? decode(part) : part)).join('/');
}

function canonicalQuery(search: string): string {
  if (search.length < 2) return '';
  return search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const equals = pair.indexOf('=');
      const [name, value] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
      return [encode(decode(name.replaceAll('+', ' '))), encode(decode(value.replaceAll('+', ' ')))] as const;
    })
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

/** Percent-encodes what a raw path may hold and AWS's own clients never send raw, such as the colon of a model id. */
export function encodeReserved(pathAndQuery: string): string {
  const question = pathAndQuery.indexOf('?');
  const path = question < 0 ? pathAndQuery : pathAndQuery.slice(0, question);
  return path.replace(/[!$&'()*+,:;=@]/g, percent) + pathAndQuery.slice(path.length);
}

const percent = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

const encode = (text: string): string => encodeURIComponent(text).replace(/[!'()*]/g, percent);

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return fail('invalid_path', `"${text.slice(0, 60)}" is not valid percent-encoding`);
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data, 'utf8').digest();
