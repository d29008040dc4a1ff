/** A direction of length one that depends on the text alone: equal texts are equal, others are nearly at right angles. */
export function embed(text: string, dimensions: number): Float32Array<ArrayBuffer> {
  const vector = new Float32Array(dimensions);
  let state = Number(Bun.hash(text) & 0xffffffffn);
  let squares = 0;
  for (let index = 0; index < dimensions; index += 1) {
    // A Weyl sequence with two rounds of mixing: no library, no clock, the same on every machine.
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    const value = (mixed ^ (mixed >>> 15)) / 2 ** 31;
    vector[index] = value;
    squares += value * value;
  }
  const length = Math.sqrt(squares) || 1;
  return vector.map((value) => value / length);
}
