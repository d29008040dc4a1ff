import { isTokenRefused, type VerifiedJwt } from '../../core/jwt.ts';
import { type CheckResult, check, type Ports } from '../check.ts';
import type { Proof, Proofs } from '../proof.ts';
import { type JwtParameters, jwtParameters } from './parameters/jwt.ts';

/** No issuer makes tokens of this size, and reading them costs. */
const LONGEST_TOKEN = 16_384;

export const jwt = check({
  id: 'default.jwt',
  passes:
    'the header `headerKey` (in any case, with or without `Bearer`) carries a token that is signed by a key of `jwksUri` or `jwks`, or is active at `introspectEndpoint`, is neither expired nor too old, and has the claims asked for. On success `extractClaims` become request headers. Work that [goes on without its caller](#work-that-goes-on-without-its-caller) is judged by what was proven when it was accepted',
  on: ['input'],
  span: 'whole',
  judges: 'call',
  tells: ['verdict', 'explanation', 'validations'],
  parameters: jwtParameters,
  secrets: ['introspectClientSecret'],
  addresses: ({ rules }) => [rules.jwksUri, rules.introspectEndpoint].filter((url) => url !== undefined),
  proves: true,
  run: ({ headers, proving }, parameters, ports) =>
    proving?.kept
      ? judgeKept(proving.kept, parameters, ports)
      : judgeSent(headers[parameters.headerName]?.trim(), parameters, ports, proving?.keep),
});

async function judgeSent(
  sent: string | undefined,
  parameters: JwtParameters,
  { verifyJwt, now }: Ports,
  keep?: (key: string, proof: Proof) => boolean,
): Promise<CheckResult> {
  if (!sent) return refused(`Missing ${parameters.headerName} header`);
  const token = sent.replace(/^bearer\s+/i, '');
  if (token.length > LONGEST_TOKEN) return refused('The token is too long');
  try {
    const verified = await verifyJwt(token, parameters.rules);
    if (keep) {
      const { claims, header } = verified;
      const proof = { claims, header, verifiedAt: now(), ...(parameters.keepToken && { token }) };
      if (!keep(parameters.proofKey, proof)) return refused('The claims of the token are too large to be kept');
    }
    return judge(verified, parameters);
  } catch (error) {
    if (isTokenRefused(error)) return refused(error.message);
    return { ...refused('The token could not be checked'), error: 'the keys or the issuer could not be asked' };
  }
}

const UNPROVEN = 'no token was verified for it when this work was accepted; begin the work again with one';
const TOO_LONG_AGO = 'the token of this work was verified longer ago than maxWorkAge allows; begin the work again';
const TOKEN_NOT_KEPT =
  'the token is to be judged again and was not kept when this work was accepted; begin the work again';

/** The rules may have changed since; what was proven has not. */
async function judgeKept(kept: Proofs, parameters: JwtParameters, ports: Ports): Promise<CheckResult> {
  const proof = kept.get(parameters.proofKey);
  if (!proof) return unanswered(UNPROVEN);
  const { maxWorkAgeMs } = parameters;
  if (maxWorkAgeMs !== null && ports.now() - proof.verifiedAt > maxWorkAgeMs) return unanswered(TOO_LONG_AGO);
  if (parameters.keepToken)
    return proof.token === undefined ? unanswered(TOKEN_NOT_KEPT) : judgeSent(proof.token, parameters, ports);
  try {
    ports.recheckJwt(proof, parameters.rules, proof.verifiedAt);
    return judge(proof, parameters);
  } catch (error) {
    if (isTokenRefused(error)) return refused(error.message);
    throw error;
  }
}

type Claims = Readonly<Record<string, unknown>>;

const refused = (explanation: string): CheckResult => ({
  verdict: false,
  data: { verdict: false, explanation, validations: { signatureValid: false } },
});

/** The reason is in the message of the denial, too: work runs later, without a caller who could ask for it. */
const unanswered = (why: string): CheckResult => ({ ...refused(`Not proven: ${why}`), error: why });

const claimOf = (claims: Claims, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined);
const isThere = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

function judge({ claims, header }: VerifiedJwt, parameters: JwtParameters): CheckResult {
  const missing = parameters.requiredClaims.filter((name) => !isThere(claimOf(claims, name)));
  const failed = parameters.claimTests.filter(({ name, test }) => !test(claimOf(claims, name))).map(({ name }) => name);
  const differing = parameters.headerPayloadMatch.filter((name) => {
    const value = claimOf(claims, name);
    return !isThere(value) || value !== claimOf(header, name);
  });
  const faults = [
    missing.length > 0 && `Missing required claims: ${missing.join(', ')}`,
    failed.length > 0 && `Claims without an allowed value: ${failed.join(', ')}`,
    differing.length > 0 && `Header and payload differ in: ${differing.join(', ')}`,
  ].filter((fault) => fault !== false);
  const verdict = faults.length === 0;
  return {
    verdict,
    data: {
      verdict,
      explanation: verdict ? 'The token is valid' : faults.join('; '),
      validations: {
        signatureValid: true,
        requiredClaims: { valid: missing.length === 0, missing },
        claimValues: { valid: failed.length === 0, failed },
        headerPayloadMatch: { valid: differing.length === 0, differing },
      },
    },
    ...(verdict && parameters.extractClaims.length > 0 && { headers: extracted(claims, parameters) }),
  };
}

/** A claim that the token lacks takes the caller's header of that name away, which would pass for the claim. */
function extracted(claims: Claims, { extractClaims, claimPrefix }: JwtParameters): Record<string, string | null> {
  return Object.fromEntries(
    extractClaims.map((name) => {
      const value = claimOf(claims, name);
      return [`${claimPrefix}${name.replaceAll('_', '-')}`.toLowerCase(), isThere(value) ? headerText(value) : null];
    }),
  );
}

/** A line break in a claim would begin a header of its own. */
const headerText = (value: unknown): string =>
  (Array.isArray(value) ? value.map(asText).join(',') : asText(value)).replace(/[^\t\x20-\x7e]/g, '?');

const asText = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value));
