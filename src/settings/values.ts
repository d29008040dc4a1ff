import { resolve } from 'node:path';
import { Secret } from '../core/secret.ts';
import type { S3Place } from '../files/s3.ts';
import { readS3Url, S3_URL_FORM } from '../files/s3-url.ts';
import { type Get, type Name, refuse } from './variables.ts';

export const listOf = (value: string | undefined): string[] =>
  (value ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);

export const pathOf = (value: string | undefined): string | null => (value === undefined ? null : resolve(value));

export function headerNameOf(name: Name, value: string | undefined): string | null {
  if (value === undefined) return null;
  if (!/^[a-z0-9-]+$/i.test(value)) refuse(name, `is "${value}"`, 'give the name of one header, such as x-real-ip');
  return value.toLowerCase();
}

export function urlOf(value: string | undefined, name: Name, schemes: string[], example: string): string | undefined {
  if (value === undefined) return undefined;
  const url = URL.parse(value);
  // The value may hold a password: it is not repeated.
  if (!url || !schemes.includes(url.protocol) || !url.hostname)
    refuse(name, 'is not a usable address', `give one such as ${example}`);
  return value;
}

/** A bucket: its address, and the pair of keys for it. */
export function s3Of(get: Get, [urlName, idName, secretName]: readonly [Name, Name, Name]): S3Place | null {
  const url = get(urlName);
  const accessKeyId = get(idName);
  const secretAccessKey = get(secretName);
  if (!url) {
    if (accessKeyId || secretAccessKey)
      refuse(accessKeyId ? idName : secretName, `is set without ${urlName}`, `give one such as ${S3_URL_FORM}`);
    return null;
  }
  const place = readS3Url(url);
  if (typeof place === 'string') return refuse(urlName, place, `give one such as ${S3_URL_FORM}`);
  if (!accessKeyId) return refuse(idName, 'is missing', `${urlName} needs a pair of keys`);
  if (!secretAccessKey) return refuse(secretName, 'is missing', `${urlName} needs a pair of keys`);
  return { ...place, accessKeyId, secretAccessKey: new Secret(secretAccessKey) };
}
