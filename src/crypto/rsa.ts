import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** A public key as a key set shows it: these six members and no other, so that a private one cannot slip in. */
export interface PublicJwk {
  readonly kty: 'RSA';
  readonly n: string;
  readonly e: string;
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: 'RS256';
}

/** Signs JSON as a compact JWS with RS256. */
export interface SigningKey {
  readonly kid: string;
  readonly jwk: PublicJwk;
  /** The work is done by another thread: a signature takes milliseconds. */
  sign(payload: string): Promise<string>;
}

const ALGORITHM = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } as const;

/** Takes PKCS#1 and PKCS#8. The settings have checked that it is RSA and strong enough. */
export function createSigningKey(pem: string): SigningKey {
  const key = createPrivateKey(pem);
  const jwk = jwkOf(createPublicKey(key));
  const { kid } = jwk;
  const header = base64url(JSON.stringify({ alg: 'RS256', typ: 'JWT', kid }));
  const der = key.export({ type: 'pkcs8', format: 'der' });
  let imported: Promise<CryptoKey> | null = null;
  return {
    kid,
    jwk,
    sign: async (payload) => {
      imported ??= crypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
      const signed = `${header}.${base64url(payload)}`;
      const signature = await crypto.subtle.sign(ALGORITHM.name, await imported, Buffer.from(signed));
      return `${signed}.${Buffer.from(signature).toString('base64url')}`;
    },
  };
}

export const publicJwk = (pem: string): PublicJwk => jwkOf(createPublicKey(pem));

/** The key id is the thumbprint of RFC 7638: the same on every node, another one for every key. */
function jwkOf(key: KeyObject): PublicJwk {
  const { n = '', e = '' } = key.export({ format: 'jwk' });
  const kid = createHash('sha256').update(`{"e":"${e}","kty":"RSA","n":"${n}"}`).digest('base64url');
  return { kty: 'RSA', n, e, kid, use: 'sig', alg: 'RS256' };
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url');
