import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { fail } from '../core/errors.ts';
import { reveal } from './authorize.ts';
import { optional, printable, required } from './options.ts';
import type { Authorization, Authorize } from './provider.ts';

const ocid = { pattern: /^ocid1\.[a-z0-9._-]{1,250}$/i, says: 'takes an OCID such as ocid1.tenancy.oc1..aaaa' };
const fingerprint = {
  pattern: /^[0-9a-f]{2}(?::[0-9a-f]{2}){15}$/i,
  says: 'takes sixteen pairs of hexadecimal digits with colons between',
};

/** Signs with an API signing key, as Oracle Cloud's signature version 1 asks. */
export const ociSignature: Authorize = (call) => {
  const { provider, options, headers, method } = call;
  const url = new URL(call.url);
  const keyId = [
    required(provider, options, 'oracle_tenancy', ocid),
    required(provider, options, 'oracle_user', ocid),
    required(provider, options, 'oracle_fingerprint', fingerprint),
  ].join('/');

  // Oracle reads x-date in place of date, which HTTP clients tend to keep for themselves.
  headers.set('x-date', new Date(call.now).toUTCString());
  const signed: [string, string][] = [
    ['x-date', headers.get('x-date') as string],
    ['(request-target)', `${method.toLowerCase()} ${url.pathname}${url.search}`],
    ['host', url.host],
  ];
  if (method === 'POST' || method === 'PUT' || method === 'PATCH') {
    const body = call.body ?? new Uint8Array();
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    headers.set('x-content-sha256', createHash('sha256').update(body).digest('base64'));
    signed.push(
      ['content-length', String(body.byteLength)],
      ['content-type', headers.get('content-type') as string],
      ['x-content-sha256', headers.get('x-content-sha256') as string],
    );
  }
  const text = signed.map(([name, value]) => `${name}: ${value}`).join('\n');
  const signature = sign('RSA-SHA256', Buffer.from(text), privateKey(call)).toString('base64');
  const names = signed.map(([name]) => name).join(' ');
  headers.set(
    'authorization',
    `Signature version="1",keyId="${keyId}",algorithm="rsa-sha256",headers="${names}",signature="${signature}"`,
  );
};

function privateKey(call: Authorization): KeyObject {
  const given = call.options.oracle_private_key;
  // A header holds no line breaks, so they may be written as \n.
  const pem = (typeof given === 'string' && given ? given : reveal(call)).replaceAll('\\n', '\n');
  const passphrase = optional(call.options, 'oracle_key_passphrase', printable);
  let key: KeyObject | undefined;
  try {
    key = createPrivateKey({ key: pem, ...(passphrase && { passphrase }) });
  } catch {
    // The reason could quote the key; the refusal below says enough.
  }
  if (key?.asymmetricKeyType !== 'rsa') {
    return fail('invalid_provider_option', 'oracle_private_key', 'takes an RSA private key in PEM form.');
  }
  return key;
}
