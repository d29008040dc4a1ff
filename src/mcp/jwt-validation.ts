import { z } from 'zod';
import { secondsOf } from '../auth/jwt-rules.ts';
import { isPattern } from '../auth/token-claims.ts';
import { lazily } from '../core/lazily.ts';
import { isCarrier, isHeaderName, normalised } from './header-names.ts';

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

const address = lazily(() => z.url({ protocol: /^https?$/, error: 'give an http(s) address' }).max(2_048));
const names = lazily(() => z.array(z.string().min(1).max(256)).max(100));
const seconds = lazily(() => z.int('give whole seconds').min(0).max(31_536_000));
const oneOrMore = lazily(() =>
  z.union([z.string().min(1).max(2_048), z.array(z.string().min(1).max(2_048)).min(1).max(50)], {
    error: 'give a text or a list of texts',
  }),
);

const publicKey = lazily(() =>
  z.record(z.string(), z.unknown()).superRefine((key, context) => {
    if (typeof key.kty !== 'string') context.addIssue({ code: 'custom', path: ['kty'], message: 'is missing' });
    for (const member of PRIVATE_MEMBERS) {
      if (member in key)
        context.addIssue({ code: 'custom', path: [member], message: 'belongs to a secret key; give public keys only' });
    }
  }),
);

const claimValue = lazily(() => z.union([z.string(), z.number(), z.boolean()]));
const claimRule = lazily(() =>
  z
    .strictObject({
      values: z.union([claimValue(), z.array(claimValue()).min(1).max(1_000)], {
        error: 'give a value or a list of values',
      }),
      matchType: z
        .enum(['exact', 'contains', 'containsAll', 'regex'], {
          error: 'give "exact", "contains", "containsAll" or "regex"',
        })
        .optional(),
    })
    .superRefine(({ values, matchType }, context) => {
      if (matchType !== 'regex' || [values].flat().every((pattern) => isPattern(String(pattern)))) return;
      context.addIssue({ code: 'custom', path: ['values'], message: 'holds a pattern that RE2 cannot read' });
    }),
);

/** `jwt_validation`: how the tokens of an external identity provider are checked. */
export const jwtValidation = lazily(() =>
  z
    .strictObject({
      jwksUri: address().optional(),
      jwks: z.object({ keys: z.array(publicKey()).min(1).max(100) }).optional(),
      introspectEndpoint: address().optional(),
      introspectContentType: z
        .enum(['application/x-www-form-urlencoded', 'application/json'], {
          error: 'give "application/x-www-form-urlencoded" or "application/json"',
        })
        .optional(),
      introspectClientId: z.string().min(1).max(1_024).optional(),
      introspectClientSecret: z.string().min(1).max(8_192).optional(),
      introspectCacheMaxAge: seconds().optional(),
      headerKey: z
        .string()
        .refine(isHeaderName, 'is not a header name')
        .refine(
          (name) => isCarrier(normalised(name)) && !normalised(name).startsWith('x-gateway-'),
          'cannot carry a token',
        )
        .optional(),
      algorithms: z
        .array(z.enum(ALGORITHMS, { error: `give some of ${ALGORITHMS.join(', ')}` }))
        .min(1)
        .optional(),
      clockTolerance: z.int('give whole seconds').min(0).max(300, 'give at most 300 seconds').optional(),
      cacheMaxAge: seconds().optional(),
      maxTokenAge: z
        .union([z.number(), z.string()], { error: 'give seconds, or a duration such as "30m", "12h" or "1d"' })
        .refine((duration) => secondsOf(duration) > 0, 'give seconds, or a duration such as "30m", "12h" or "1d"')
        .optional(),
      issuer: oneOrMore().optional(),
      audience: oneOrMore().optional(),
      requiredClaims: names().optional(),
      claimValues: z.record(z.string().min(1), claimRule()).optional(),
      headerPayloadMatch: names().optional(),
      required: z.boolean().optional(),
    })
    .superRefine((rules, context) => {
      const sources = (['jwksUri', 'jwks', 'introspectEndpoint'] as const).filter((name) => rules[name] !== undefined);
      const add = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
      if (sources.length === 0) add([], 'needs jwksUri, jwks or introspectEndpoint');
      if (sources.length > 1) add([sources[1]!], `cannot stand beside ${sources[0]}; give one of the two`);
      if (rules.introspectClientSecret !== undefined && rules.introspectClientId === undefined)
        add(['introspectClientId'], 'is missing beside introspectClientSecret');
    }),
);
