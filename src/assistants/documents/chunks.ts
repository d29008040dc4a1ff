import type { Tokenizer, Word } from '../../core/tokenizer.ts';
import { invalid } from './document.ts';

/** A piece of a file's text that search finds as a whole: `text.slice(start, end)`, in UTF-16 units. */
export interface Chunk {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export interface Chunking {
  /** The most tokens of a chunk. */
  readonly chunkTokens: number;
  /** How many of them, at most, it shares with the chunk before. */
  readonly overlapTokens: number;
}

/** As many as the vendor's files may have. */
export const MOST_TOKENS = 5_000_000;

interface Piece {
  readonly start: number;
  readonly end: number;
  readonly tokens: number;
}

/** Cuts a text into chunks that overlap, between words. Every word is in one of them, and none has too many tokens. */
export function* chunksOf(text: string, { chunkTokens, overlapTokens }: Chunking, tokenizer: Tokenizer) {
  let window: Piece[] = [];
  let held = 0;
  let total = 0;
  let isShown = true;
  for (const piece of piecesOf(text, chunkTokens, tokenizer)) {
    total += piece.tokens;
    if (total > MOST_TOKENS) invalid(`The file has more than ${MOST_TOKENS} tokens.`);
    if (held + piece.tokens > chunkTokens) {
      yield* chunkOf(text, window);
      let dropped = 0;
      for (; held > overlapTokens || held + piece.tokens > chunkTokens; dropped++) held -= window[dropped]!.tokens;
      window = window.slice(dropped);
    }
    window.push(piece);
    held += piece.tokens;
    isShown = false;
  }
  if (!isShown) yield* chunkOf(text, window);
}

/** Space alone is none. Space around it stays: without it, the first word might have more tokens than were counted. */
function* chunkOf(text: string, window: readonly Piece[]): Generator<Chunk> {
  const [start, end] = [window[0]!.start, window.at(-1)!.end];
  const chunk = { text: text.slice(start, end), start, end };
  if (/\S/.test(chunk.text)) yield chunk;
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
