import * as z from 'zod';

/** Members of the rules for tokens that are the same wherever such rules are given. */

/** Asymmetric ones only: with HMAC, every holder of the public key could sign, and `none` signs nothing. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

/** Members that only a private or a shared key has. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

export const algorithms = () =>
  z
    .array(z.enum(ALGORITHMS, { error: `give some of ${ALGORITHMS.join(', ')}` }), { error: 'give a list' })
    .min(1, 'give at least one');

const publicKey = () =>
  z.record(z.string(), z.unknown()).superRefine((key, context) => {
    const add = (member: string, message: string) => context.addIssue({ code: 'custom', path: [member], message });
    if (typeof key.kty !== 'string') add('kty', 'is missing');
    else if (key.kty === 'oct') add('kty', 'is of a shared key; give public keys only');
    for (const member of PRIVATE_MEMBERS) {
      if (Object.hasOwn(key, member)) add(member, 'belongs to a secret key; give public keys only');
    }
  });

export const keySet = () =>
  z.object({ keys: z.array(publicKey()).min(1, 'give at least one').max(100) }, { error: 'give {"keys": […]}' });

export const introspectContentType = () =>
  z.enum(['application/x-www-form-urlencoded', 'application/json'], {
    error: 'give "application/x-www-form-urlencoded" or "application/json"',
  });

/** An issuer or audience, or several. */
export const oneOrMore = () =>
  z.union([z.string().min(1).max(2_048), z.array(z.string().min(1).max(2_048)).min(1).max(50)], {
    error: 'give a text or a list of texts',
  });
