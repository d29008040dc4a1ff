/** Texts as people count them: a pair of surrogates is one character. Nothing of the text is copied, however long it is. */

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

export function charactersIn(text: string): number {
  let count = text.length;
  for (let at = 1; at < text.length; at++) if (isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1))) count--;
  return count;
}

/** The first characters of a text, at most so many. */
export const firstCharacters = (text: string, most: number): string =>
  [...text.slice(0, 2 * most)].slice(0, most).join('');
