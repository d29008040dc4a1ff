/** The vocabularies that are public and installed. */
export type Encoding = 'o200k_base' | 'cl100k_base';

/** A stretch of a text that is not divided any further, and the tokens that it takes. */
export interface Word {
  /** In UTF-16 units. */
  readonly length: number;
  readonly tokens: number;
}

/**
 * A real tokenizer. It takes half a second to load and 100 MB while it is there, so it belongs into a thread of its own;
 * `createTokens` has one for those who only want to count.
 */
export interface Tokenizer {
  count(text: string): number;
  /** All of the text, word by word, for code that cuts it and must not cut inside a word. */
  words(text: string): Generator<Word>;
}

const loaded = new Map<Encoding, Promise<Tokenizer>>();

export function loadTokenizer(encoding: Encoding): Promise<Tokenizer> {
  let tokenizer = loaded.get(encoding);
  if (!tokenizer) {
    tokenizer = load(encoding);
    loaded.set(encoding, tokenizer);
  }
  return tokenizer;
}

/** What looks like a special token in a user's text is plain text. */
const PLAIN = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };

async function load(encoding: Encoding): Promise<Tokenizer> {
  const { countTokens, encodeGenerator, decode } =
    encoding === 'o200k_base'
      ? await import('gpt-tokenizer/encoding/o200k_base')
      : await import('gpt-tokenizer/encoding/cl100k_base');
  return {
    count(text) {
      let tokens = 0;
      for (const part of withoutLongRuns(text)) tokens += countTokens(part, PLAIN);
      return tokens;
    },
    *words(text) {
      for (const part of withoutLongRuns(text))
        for (const word of encodeGenerator(part, PLAIN)) yield { length: decode(word).length, tokens: word.length };
    },
  };
}

/** Longer than any word people write. */
const LONGEST_RUN = 128;
const RUN = /[\p{L}\p{M}]+|\s+|[^\p{L}\p{M}\s]+/gu;

/**
 * The time that a run of letters, spaces or signs takes grows with the square of its length: 200,000 times `a` took a
 * minute and a half. Cut into pieces, it takes a few tokens more than it would whole, and no time.
 */
function* withoutLongRuns(text: string): Generator<string> {
  let start = 0;
  for (const { 0: run, index } of text.matchAll(RUN)) {
    if (run.length <= LONGEST_RUN) continue;
    for (let at = index; at < index + run.length; at = start) {
      const end = wholeCharacter(text, Math.min(at + LONGEST_RUN, index + run.length));
      yield text.slice(start, end);
      start = end;
    }
  }
  if (start < text.length) yield text.slice(start);
}

/** Not between the two halves of a character. */
function wholeCharacter(text: string, at: number): number {
  const before = text.charCodeAt(at - 1);
  return before >= 0xd800 && before <= 0xdbff && at < text.length ? at + 1 : at;
}
