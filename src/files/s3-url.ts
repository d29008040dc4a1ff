import type { S3Place } from './s3.ts';

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const REGION = /^[a-z0-9-]{1,40}$/;

export const S3_URL_FORM = 's3://bucket/prefix?endpoint=https://host&region=eu-west-1';

/** Where `s3://bucket/prefix?endpoint=…&region=…` leads; a string says what is wrong with it. */
export function readS3Url(text: string): Omit<S3Place, 'accessKeyId' | 'secretAccessKey'> | string {
  const url = URL.parse(text);
  if (url?.protocol !== 's3:') return 'is not an s3:// address';
  if (url.username || url.password || url.port) return 'holds more than a bucket before the path';
  if (!BUCKET.test(url.hostname)) return 'names no usable bucket';
  const prefix = url.pathname.replace(/^\/+|\/+$/g, '');
  if (prefix !== '' && !PREFIX.test(prefix))
    return 'has a prefix with characters other than letters, digits, . _ - and /';
  for (const name of url.searchParams.keys())
    if (name !== 'endpoint' && name !== 'region') return `has a parameter "${name}"`;
  const region = url.searchParams.get('region') ?? 'us-east-1';
  if (!REGION.test(region)) return `has a region "${region}"`;
  const endpoint = URL.parse(url.searchParams.get('endpoint') ?? `https://s3.${region}.amazonaws.com`);
  const isPlain = endpoint && endpoint.pathname === '/' && !endpoint.search && !endpoint.hash && !endpoint.username;
  if (!isPlain || !['http:', 'https:'].includes(endpoint.protocol))
    return 'has an endpoint that is not http(s)://host or http(s)://host:port';
  return { endpoint: endpoint.origin, region, bucket: url.hostname, prefix };
}
