/** A text in which look-alikes are alike, and where each of its characters stood before. */
export interface Folded {
  readonly text: string;
  /** From an index of the folded text to one of the original. */
  readonly origin: (index: number) => number;
}

const ASCII = /^[\0-\x7f]*$/;
/** A reader does not see them: soft hyphen, zero-width characters, direction marks, variation selectors. */
const isInvisible = (code: number): boolean =>
  code === 0xad ||
  code === 0x34f ||
  code === 0x61c ||
  code === 0x180e ||
  (code >= 0x200b && code <= 0x200f) ||
  (code >= 0x202a && code <= 0x202e) ||
  (code >= 0x2060 && code <= 0x206f) ||
  (code >= 0xfe00 && code <= 0xfe0f) ||
  code === 0xfeff;
const isSpace = (code: number): boolean =>
  code === 0xa0 ||
  code === 0x1680 ||
  (code >= 0x2000 && code <= 0x200a) ||
  code === 0x202f ||
  code === 0x205f ||
  code === 0x3000;
const isHyphen = (code: number): boolean => (code >= 0x2010 && code <= 0x2015) || code === 0x2212 || code === 0xfe63;

/** The first of the ten digits, of scripts that write numbers with digits of their own. */
const ZEROS = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50];

/** Latin letters that others imitate, as far as they are mistaken for them at a glance. */
const IMITATIONS = 'аеорсухіјѕԁһӏАВЕКМНОРСТХІЅοανιΑΒΕΗΙΚΜΝΟΡΤΧΥΖıɡ。․';
const IMITATED = 'aeopcyxijsdhlABEKMHOPCTXISoaviABEHIKMNOPTXYZig..';
const TWINS = new Map([...IMITATIONS].map((letter, index) => [letter, IMITATED[index]!]));

function folded(character: string, code: number): string {
  if (code >= 0xff01 && code <= 0xff5e) return String.fromCharCode(code - 0xfee0);
  if (isSpace(code)) return ' ';
  if (isHyphen(code)) return '-';
  for (const zero of ZEROS) if (code >= zero && code < zero + 10) return String(code - zero);
  return TWINS.get(character) ?? character;
}

/**
 * Undoes what is written so that a pattern misses it: full-width letters, digits of other scripts, odd spaces and
 * hyphens, letters that look like Latin ones, invisible characters.
 */
export function fold(text: string): Folded {
  if (ASCII.test(text)) return { text, origin: (index) => index };
  const pieces: string[] = [];
  const skippedAt: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x80) pieces.push(text[index]!);
    else if (isInvisible(code)) skippedAt.push(index);
    else pieces.push(folded(text[index]!, code));
  }
  return { text: pieces.join(''), origin: originOf(skippedAt) };
}

/** Each character stands as many places further on as were left out before it. */
function originOf(skippedAt: readonly number[]): Folded['origin'] {
  return (index) => {
    let [low, high] = [0, skippedAt.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      // The nth character left out stood before the folded index when n fewer had been left out before it.
      if (skippedAt[middle]! - middle <= index) low = middle + 1;
      else high = middle;
    }
    return index + low;
  };
}
