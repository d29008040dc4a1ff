/** Check digits of numbers that people are known by. All take digits (and letters) without separators. */

const digitsOf = (text: string): number[] => [...text].map(Number);
const weighted = (digits: readonly number[], weights: readonly number[]): number =>
  weights.reduce((sum, weight, index) => sum + weight * (digits[index] ?? 0), 0);
const isOneDigit = (text: string): boolean => /^(\d)\1*$/.test(text);

/** Payment cards, Canadian SIN (ISO/IEC 7812-1, annex B). */
export function passesLuhn(text: string): boolean {
  let sum = 0;
  for (let index = text.length - 1, isDoubled = false; index >= 0; index--, isDoubled = !isDoubled) {
    const digit = text.charCodeAt(index) - 48;
    const value = isDoubled ? digit * 2 : digit;
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

/** Letters count from 10 (ISO 7064, MOD 97-10), without big numbers. */
export function modulo97(text: string): number {
  let rest = 0;
  for (const character of text) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest;
}

/** Lengths of IBANs by country, from the registry of ISO 13616. */
const IBAN_LENGTHS = new Map(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 ' +
    'FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 ' +
    'LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 ' +
    'RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30'
  )
    .split(' ')
    .map((entry): [string, number] => [entry.slice(0, 2), Number(entry.slice(2))]),
);

export function isIban(text: string): boolean {
  const upper = text.toUpperCase();
  return IBAN_LENGTHS.get(upper.slice(0, 2)) === upper.length && modulo97(upper.slice(4) + upper.slice(0, 4)) === 1;
}

/** German tax number (ISO 7064, MOD 11,10); of its first ten digits one occurs twice or three times. */
export function isGermanTaxId(text: string): boolean {
  const digits = digitsOf(text);
  if (digits[0] === 0) return false;
  const counts = new Map<number, number>();
  for (const digit of digits.slice(0, 10)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  const repeated = [...counts.values()].filter((count) => count > 1);
  if (repeated.length !== 1 || repeated[0]! > 3) return false;
  let product = 10;
  for (const digit of digits.slice(0, 10)) {
    const sum = (digit + product) % 10 || 10;
    product = (sum * 2) % 11;
  }
  return (11 - product) % 10 === digits[10];
}

/** French number of social security; Corsica has a letter in its department. */
export function isFrenchNir(text: string): boolean {
  const digits = text.toUpperCase().replace('2A', '19').replace('2B', '18');
  if (!/^[1-478]\d{14}$/.test(digits)) return false;
  return 97 - Number(BigInt(digits.slice(0, 13)) % 97n) === Number(digits.slice(13));
}

/** Spanish DNI and NIE: a letter follows from the number. */
export function isSpanishDni(text: string): boolean {
  const upper = text.toUpperCase();
  const number = Number(upper.slice(0, -1).replace('X', '0').replace('Y', '1').replace('Z', '2'));
  return 'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23] === upper.at(-1);
}

const ODD_PLACES = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

/** Italian fiscal code: digits count as the letters A to J, and odd places by a table. */
export function isItalianFiscalCode(text: string): boolean {
  const upper = text.toUpperCase();
  let sum = 0;
  for (let index = 0; index < 15; index++) {
    const code = upper.charCodeAt(index);
    const value = code < 65 ? code - 48 : code - 65;
    sum += index % 2 === 0 ? ODD_PLACES[value]! : value;
  }
  return upper.charCodeAt(15) - 65 === sum % 26;
}

/** Dutch BSN. */
export const isDutchBsn = (text: string): boolean =>
  !isOneDigit(text) && weighted(digitsOf(text), [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0;

/** Polish PESEL; its month also says the century. */
export function isPolishPesel(text: string): boolean {
  const digits = digitsOf(text);
  const month = (digits[2]! * 10 + digits[3]!) % 20;
  const day = digits[4]! * 10 + digits[5]!;
  if (month < 1 || month > 12 || day < 1 || day > 31) return false;
  return (10 - (weighted(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10)) % 10 === digits[10];
}

/** Brazilian CPF: two check digits. */
export function isBrazilianCpf(text: string): boolean {
  if (isOneDigit(text)) return false;
  const digits = digitsOf(text);
  const digitAfter = (count: number) => {
    const weights = Array.from({ length: count }, (_, index) => count + 1 - index);
    return ((weighted(digits, weights) * 10) % 11) % 10;
  };
  return digitAfter(9) === digits[9] && digitAfter(10) === digits[10];
}

// Verhoeff's scheme: multiplication in the dihedral group of the pentagon, and a permutation by place.
const times = (one: number, other: number): number => {
  const turned = one < 5 ? (one % 5) + (other % 5) : (one % 5) - (other % 5) + 5;
  return (turned % 5) + (one < 5 === other < 5 ? 0 : 5);
};
const STEP = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

/** Indian Aadhaar. */
export function isAadhaar(text: string): boolean {
  let check = 0;
  [...text].reverse().forEach((character, place) => {
    let value = Number(character);
    for (let step = 0; step < place % 8; step++) value = STEP[value]!;
    check = times(check, value);
  });
  return check === 0;
}

/** Swiss AHV number, an EAN-13 of its own country code. */
export const isSwissAhv = (text: string): boolean =>
  (10 - (weighted(digitsOf(text), [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]) % 10)) % 10 === Number(text[12]);

/** British NHS number. */
export const isNhsNumber = (text: string): boolean =>
  !isOneDigit(text) && (11 - (weighted(digitsOf(text), [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 11 === Number(text[9]);
