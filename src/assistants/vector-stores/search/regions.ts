/** Vector instructions read so many bytes at once, fastest where a multiple of them begins. */
const ALIGNED = 16;

interface Region {
  readonly at: number;
  readonly length: number;
}

/** Where things lie in a memory that grows at its end and is never moved: what is given back is taken again first. */
export class Regions {
  /** In their order, none of them beside another. */
  #free: Region[] = [];
  #end = 0;

  /** How large the memory has to be. */
  get end(): number {
    return this.#end;
  }

  /** The place of so many bytes; null: the memory would become larger than that. */
  take(bytes: number, mostEnd: number): number | null {
    const length = paddedTo(bytes);
    const index = this.#free.findIndex((region) => region.length >= length);
    const found = this.#free[index];
    if (found) {
      const rest = { at: found.at + length, length: found.length - length };
      this.#free.splice(index, 1, ...(rest.length > 0 ? [rest] : []));
      return found.at;
    }
    // What is free at the end becomes part of it.
    const last = this.#free.at(-1);
    const isAtEnd = last !== undefined && last.at + last.length === this.#end;
    const at = isAtEnd ? last.at : this.#end;
    if (at + length > mostEnd) return null;
    if (isAtEnd) this.#free.pop();
    this.#end = at + length;
    return at;
  }

  /** Of a place that was taken for as many bytes. */
  giveBack(at: number, bytes: number): void {
    const length = paddedTo(bytes);
    if (length === 0) return;
    const index = this.#free.findIndex((region) => region.at > at);
    const place = index < 0 ? this.#free.length : index;
    const [before, after] = [this.#free[place - 1], this.#free[place]];
    const joinsBefore = before !== undefined && before.at + before.length === at;
    const joinsAfter = after !== undefined && at + length === after.at;
    const joined = {
      at: joinsBefore ? before.at : at,
      length: length + (joinsBefore ? before.length : 0) + (joinsAfter ? after.length : 0),
    };
    this.#free.splice(joinsBefore ? place - 1 : place, Number(joinsBefore) + Number(joinsAfter), joined);
  }
}

const paddedTo = (bytes: number): number => Math.ceil(bytes / ALIGNED) * ALIGNED;
