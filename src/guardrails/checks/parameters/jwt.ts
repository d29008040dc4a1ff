import * as z from 'zod';
import { DURATION_FORM, secondsOf } from '../../../core/durations.ts';
import type { JwtRules } from '../../../core/jwt.ts';
import { algorithms, introspectContentType, keySet, oneOrMore } from '../../../core/jwt-input.ts';
import { sha256 } from '../../../crypto/seal.ts';
import { address } from './address.ts';
import { checkedTest, matchType, type ValueTest, wantedValues } from './value-match.ts';

const names = () =>
  z.array(z.string().min(1, 'must not be empty').max(256), { error: 'give a list of claims' }).max(100);
const seconds = () => z.int('give whole seconds').min(0, 'must not be negative').max(31_536_000, 'give at most a year');
const duration = () => z.string({ error: DURATION_FORM }).refine((text) => secondsOf(text) > 0, DURATION_FORM);
const headerName = (what: string) =>
  z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]*$/i, `is not a ${what}`)
    .max(100);

const claimRule = () => z.strictObject({ values: wantedValues(), matchType: matchType().default('exact') });

export interface JwtParameters {
  readonly headerName: string;
  readonly rules: JwtRules;
  readonly requiredClaims: readonly string[];
  readonly claimTests: readonly { readonly name: string; readonly test: ValueTest }[];
  readonly headerPayloadMatch: readonly string[];
  readonly extractClaims: readonly string[];
  readonly claimPrefix: string;
  /** Work keeps the token itself, which is judged again at each of its calls. */
  readonly keepToken: boolean;
  /** How long after its token was verified work is judged by it; null: to the end of the work. */
  readonly maxWorkAgeMs: number | null;
  /** Under which work keeps what was proven here: the same for all rules by which the same source vouches for a token. */
  readonly proofKey: string;
}

const given = () =>
  z
    .strictObject({
      jwksUri: address().optional(),
      jwks: keySet().optional(),
      introspectEndpoint: address().optional(),
      introspectContentType: introspectContentType().default('application/x-www-form-urlencoded'),
      introspectClientId: z.string().min(1).max(1_024).optional(),
      introspectClientSecret: z.string().min(1).max(8_192).optional(),
      introspectCacheMaxAge: seconds().default(0),
      headerKey: headerName('header name').default('Authorization'),
      algorithms: algorithms().default(['RS256']),
      cacheMaxAge: seconds().default(86_400),
      clockTolerance: seconds().max(300, 'give at most 300 seconds').default(5),
      maxTokenAge: duration().default('1d'),
      issuer: oneOrMore().optional(),
      audience: oneOrMore().optional(),
      requiredClaims: names().default([]),
      claimValues: z.record(z.string().min(1), claimRule()).default({}),
      headerPayloadMatch: names().default([]),
      extractClaims: z.array(headerName('claim that a header can be named after')).max(100).default([]),
      claimPrefix: headerName('beginning of a header name')
        .refine(
          (prefix) => /^x-/i.test(prefix) && !/^x-gateway-/i.test(prefix),
          'must begin with x- and not with x-gateway-',
        )
        .default('x-jwt-'),
      keepToken: z.boolean({ error: 'give true or false' }).default(false),
      maxWorkAge: duration().optional(),
    })
    .superRefine((rules, context) => {
      const add = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
      const sources = (['jwksUri', 'jwks', 'introspectEndpoint'] as const).filter((name) => rules[name] !== undefined);
      if (sources.length === 0) add('jwksUri', 'is missing; give jwksUri, jwks or introspectEndpoint');
      if (sources.length > 1) add(sources[1]!, `cannot stand beside ${sources[0]}; give one of the two`);
      if (rules.introspectClientSecret !== undefined && rules.introspectClientId === undefined)
        add('introspectClientId', 'is missing beside introspectClientSecret');
    });

export const jwtParameters = () =>
  given().transform((parameters, context): JwtParameters => {
    const { headerKey, requiredClaims, claimValues, headerPayloadMatch, extractClaims, claimPrefix, ...others } =
      parameters;
    const { keepToken, maxWorkAge, ...rules } = others;
    const headerName = headerKey.toLowerCase();
    return {
      headerName,
      rules,
      requiredClaims,
      claimTests: Object.entries(claimValues).map(([name, { values, matchType }]) => ({
        name,
        test: checkedTest(matchType, values, context, ['claimValues', name, 'values']),
      })),
      headerPayloadMatch,
      extractClaims,
      claimPrefix,
      keepToken,
      maxWorkAgeMs: maxWorkAge === undefined ? null : secondsOf(maxWorkAge) * 1_000,
      proofKey: proofKeyOf(headerName, rules),
    };
  });

/** Whatever else the rules ask for can be asked of the claims again. */
const proofKeyOf = (headerName: string, { jwksUri, jwks, introspectEndpoint, introspectClientId }: JwtRules): string =>
  `default.jwt ${sha256(JSON.stringify([headerName, jwksUri, jwks, introspectEndpoint, introspectClientId]))}`;
