import { expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { calculateJwkThumbprint, createLocalJWKSet, exportJWK, importSPKI, jwtVerify } from 'jose';
import { createSigningKey, publicJwk } from './rsa.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const pkcs1 = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
const spki = publicKey.export({ type: 'spki', format: 'pem' }).toString();

test('PKCS#1, PKCS#8 and the public key alone give the same public key and id', () => {
  const key = createSigningKey(pkcs8);

  expect(createSigningKey(pkcs1).jwk).toEqual(key.jwk);
  expect(publicJwk(spki)).toEqual(key.jwk);
  expect(Object.keys(key.jwk)).toEqual(['kty', 'n', 'e', 'kid', 'use', 'alg']);
});

test('the key id is the thumbprint of RFC 7638', async () => {
  const { kid } = createSigningKey(pkcs8);

  expect(kid).toBe(await calculateJwkThumbprint(await exportJWK(await importSPKI(spki, 'RS256')), 'sha256'));
});

test('what is signed holds for who has the key set alone', async () => {
  const key = createSigningKey(pkcs1);
  const token = await key.sign(JSON.stringify({ sub: 'Ada Lovelace ✓' }));

  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet({ keys: [{ ...key.jwk }] }));

  expect(payload.sub).toBe('Ada Lovelace ✓');
  expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: key.kid });
});
