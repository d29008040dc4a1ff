/** One line of a file, without its end. */
export interface Line {
  /** From 1, empty lines included. */
  readonly number: number;
  /** Where it begins in the file. */
  readonly position: number;
  /** Null: it is longer than is allowed, and was not kept. */
  readonly bytes: Uint8Array | null;
}

const NEW_LINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** The lines of a file as its pieces come in; never more than one line and one piece is in memory. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>, longest: number): AsyncGenerator<Line> {
  let open: Uint8Array[] = [];
  let length = 0;
  let number = 1;
  let position = 0;
  const take = (): Line => {
    const bytes = length > longest ? null : open.length === 1 ? open[0]! : Buffer.concat(open);
    const start = number === 1 && bytes && startsWithMark(bytes) ? BYTE_ORDER_MARK.length : 0;
    const end = bytes?.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes?.length;
    const line = { number, position: position + start, bytes: bytes?.subarray(start, end) ?? null };
    open = [];
    return line;
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let at = piece.indexOf(NEW_LINE); at >= 0; at = piece.indexOf(NEW_LINE, from)) {
      length += at - from;
      if (length <= longest) open.push(piece.subarray(from, at));
      yield take();
      from = at + 1;
      position += length + 1;
      number++;
      length = 0;
    }
    length += piece.length - from;
    if (length > longest) open = [];
    else if (from < piece.length) open.push(piece.subarray(from));
  }
  if (length > 0) yield take();
}

const startsWithMark = (bytes: Uint8Array): boolean => BYTE_ORDER_MARK.every((byte, at) => bytes[at] === byte);
