import type { Tokenizer, Word } from '../../core/tokenizer.ts';
import { invalid } from './document.ts';
import { type Locator, locatorsOf } from './locators.ts';
import type { Extracted, Table } from './marks.ts';

/**
 * A piece of a file's text that search finds as a whole: `text.slice(start, end)`, in UTF-16 units. One that begins in the
 * middle of a table has the first line of that table in front.
 */
export interface Chunk {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Null: the format says nothing about it. */
  readonly locator?: Locator | null;
}

export interface Chunking {
  /** The most tokens of a chunk. */
  readonly chunkTokens: number;
  /** How many of them, at most, it shares with the chunk before. */
  readonly overlapTokens: number;
}

/** As many as the vendor's files may have. */
export const MOST_TOKENS = 5_000_000;

/** A token is at least one byte: a text of so few is one chunk, however a tokenizer divides it. */
export const isOneChunk = ({ text }: Extracted, { chunkTokens }: Chunking): boolean =>
  Buffer.byteLength(text) <= chunkTokens;

/** In the place of a tokenizer, for a text that is one chunk: to load a real one takes most of what reading a short file takes. */
export const BYTES: Tokenizer = {
  count: (text) => Buffer.byteLength(text),
  *words(text) {
    if (text) yield { length: text.length, tokens: Buffer.byteLength(text) };
  },
};

interface Piece {
  readonly start: number;
  readonly end: number;
  readonly tokens: number;
}

/** A table's first line is said again in each chunk, as long as it takes no more of it than this part. */
const MOST_OF_HEADER = 4;

/** Cuts a text into chunks that overlap, between words. Every word is in one of them, and none has too many tokens. */
export function* chunksOf(extracted: Extracted, { chunkTokens, overlapTokens }: Chunking, tokenizer: Tokenizer) {
  const { text, tables } = extracted;
  const locate = locatorsOf(extracted);
  const headers = headersOf(text, tables, chunkTokens, tokenizer);
  let window: Piece[] = [];
  let held = 0;
  let total = 0;
  let isShown = true;
  let header = NO_HEADER;
  for (const piece of piecesOf(text, chunkTokens, tokenizer)) {
    total += piece.tokens;
    if (total > MOST_TOKENS) invalid(`The file has more than ${MOST_TOKENS} tokens.`);
    if (held + piece.tokens + header.tokens > chunkTokens) {
      yield* chunkOf(text, window, header, locate);
      let dropped = 0;
      for (; held > overlapTokens || held + piece.tokens > chunkTokens; dropped++) held -= window[dropped]!.tokens;
      header = headers(window[dropped] ?? piece);
      for (; dropped < window.length && (held + piece.tokens + header.tokens > chunkTokens || isInRow(dropped)); ) {
        held -= window[dropped]!.tokens;
        dropped++;
        header = headers(window[dropped] ?? piece);
      }
      window = window.slice(dropped);
      // Where not even the piece fits behind it, it is left out.
      if (held + piece.tokens + header.tokens > chunkTokens) header = NO_HEADER;
    }
    window.push(piece);
    held += piece.tokens;
    isShown = false;
  }
  if (!isShown) yield* chunkOf(text, window, header, locate);

  /** In a table, a chunk begins with a row where it can. */
  function isInRow(at: number): boolean {
    return header.tokens > 0 && text[window[at]!.start - 1] !== '\n' && text[window[at]!.start] !== '\n';
  }
}

interface Header {
  readonly text: string;
  readonly tokens: number;
}
const NO_HEADER: Header = { text: '', tokens: 0 };

/** What is said in front of a chunk that begins with a piece: nothing, unless that is in a table and behind its first line. */
function headersOf(text: string, tables: readonly Table[], chunkTokens: number, tokenizer: Tokenizer) {
  const known = new Map<Table, Header>();
  let at = 0;
  return ({ start }: Piece): Header => {
    // Chunks come in their order, and so do tables.
    while (at < tables.length && tables[at]!.end <= start) at++;
    const table = tables[at];
    if (!table || start < table.headerEnd) return NO_HEADER;
    const header = known.get(table) ?? headerOf(text, table, chunkTokens, tokenizer);
    known.set(table, header);
    return header;
  };
}

function headerOf(text: string, { start, headerEnd }: Table, chunkTokens: number, tokenizer: Tokenizer): Header {
  const line = text.slice(start, headerEnd);
  // Counted no further than matters.
  if (line.length > chunkTokens * 8) return NO_HEADER;
  const tokens = tokenizer.count(line);
  return tokens * MOST_OF_HEADER <= chunkTokens ? { text: line, tokens } : NO_HEADER;
}

/** Space alone is none. Space around it stays: without it, the first word might have more tokens than were counted. */
function* chunkOf(
  text: string,
  window: readonly Piece[],
  header: Header,
  locate: ReturnType<typeof locatorsOf>,
): Generator<Chunk> {
  const [start, end] = [window[0]!.start, window.at(-1)!.end];
  if (!/\S/.test(text.slice(start, end))) return;
  const locator = locate({ start, end, shift: header.text.length });
  yield { text: header.text + text.slice(start, end), start, end, locator };
}

function* piecesOf(text: string, most: number, tokenizer: Tokenizer): Generator<Piece> {
  let start = 0;
  for (const word of tokenizer.words(text)) {
    for (const { length, tokens } of word.tokens <= most ? [word] : charactersOf(text, start, word, tokenizer)) {
      yield { start, end: start + length, tokens };
      start += length;
    }
  }
}

/** A word of a rare script can have more tokens than a small chunk. */
const charactersOf = (text: string, start: number, { length }: Word, tokenizer: Tokenizer): Word[] =>
  [...text.slice(start, start + length)].map((character) => ({
    length: character.length,
    tokens: tokenizer.count(character),
  }));
