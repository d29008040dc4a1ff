import { fold } from '../text/fold.ts';
import { SIGNALS } from './injection-signals.ts';

/** Letters that people do not see but a model reads: a second alphabet of Unicode, meant for tags of languages. */
const TAGS = /[\u{e0000}-\u{e007f}]/gu;
const TURNED = /[\u202a-\u202e\u2066-\u2069]/;
const SPACED = /(?<![A-Za-z])(?:[A-Za-z][ ._*-]{1,2}){8,400}[A-Za-z](?![A-Za-z])/g;
const CLOSE =
  /(?:ignore|disregard|forget|bypass)(?:all|any|the|your|my|of)*(?:previous|prior|above|earlier|system|original)*(?:instruction|rule|prompt|guideline)/i;
const ENCODED = /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,4000}={0,2}/g;
const READABLE = /^[\p{L}\p{N}\p{P}\p{S}\s]+$/u;

/** The signs in a text, each once, and those in what it hides. */
export function injectionSignals(text: string): { name: string; weight: number }[] {
  const found = new Map<string, number>();
  const look = (plain: string) => {
    for (const { name, weight, patterns } of SIGNALS) {
      if (!found.has(name) && patterns.some((pattern) => pattern.test(plain))) found.set(name, weight);
    }
  };
  const plain = fold(text).text;
  look(plain);
  // Folding takes letters of other scripts for Latin ones, so words of those scripts are looked for without it.
  if (plain !== text) look(text);
  for (const decoded of decodedIn(plain)) look(decoded);
  if (plain.match(SPACED)?.some((letters) => CLOSE.test(letters.replace(/[^A-Za-z]/g, '')))) found.set('override', 1);
  const tags = text.match(TAGS);
  if (tags) {
    found.set('hidden-text', 0.6);
    look(tags.map((tag) => String.fromCharCode(tag.codePointAt(0)! - 0xe0000)).join(''));
  }
  if (TURNED.test(text)) found.set('turned-text', 0.3);
  return [...found].map(([name, weight]) => ({ name, weight }));
}

/** What base64 in the text says, where it says something that can be read. */
function* decodedIn(plain: string): Generator<string> {
  for (const [encoded] of plain.matchAll(ENCODED)) {
    const decoded = Buffer.from(encoded, 'base64').toString('utf8');
    if (READABLE.test(decoded)) yield decoded;
  }
}
