import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Sealer } from '../../crypto/seal.ts';
import type { LoginGrantRow } from '../../storage/schema.ts';

/**
 * Codes are random. Tokens follow from their grant, its salt, the master secret and a number that grows with each issue: an
 * answer that was lost can be given again word for word, and none of the three alone is enough to make one.
 */

type Issued = Pick<LoginGrantRow, 'id' | 'salt'>;

const REFRESH = /^gwlr_([0-9a-f-]{36})_(\d{1,9})_[\w-]{43}$/;
/** Without vowels no words come about, and without digits nothing that looks like another (RFC 8628 section 6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const USER_CODE = new RegExp(`^[${LETTERS}]{8}$`);

export const newDeviceCode = (): string => `gwd_${randomBytes(32).toString('base64url')}`;
export const newSalt = (): string => randomBytes(32).toString('base64url');

/** Each letter with the same chance: bytes that would favour some are thrown away. */
export function newUserCode(): string {
  let code = '';
  while (code.length < 8)
    for (const byte of randomBytes(16)) if (byte < 240 && code.length < 8) code += LETTERS[byte % LETTERS.length];
  return code;
}

/** As it is stored, however it was typed; null: it can be none. */
export function userCodeIn(typed: string): string | null {
  const plain = typed.slice(0, 80).replace(/[\s-]/g, '').toUpperCase();
  return USER_CODE.test(plain) ? plain : null;
}

export const shownUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

const derived = (sealer: Sealer, kind: string, { id, salt }: Issued, generation: number): string =>
  sealer.sign('login', `${kind} ${id} ${generation} ${salt}`);

export const accessTokenOf = (sealer: Sealer, grant: Issued, generation: number): string =>
  `gwl_${derived(sealer, 'access', grant, generation)}`;

export const refreshTokenOf = (sealer: Sealer, grant: Issued, generation: number): string =>
  `gwlr_${grant.id}_${generation}_${derived(sealer, 'refresh', grant, generation)}`;

/** Told by their form, so that they are never taken for tokens of MCP clients. */
export const isLoginToken = (text: string): boolean => /^gwlr?_/.test(text);

export function readRefreshToken(text: string): { grantId: string; generation: number } | null {
  const [, grantId, generation] = REFRESH.exec(text) ?? [];
  return grantId === undefined ? null : { grantId, generation: Number(generation) };
}

export const isSame = (given: string, expected: string): boolean =>
  given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
