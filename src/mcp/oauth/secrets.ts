import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Sealer } from '../../crypto/seal.ts';
import type { McpGrantRow } from '../../storage/schema.ts';

/**
 * Codes are random. Tokens follow from their grant, its random salt, the master secret and a number that grows with each
 * issue: an answer that was lost can be given again word for word, every older token is known as ours without being
 * kept, and neither the database nor the master secret alone is enough to make one.
 */

type Issued = Pick<McpGrantRow, 'id' | 'salt'>;

const CODE = 'gwc_';
const ACCESS = 'gwt_';
const REFRESH = /^gwr_([0-9a-f-]{36})_(\d{1,9})_[\w-]{43}$/;
/** RFC 7636 section 4.1. */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;
const CHALLENGE = /^[\w-]{43}$/;

export const newCode = (): string => CODE + randomBytes(32).toString('base64url');
export const newSalt = (): string => randomBytes(32).toString('base64url');

const derived = (sealer: Sealer, kind: string, { id, salt }: Issued, generation: number): string =>
  sealer.sign('mcp-oauth', `${kind} ${id} ${generation} ${salt}`);

export const accessTokenOf = (sealer: Sealer, grant: Issued, generation: number): string =>
  ACCESS + derived(sealer, 'access', grant, generation);

export const refreshTokenOf = (sealer: Sealer, grant: Issued, generation: number): string =>
  `gwr_${grant.id}_${generation}_${derived(sealer, 'refresh', grant, generation)}`;

/** Which grant a refresh token says it is of, and its number; null when it is none. */
export function readRefreshToken(text: string): { grantId: string; generation: number } | null {
  const [, grantId, generation] = REFRESH.exec(text) ?? [];
  return grantId === undefined ? null : { grantId, generation: Number(generation) };
}

export const isSame = (given: string, expected: string): boolean =>
  given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));

export const isChallenge = (text: string): boolean => CHALLENGE.test(text);
export const isVerifier = (text: string): boolean => VERIFIER.test(text);
export const answersChallenge = (verifier: string, challenge: string): boolean =>
  isSame(createHash('sha256').update(verifier).digest('base64url'), challenge);
