/** The part of `Headers` that an outgoing request needs; a `Headers` is one, too. */
export interface HeaderMap extends Iterable<[name: string, value: string]> {
  get(name: string): string | null;
  has(name: string): boolean;
  set(name: string, value: string): void;
  delete(name: string): void;
  /** By lower-case name. */
  toJSON(): Record<string, string>;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers as plain data: every look into a `Headers` crosses into native code, and a call takes a dozen of them. */
export class PlainHeaders implements HeaderMap {
  readonly #values: Record<string, string>;

  /** Takes the record over. Its names are in lower case, and proper: they came over HTTP. */
  constructor(values: Record<string, string>) {
    this.#values = values;
  }

  get(name: string): string | null {
    return this.#values[name.toLowerCase()] ?? null;
  }

  has(name: string): boolean {
    return this.#values[name.toLowerCase()] !== undefined;
  }

  set(name: string, value: string): void {
    if (!TOKEN.test(name)) throw new TypeError(`A header cannot be called ${JSON.stringify(name.slice(0, 100))}.`);
    this.#values[name.toLowerCase()] = value.trim();
  }

  delete(name: string): void {
    delete this.#values[name.toLowerCase()];
  }

  toJSON(): Record<string, string> {
    return this.#values;
  }

  [Symbol.iterator](): Iterator<[string, string]> {
    return Object.entries(this.#values)[Symbol.iterator]();
  }
}
