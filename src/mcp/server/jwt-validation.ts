import * as z from 'zod';
import { DURATION_FORM, secondsOf } from '../../core/durations.ts';
import { algorithms, introspectContentType, keySet, oneOrMore } from '../../core/jwt-input.ts';
import { claimRule } from './claim-rule.ts';
import { isCarrier, isHeaderName, normalised } from './header-names.ts';

const address = () => z.url({ protocol: /^https?$/, error: 'give an http(s) address' }).max(2_048);
const names = () => z.array(z.string().min(1).max(256)).max(100);
const seconds = () => z.int('give whole seconds').min(0).max(31_536_000);
const MAX_AGE_FORM = `give seconds; or ${DURATION_FORM}`;

/** `jwt_validation`: how the tokens of an external identity provider are checked. */
export const jwtValidation = () =>
  z
    .strictObject({
      jwksUri: address().optional(),
      jwks: keySet().optional(),
      introspectEndpoint: address().optional(),
      introspectContentType: introspectContentType().optional(),
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
      algorithms: algorithms().optional(),
      clockTolerance: z.int('give whole seconds').min(0).max(300, 'give at most 300 seconds').optional(),
      cacheMaxAge: seconds().optional(),
      maxTokenAge: z
        .union([z.number(), z.string()], { error: MAX_AGE_FORM })
        .refine((duration) => secondsOf(duration) > 0, MAX_AGE_FORM)
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
    });
