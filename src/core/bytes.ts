/**
 * What `Buffer` does, on bytes as they are. A `Buffer` made over them first would make an `ArrayBuffer` visible that is
 * none otherwise: half a microsecond, and something more to collect.
 */

export const includesBytes = (bytes: Uint8Array, wanted: Uint8Array, from = 0): boolean =>
  Buffer.prototype.includes.call(bytes, wanted, from);

/** Where they stand; -1: nowhere. */
export const indexOfBytes = (bytes: Uint8Array, wanted: Uint8Array, from = 0): number =>
  Buffer.prototype.indexOf.call(bytes, wanted, from);

export const textOf = (bytes: Uint8Array, start = 0, end = bytes.byteLength): string =>
  Buffer.prototype.toString.call(bytes, 'utf8', start, end);

/** Plain bytes of their own. `slice` makes what it was given: another `Buffer`, at thrice the price. */
export function copyOf(bytes: Uint8Array, start = 0, end = bytes.byteLength): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(end - start);
  Buffer.prototype.copy.call(bytes, copy, 0, start, end);
  return copy;
}
