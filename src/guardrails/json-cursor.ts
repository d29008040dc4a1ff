/**
 * Walks along JSON that is known to be valid and tells where its values stand, so that one of them can be replaced and
 * all others keep their bytes.
 */
export class JsonCursor {
  at: number;
  /** Where the name of the last member stands, with its quotes. */
  keyStart = 0;
  keyEnd = 0;
  readonly #source: string;

  constructor(source: string, at: number) {
    this.#source = source;
    this.at = at;
    this.#space();
  }

  /** Calls `each` at the value of every member, which moves the cursor past it. Answers how many there were. */
  members(each: (key: string) => void): number {
    let count = 0;
    this.open();
    for (let key = this.key(); key !== null; key = this.key()) {
      each(key);
      count++;
    }
    return count;
  }

  /** The same for so many elements. */
  elements(length: number, each: (index: number) => void) {
    this.open();
    for (let index = 0; index < length; index++) {
      each(index);
      this.comma();
    }
    this.close();
  }

  /** Moves past the brace or bracket that begins here. */
  open() {
    this.at++;
    this.#space();
  }

  /** Moves past the bracket that ends here. */
  close() {
    this.at++;
  }

  /** Of the next member: moves to its value. Null where there is none: moves past the brace. */
  key(): string | null {
    this.comma();
    const source = this.#source;
    const start = this.at + 1;
    if (source.charCodeAt(start - 1) !== QUOTE) {
      this.close();
      return null;
    }
    const end = this.#afterString(this.at);
    this.keyStart = start - 1;
    this.keyEnd = end;
    this.at = end;
    this.#space();
    // The colon.
    this.open();
    const spelt = source.slice(start, end - 1);
    return spelt.includes('\\') ? (JSON.parse(source.slice(start - 1, end)) as string) : spelt;
  }

  /** Moves past the comma between two values, where there is one. */
  comma() {
    this.#space();
    if (this.#source.charCodeAt(this.at) === COMMA) this.open();
  }

  /** Moves past the value that begins here. */
  skip() {
    const source = this.#source;
    const first = source.charCodeAt(this.at);
    if (first === QUOTE) this.at = this.#afterString(this.at);
    else if (first === BRACE || first === BRACKET) this.#skipNested();
    else {
      let at = this.at;
      while (at < source.length && !isEnd(source.charCodeAt(at))) at++;
      this.at = at;
    }
  }

  #skipNested() {
    const source = this.#source;
    let depth = 0;
    do {
      const code = source.charCodeAt(this.at);
      if (code === QUOTE) {
        this.at = this.#afterString(this.at);
        continue;
      }
      if (code === BRACE || code === BRACKET) depth++;
      else if (code === END_BRACE || code === END_BRACKET) depth--;
      this.at++;
    } while (depth > 0 && this.at < source.length);
  }

  #afterString(from: number): number {
    const source = this.#source;
    for (let at = from + 1; ; ) {
      const quote = source.indexOf('"', at);
      if (quote < 0) return source.length;
      let backslashes = 0;
      while (source.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
      at = quote + 1;
      if (backslashes % 2 === 0) return at;
    }
  }

  #space() {
    const source = this.#source;
    let at = this.at;
    while (isSpace(source.charCodeAt(at))) at++;
    this.at = at;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const BRACE = 0x7b;
const END_BRACE = 0x7d;
const BRACKET = 0x5b;
const END_BRACKET = 0x5d;

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
const isEnd = (code: number): boolean => code === COMMA || code === END_BRACE || code === END_BRACKET || isSpace(code);
