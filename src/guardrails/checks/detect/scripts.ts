/** Writing systems by the ranges of their letters beyond ASCII, in the order of Unicode. */
const RANGES: readonly (readonly [from: number, to: number, script: string])[] = [
  [0xc0, 0x24f, 'Latin'],
  [0x370, 0x3ff, 'Greek'],
  [0x400, 0x52f, 'Cyrillic'],
  [0x530, 0x58f, 'Armenian'],
  [0x5d0, 0x5f4, 'Hebrew'],
  [0x620, 0x6ff, 'Arabic'],
  [0x900, 0x97f, 'Devanagari'],
  [0x980, 0x9ff, 'Bengali'],
  [0xa00, 0xa7f, 'Gurmukhi'],
  [0xa80, 0xaff, 'Gujarati'],
  [0xb00, 0xb7f, 'Oriya'],
  [0xb80, 0xbff, 'Tamil'],
  [0xc00, 0xc7f, 'Telugu'],
  [0xc80, 0xcff, 'Kannada'],
  [0xd00, 0xd7f, 'Malayalam'],
  [0xd80, 0xdff, 'Sinhala'],
  [0xe00, 0xe7f, 'Thai'],
  [0xe80, 0xeff, 'Lao'],
  [0x1000, 0x109f, 'Burmese'],
  [0x10a0, 0x10ff, 'Georgian'],
  [0x1100, 0x11ff, 'Hangul'],
  [0x1200, 0x137f, 'Ethiopic'],
  [0x1780, 0x17ff, 'Khmer'],
  [0x1e00, 0x1eff, 'Latin'],
  [0x3041, 0x30ff, 'Kana'],
  [0x3400, 0x9fff, 'Han'],
  [0xac00, 0xd7af, 'Hangul'],
  [0x20000, 0x2ffff, 'Han'],
];

function scriptOf(code: number): string | null {
  let [low, high] = [0, RANGES.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [from, to, script] = RANGES[middle]!;
    if (code < from) high = middle - 1;
    else if (code > to) low = middle + 1;
    else return script;
  }
  return null;
}

/** How many letters of each writing system a text has. */
export function scriptsIn(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  let latin = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.codePointAt(index)!;
    if (code < 0x80) {
      if ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a) latin++;
      continue;
    }
    if (code > 0xffff) index++;
    const script = scriptOf(code);
    if (script) counts.set(script, (counts.get(script) ?? 0) + 1);
  }
  if (latin > 0) counts.set('Latin', (counts.get('Latin') ?? 0) + latin);
  return counts;
}
