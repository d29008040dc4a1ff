import { hash } from 'node:crypto';

const WORDS = 4;
const FIRST_PLACES = 1 << 10;

/**
 * Which ids were seen, by 128 bits of their digests. Fifty thousand ids of any length would be too much to hold, and as
 * many small strings keep the garbage collector busy: they stand in one array, each at the first free place after its own.
 */
export class CustomIds {
  #places = FIRST_PLACES;
  #table = new Uint32Array(FIRST_PLACES * WORDS);
  #count = 0;

  /** Answers whether it is new. */
  add(id: string): boolean {
    const digest = hash('sha256', JSON.stringify(id), 'buffer');
    const words = new Uint32Array(WORDS);
    for (let at = 0; at < WORDS; at++) words[at] = digest.readUInt32LE(at * 4);
    // Zeros mean a free place.
    words[0]! |= 1;
    if (!put(this.#table, words)) return false;
    if (++this.#count * 2 > this.#places) this.#grow();
    return true;
  }

  #grow() {
    this.#places *= 2;
    const table = new Uint32Array(this.#places * WORDS);
    for (let at = 0; at < this.#table.length; at += WORDS)
      if (this.#table[at] !== 0) put(table, this.#table.subarray(at, at + WORDS));
    this.#table = table;
  }
}

/** Answers whether it was not there. The table has as many places as a power of two, and free ones among them. */
function put(table: Uint32Array, words: Uint32Array): boolean {
  for (let at = (words[1]! * WORDS) & (table.length - 1); ; at = (at + WORDS) & (table.length - 1)) {
    if (table[at] === 0) {
      table.set(words, at);
      return true;
    }
    if (words.every((word, index) => table[at + index] === word)) return false;
  }
}
