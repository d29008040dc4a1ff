import type { RE2JS } from 're2js';
import { BoundedMap } from '../core/bounded-map.ts';
import { compilePattern } from '../core/patterns.ts';

export type Claims = Readonly<Record<string, unknown>>;

export interface ClaimRule {
  readonly values: ClaimValue | readonly ClaimValue[];
  /** Default `exact`. */
  readonly matchType?: 'exact' | 'contains' | 'containsAll' | 'regex';
}
export type ClaimValue = string | number | boolean;

/** What a token must say beside being valid. */
export interface ClaimRules {
  readonly requiredClaims?: readonly string[];
  readonly claimValues?: Readonly<Record<string, ClaimRule>>;
  /** Members that the token's header and payload must have alike. */
  readonly headerPayloadMatch?: readonly string[];
}

const claimOf = (claims: Claims, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined);

/** There, and not nothing: a blank text, an empty list or an empty object says as little as no claim. */
function isPresent(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === 'string') return value.trim() !== '';
  if (Array.isArray(value)) return value.some(isPresent);
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

/** What is wrong with the claims, in words; null when nothing is. */
export function claimFault(rules: ClaimRules, claims: Claims, header: Claims): string | null {
  const missing = (rules.requiredClaims ?? []).filter((name) => !isPresent(claimOf(claims, name)));
  if (missing.length > 0) return `Missing required claims: ${missing.join(', ')}`;
  const wrong = Object.entries(rules.claimValues ?? {})
    .filter(([name, rule]) => !holds(rule, claimOf(claims, name)))
    .map(([name]) => name);
  if (wrong.length > 0) return `Claims without an allowed value: ${wrong.join(', ')}`;
  const apart = (rules.headerPayloadMatch ?? []).filter((name) => claimOf(header, name) !== claimOf(claims, name));
  return apart.length > 0 ? `Header and payload differ in: ${apart.join(', ')}` : null;
}

function holds({ values, matchType = 'exact' }: ClaimRule, claim: unknown): boolean {
  if (!isPresent(claim)) return false;
  const wanted = [values].flat().map(String);
  const found = Array.isArray(claim) ? claim.filter(isScalar).map(String) : isScalar(claim) ? [String(claim)] : [];
  if (found.length === 0) return false;
  switch (matchType) {
    case 'exact':
      // Of a list, all: one that holds more than was allowed is another one.
      return found.every((each) => wanted.includes(each));
    case 'contains':
      return wanted.some((each) => has(claim, found, each));
    case 'containsAll':
      return wanted.every((each) => has(claim, found, each));
    case 'regex':
      return wanted.some((pattern) => found.some((each) => compiled(pattern).matcher(each).find()));
    default:
      return matchType satisfies never;
  }
}

/** An element of a list, or a part of a text. */
const has = (claim: unknown, found: readonly string[], wanted: string): boolean =>
  Array.isArray(claim) ? found.includes(wanted) : found[0]!.includes(wanted);

const isScalar = (value: unknown): value is ClaimValue =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

const MOST_PATTERNS = 1_000;
const patterns = new BoundedMap<string, RE2JS>(MOST_PATTERNS);

function compiled(pattern: string): RE2JS {
  let found = patterns.get(pattern);
  if (!found) {
    found = compilePattern(pattern);
    patterns.set(pattern, found);
  }
  return found;
}

/** Whether a pattern can be used; linear-time engines lack look-around and back-references. */
export function isPattern(text: string): boolean {
  try {
    compiled(text);
    return true;
  } catch {
    return false;
  }
}
