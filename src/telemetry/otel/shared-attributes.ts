import { type Attributes, ProtoWriter, writeAttributes } from './encode.ts';

/** Attributes that many spans have in common: put into bytes once. */
export class SharedAttributes {
  readonly list: Attributes;
  #bytes: Uint8Array | null = null;

  constructor(list: Attributes) {
    this.list = list;
  }

  /** All of them as fields of this number, which is always the same. */
  encoded(field: number): Uint8Array {
    if (this.#bytes === null) {
      const writer = new ProtoWriter();
      writeAttributes(writer, field, this.list);
      this.#bytes = writer.take();
    }
    return this.#bytes;
  }
}
