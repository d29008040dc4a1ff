import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { Secret } from '../core/secret.ts';
import { type Get, refuse } from './variables.ts';

export function adminKeyOf(value: string | undefined): Secret | null {
  if (value === undefined) return null;
  if (!/^[\x21-\x7e]{16,}$/.test(value)) {
    refuse(
      'GATEWAY_ADMIN_KEY',
      'is too short or holds spaces or other characters',
      'give 16 or more printable ASCII characters',
    );
  }
  return new Secret(value);
}

export function encryptionKeyOf(value: string | undefined): Secret | null {
  if (value === undefined) return null;
  const isBase64 = /^[A-Za-z0-9+/_-]+={0,2}$/.test(value);
  if (!isBase64 || Buffer.from(value, 'base64').length !== 32) {
    refuse('GATEWAY_ENCRYPTION_KEY', 'is not 32 bytes in base64', 'make one with openssl rand -base64 32');
  }
  return new Secret(value);
}

/** As `gateway backup --key-file` reads it. */
export function backupKeyOf(value: string | undefined): Secret | null {
  if (value === undefined) return null;
  const bytes = Buffer.from(value, 'base64');
  if (bytes.length !== 32 || bytes.toString('base64') !== value)
    refuse('GATEWAY_BACKUP_KEY', 'is not 32 bytes in base64', 'make one with openssl rand -base64 32');
  return new Secret(value);
}

export function jwtPrivateKeyOf(get: Get): Secret | null {
  const text = pemOf(get('JWT_PRIVATE_KEY'));
  if (!text) return null;
  if (!isStrongRsa(() => createPrivateKey(text)))
    refuse(
      'JWT_PRIVATE_KEY',
      'is not an RSA private key of at least 2048 bits in PEM form',
      'make one with openssl genrsa 2048',
    );
  return new Secret(text);
}

const PUBLIC_KEY = /-----BEGIN (?:RSA )?PUBLIC KEY-----[^-]+-----END (?:RSA )?PUBLIC KEY-----/g;

export function jwtPublicKeysOf(get: Get): string[] {
  const text = pemOf(get('JWT_PUBLIC_KEYS_EXTRA'));
  if (!text) return [];
  const keys = text.match(PUBLIC_KEY) ?? [];
  const rest = text.replace(PUBLIC_KEY, '').trim();
  if (keys.length === 0 || rest !== '' || !keys.every((key) => isStrongRsa(() => createPublicKey(key))))
    refuse(
      'JWT_PUBLIC_KEYS_EXTRA',
      'holds something else than RSA public keys of at least 2048 bits in PEM form',
      'make one with openssl rsa -in key.pem -pubout',
    );
  return keys;
}

/** Line breaks may be spelt out. */
const pemOf = (value: string | undefined): string | null => value?.replaceAll('\\n', '\n') ?? null;

function isStrongRsa(read: () => KeyObject): boolean {
  try {
    const key = read();
    return key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048;
  } catch {
    return false;
  }
}
