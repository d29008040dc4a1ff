const LF = 0x0a;
const CR = 0x0d;
/** An event of this size is none; holding more would let a server fill the memory. */
const MOST_BYTES = 16 << 20;

export class EventTooLarge extends Error {}

/** Cuts a stream of events, which comes in pieces of any size, after each blank line. Put together, it is as it was. */
export class EventCutter {
  readonly #mostBytes: number;
  readonly #skipsLarge: boolean;
  #pieces: Uint8Array[] = [];
  #size = 0;
  #isLineEmpty = true;
  #hasContent = false;
  #lastWasCarriageReturn = false;
  #isSkipping = false;

  constructor({ mostBytes = MOST_BYTES, skipsLarge = false }: { mostBytes?: number; skipsLarge?: boolean } = {}) {
    this.#mostBytes = mostBytes;
    this.#skipsLarge = skipsLarge;
  }

  /** Whether everything so far belongs to events that have ended. */
  get isBetween(): boolean {
    return !this.#hasContent;
  }

  push(piece: Uint8Array): Uint8Array[] {
    const events: Uint8Array[] = [];
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at]!;
      const isSecondHalf = byte === LF && this.#lastWasCarriageReturn;
      this.#lastWasCarriageReturn = byte === CR;
      if (isSecondHalf) continue;
      if (byte !== LF && byte !== CR) {
        this.#isLineEmpty = false;
        this.#hasContent = true;
        continue;
      }
      if (this.#isLineEmpty && this.#hasContent) {
        // Its second half belongs to the same line end, if it is here already.
        const end = byte === CR && piece[at + 1] === LF ? at + 2 : at + 1;
        const event = this.#take(piece.subarray(from, end));
        if (event) events.push(event);
        if (end > at + 1) this.#lastWasCarriageReturn = false;
        from = end;
        at = end - 1;
      }
      this.#isLineEmpty = true;
    }
    if (from < piece.length) this.#keep(piece.subarray(from));
    return events;
  }

  /** What came after the last blank line; null when there is nothing. */
  end(): Uint8Array | null {
    return this.#size > 0 ? this.#take(new Uint8Array()) : null;
  }

  #keep(piece: Uint8Array) {
    this.#size += piece.length;
    if (this.#size > this.#mostBytes && !this.#skipsLarge) throw new EventTooLarge();
    this.#isSkipping ||= this.#size > this.#mostBytes;
    if (this.#isSkipping) {
      this.#pieces = [];
      return;
    }
    // A copy, because the giver of the piece may use its buffer again.
    this.#pieces.push(piece.slice());
  }

  #take(last: Uint8Array): Uint8Array | null {
    const wasSkipped = this.#isSkipping;
    const bytes = this.#pieces.length === 0 ? last.slice() : Buffer.concat([...this.#pieces, last]);
    this.#isSkipping = false;
    this.#pieces = [];
    this.#size = 0;
    this.#hasContent = false;
    return wasSkipped ? null : bytes;
  }
}

const LINE_ENDS = /\r\n|\r|\n/;
const BYTE_ORDER_MARK = '\ufeff';

/** The data of an event; null when it has none. */
export function dataOf(event: Uint8Array): string | null {
  const lines = linesOf(event)
    .filter(isData)
    .map((line) => line.slice('data:'.length).replace(/^ /, ''));
  return lines.length === 0 ? null : lines.join('\n');
}

const linesOf = (event: Uint8Array): string[] => {
  const text = Buffer.from(event.buffer, event.byteOffset, event.byteLength).toString('utf8');
  return (text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text).split(LINE_ENDS);
};

const isData = (line: string): boolean => line === 'data' || line.startsWith('data:');

/** Where some programs, above all those in Python, end a line, though a stream of events does not. */
const OTHER_LINE_ENDS = /[\v\f\x1c-\x1e\x85\u2028\u2029]/;

/** The event without places where clients would read another line than we do: in data they are escaped as in JSON. */
export function plainEvent(event: Uint8Array): Uint8Array {
  const lines = linesOf(event);
  if (!lines.some((line) => OTHER_LINE_ENDS.test(line))) return event;
  const plain = lines.flatMap((line) => {
    if (!OTHER_LINE_ENDS.test(line)) return [line];
    return isData(line) ? [line.replace(new RegExp(OTHER_LINE_ENDS, 'g'), escaped)] : [];
  });
  return Buffer.from(plain.some((line) => line !== '') ? plain.join('\n') : ': withheld\n\n');
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** The event with other data, on one line; all its other lines stay. */
export function withData(event: Uint8Array, data: string): Uint8Array {
  const rest = linesOf(event).filter((line) => line !== '' && !isData(line));
  return Buffer.from(`${[...rest, `data: ${data.replace(/[\r\n]+/g, ' ')}`].join('\n')}\n\n`);
}

/** What stays of an event that may not be seen: its id, so that a client which comes back does not ask for it again. */
export function withoutData(event: Uint8Array): Uint8Array {
  const kept = linesOf(event).filter((line) => /^(?:id|retry)(?::|$)/.test(line));
  return Buffer.from(`${[...kept, ': withheld'].join('\n')}\n\n`);
}
