/** The code in the arguments of a call: `{"code": "…"}`. Null when they are something else. */
export function codeIn(text: string): string | null {
  try {
    const { code } = JSON.parse(text) as { code?: unknown };
    return typeof code === 'string' ? code : null;
  } catch {
    return null;
  }
}

const BEGINNING = /^\s*\{\s*"code"\s*:\s*"/;
/** What has not begun by then is another thing. */
const LONGEST_BEGINNING = 256;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

/**
 * The same while the arguments still come in, so that a client that watches sees code and not JSON. If the code does
 * not come first in the arguments, it is told when they are whole.
 */
export class GrowingCode {
  /** What has come and was not taken yet: never the whole, which would be copied for each piece. */
  #text = '';
  /** Where in the text the next character of the code stands; null before the code begins and when it is over. */
  #at: number | null = null;
  #isOver = false;
  #code = '';

  get code(): string {
    return this.#code;
  }

  /** Answers how the code has grown. */
  push(piece: string): string {
    if (this.#isOver) return '';
    this.#text += piece;
    if (this.#at === null) this.#at = BEGINNING.exec(this.#text)?.[0].length ?? null;
    if (this.#at === null) {
      this.#isOver = this.#text.length > LONGEST_BEGINNING;
      return '';
    }
    let grown = '';
    for (let taken = this.#next(); taken !== null; taken = this.#next()) grown += taken;
    this.#text = this.#text.slice(this.#at ?? 0);
    if (this.#at !== null) this.#at = 0;
    this.#code += grown;
    return grown;
  }

  #next(): string | null {
    if (this.#at === null) return null;
    const character = this.#text[this.#at];
    if (character === undefined) return null;
    if (character === '"') {
      this.#at = null;
      this.#isOver = true;
      return null;
    }
    if (character !== '\\') return this.#taken(1, character);
    const kind = this.#text[this.#at + 1];
    if (kind === undefined) return null;
    if (kind !== 'u') return this.#taken(2, ESCAPES[kind] ?? kind);
    const digits = this.#text.slice(this.#at + 2, this.#at + 6);
    return digits.length < 4 ? null : this.#taken(6, String.fromCharCode(Number.parseInt(digits, 16)));
  }

  #taken(length: number, character: string): string {
    this.#at! += length;
    return character;
  }
}
