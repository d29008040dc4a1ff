import { isIP } from 'node:net';
import { apart, type Finding } from '../text/findings.ts';
import { fold } from '../text/fold.ts';
import {
  isAadhaar,
  isBrazilianCpf,
  isDutchBsn,
  isFrenchNir,
  isGermanTaxId,
  isIban,
  isItalianFiscalCode,
  isNhsNumber,
  isPolishPesel,
  isSpanishDni,
  isSwissAhv,
  passesLuhn,
} from './checksums.ts';

/** Looks for one kind of thing. Patterns have bounded parts only, so that no text makes them slow. */
interface Detector {
  readonly pattern: RegExp;
  /** Whether what has the form is one; it gets the letters and digits alone unless `isRaw`. */
  readonly isOne?: (found: string) => boolean;
  readonly isRaw?: boolean;
  /** What must stand near a number that has nothing else to be known by. */
  readonly near?: RegExp;
}

const NEAR_CHARACTERS = 50;
/** No match is longer (addresses of e-mail come to 601), and none depends on what stands further away. */
export const PII_SPAN = 700;

/** `a::b` is an address, too, but where people write it, it is a name in a program. */
const isIpAddress = (found: string): boolean => isIP(found) !== 0 && (/\d/.test(found) || found.split(':').length > 3);

/** Which numbers the networks of cards give out: Visa, Mastercard, American Express, Diners, JCB, Maestro and the rest. */
const CARD =
  /^(?:4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3[068]\d{12}|35\d{14}|(?:50|5[6-8]|6\d)\d{11,17})$/;

/** In the order in which they are asked: what has a checksum stands before what has only a form. */
const DETECTORS = {
  IBAN: {
    pattern: /(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}(?![A-Za-z0-9])/g,
    isOne: isIban,
  },
  FR_NIR: {
    pattern: /(?<!\d)[1-478] ?\d{2} ?\d{2} ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}(?!\d)/gi,
    isOne: isFrenchNir,
  },
  CREDIT_CARD: {
    pattern: /(?<![\d.])[2-6](?:[ -]?\d){12,18}(?![\d])/g,
    isOne: (digits) => CARD.test(digits) && passesLuhn(digits),
  },
  EMAIL_ADDRESS: {
    pattern: /(?<![\w.+%-])[\p{L}\d!#$%&'*+/=?^_`{|}~.-]{1,64}@(?:[\p{L}\d-]{1,63}\.){1,8}[\p{L}]{2,24}(?![\p{L}\d])/gu,
  },
  CH_AHV: { pattern: /(?<!\d)756(?:[. ]?\d{4}){2}[. ]?\d{2}(?!\d)/g, isOne: isSwissAhv },
  IT_FISCAL_CODE: {
    pattern: /(?<![A-Z0-9])[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z](?![A-Z0-9])/gi,
    isOne: isItalianFiscalCode,
  },
  ES_DNI: { pattern: /(?<![A-Z0-9])(?:\d{8}|[XYZ]-?\d{7})-?[A-HJ-NP-TV-Z](?![A-Z0-9])/gi, isOne: isSpanishDni },
  UK_NINO: {
    pattern:
      /(?<![A-Z0-9])(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?(?:\d{2} ?){3}[A-D](?![A-Z0-9])/gi,
  },
  IN_PAN: { pattern: /(?<![A-Z0-9])[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z](?![A-Z0-9])/g },
  BR_CPF: { pattern: /(?<!\d)\d{3}\.\d{3}\.\d{3}-\d{2}(?!\d)|(?<![\d.])\d{9}-?\d{2}(?!\d)/g, isOne: isBrazilianCpf },
  SSN: {
    pattern: /(?<![\d-])(?!000|666|9)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\d-])/g,
  },
  IN_AADHAAR: { pattern: /(?<!\d)[2-9]\d{3}[ -]\d{4}[ -]\d{4}(?!\d)/g, isOne: isAadhaar },
  PL_PESEL: { pattern: /(?<!\d)\d{11}(?!\d)/g, isOne: isPolishPesel, near: /pesel/i },
  DE_TAX_ID: {
    pattern: /(?<!\d)\d{2} ?\d{3} ?\d{3} ?\d{3}(?!\d)/g,
    isOne: isGermanTaxId,
    near: /steuer|\bidnr\b|identifikationsnummer|\btin\b|tax id/i,
  },
  CA_SIN: {
    pattern: /(?<![\d-])[1-79]\d{2}[- ]\d{3}[- ]\d{3}(?![\d-])/g,
    isOne: passesLuhn,
    near: /\bs\.?i\.?n\b|social insurance|assurance sociale|\bnas\b/i,
  },
  UK_NHS: { pattern: /(?<!\d)\d{3}[ -]?\d{3}[ -]?\d{4}(?!\d)/g, isOne: isNhsNumber, near: /\bnhs\b/i },
  NL_BSN: { pattern: /(?<!\d)\d{9}(?!\d)/g, isOne: isDutchBsn, near: /\bbsn\b|burgerservice|sofi/i },
  IP_ADDRESS: {
    pattern:
      /(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\d)|(?<![\w:.])[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}(?:(?<=:)(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])/gi,
    isOne: isIpAddress,
    isRaw: true,
  },
  PHONE_NUMBER: {
    pattern:
      /(?<![\d+.])(?:\+|00)[1-9](?:[ ()./-]{0,2}\d){6,14}(?!\d)|(?<![\d.-])(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}(?![\d-])|(?<![\d.,-])\(?0[1-9]\d{0,4}\)?(?:[ ./-]{1,2}\d{2,8}){1,5}(?!\d)/g,
    isOne: isPhoneNumber,
    isRaw: true,
  },
} as const satisfies Record<string, Detector>;

export type PiiCategory = keyof typeof DETECTORS;
export const PII_CATEGORIES = Object.keys(DETECTORS) as [PiiCategory, ...PiiCategory[]];

/** Dates and numbers of versions have the same form as numbers of telephones. */
function isPhoneNumber(found: string): boolean {
  const digits = found.replace(/\D/g, '');
  if (digits.length < 9 || digits.length > 17) return false;
  return !/^0?\d{1,2}[-./ ]\d{1,2}[-./ ](?:19|20)\d{2}/.test(found);
}

/** Personal data of the categories given, none overlapping another. */
export function findPii(text: string, categories: readonly PiiCategory[]): Finding[] {
  const { text: plain, origin } = fold(text);
  const found: Finding[] = [];
  for (const category of categories) {
    const { pattern, isOne, isRaw, near }: Detector = DETECTORS[category];
    for (const match of plain.matchAll(pattern)) {
      const [hit] = match;
      if (isOne && !isOne(isRaw ? hit : hit.replace(/[^A-Za-z0-9]/g, ''))) continue;
      const end = match.index + hit.length;
      if (near && !near.test(plain.slice(Math.max(0, match.index - NEAR_CHARACTERS), end + NEAR_CHARACTERS))) continue;
      found.push({ category, start: origin(match.index), end: origin(end - 1) + 1 });
    }
  }
  return apart(found);
}
