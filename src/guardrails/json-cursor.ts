/**
 * Walks along JSON that is known to be valid and tells where its values stand, so that one of them can be replaced and
 * all others keep their bytes.
 */
export class JsonCursor {
  at: number;
  readonly #source: string;

  constructor(source: string, at: number) {
    this.#source = source;
    this.at = at;
    this.#space();
  }

  /** Calls `each` at the value of every member, which moves the cursor past it. Answers how many there were. */
  members(each: (key: string) => void): number {
    let count = 0;
    this.#pass();
    while (this.#source[this.at] === '"') {
      const start = this.at;
      this.skip();
      const spelt = this.#source.slice(start + 1, this.at - 1);
      const key = spelt.includes('\\') ? (JSON.parse(this.#source.slice(start, this.at)) as string) : spelt;
      this.#space();
      this.#pass();
      each(key);
      count++;
      this.#comma();
    }
    this.at++;
    return count;
  }

  /** The same for so many elements. */
  elements(length: number, each: (index: number) => void) {
    this.#pass();
    for (let index = 0; index < length; index++) {
      each(index);
      this.#comma();
    }
    this.at++;
  }

  /** Moves past the value that begins here. */
  skip() {
    const first = this.#source[this.at];
    if (first === '"') this.at = this.#afterString(this.at);
    else if (first === '{' || first === '[') this.#skipNested();
    else while (this.at < this.#source.length && !ENDS.has(this.#source[this.at]!)) this.at++;
  }

  #skipNested() {
    let depth = 0;
    do {
      const character = this.#source[this.at];
      if (character === '"') {
        this.at = this.#afterString(this.at);
        continue;
      }
      if (character === '{' || character === '[') depth++;
      else if (character === '}' || character === ']') depth--;
      this.at++;
    } while (depth > 0 && this.at < this.#source.length);
  }

  #afterString(from: number): number {
    for (let at = from + 1; ; ) {
      const quote = this.#source.indexOf('"', at);
      if (quote < 0) return this.#source.length;
      let backslashes = 0;
      while (this.#source[quote - 1 - backslashes] === '\\') backslashes++;
      at = quote + 1;
      if (backslashes % 2 === 0) return at;
    }
  }

  #pass() {
    this.at++;
    this.#space();
  }

  #comma() {
    this.#space();
    if (this.#source[this.at] === ',') this.#pass();
  }

  #space() {
    while (SPACES.has(this.#source[this.at]!)) this.at++;
  }
}

const SPACES = new Set([' ', '\n', '\r', '\t']);
const ENDS = new Set([',', '}', ']', ...SPACES]);
