import { Malformed } from './received.ts';

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** One field of a message; the member that its wire type has is set. */
export interface Field {
  readonly number: number;
  readonly bytes: Uint8Array;
  /** Of varints and of fixed numbers. */
  readonly bits: bigint;
}

const NOTHING = new Uint8Array();

/** The fields of a message in Protocol Buffers, one after the other. What goes beyond the bytes is refused. */
export function* fieldsIn(bytes: Uint8Array): Generator<Field> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Malformed('a number goes beyond the end');
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new Malformed('a number is longer than ten bytes');
  };
  const within = (size: number): number => {
    if (size > bytes.byteLength - at) throw new Malformed('a field goes beyond the end');
    at += size;
    return at - size;
  };
  while (at < bytes.byteLength) {
    const tag = Number(varint());
    const number = Math.floor(tag / 8);
    if (number === 0) throw new Malformed('a field has the number 0');
    const wire = tag % 8;
    if (wire === VARINT) yield { number, bytes: NOTHING, bits: varint() };
    else if (wire === FIXED64) yield { number, bytes: NOTHING, bits: view.getBigUint64(within(8), true) };
    else if (wire === FIXED32) yield { number, bytes: NOTHING, bits: BigInt(view.getUint32(within(4), true)) };
    else if (wire === BYTES) {
      const size = Number(varint());
      const start = within(size);
      yield { number, bytes: bytes.subarray(start, start + size), bits: 0n };
    } else throw new Malformed(`a field has the wire type ${wire}`);
  }
}

const decoder = new TextDecoder();

export const textOf = (bytes: Uint8Array): string => decoder.decode(bytes);
export const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
export const signedOf = (bits: bigint): number => Number(BigInt.asIntN(64, bits));

const scratch = new DataView(new ArrayBuffer(8));

export function doubleOf(bits: bigint): number {
  scratch.setBigUint64(0, bits, true);
  return scratch.getFloat64(0, true);
}
