import { includesBytes } from '../core/bytes.ts';

/**
 * Which names may stand in a JSON body. Stages of a call ask for them one after the other, and hardly ever is one there.
 * Searching is much faster than walking; but a body that came a while ago is no longer in the processor's cache, and from
 * memory each search takes twice as long. So all are looked for when the body has just arrived.
 */
export interface BodyWords {
  /** A small letter is written as an escape, so a name may stand there that is not found by searching. */
  readonly escapes: boolean;
  readonly stream: boolean;
  /** What the names of MCP servers and of their tools begin with. */
  readonly mcp: boolean;
}

/** The read part of a body. One that was made anew since it arrived has no words. */
interface Worded {
  readonly head: Uint8Array;
  readonly words?: BodyWords;
}

const ESCAPE = Buffer.from('\\u00');
const SMALL_LETTERS = [Buffer.from('\\u006'), Buffer.from('\\u007')];
const STREAM = Buffer.from('"stream"');
const MCP = Buffer.from('"mcp');

export const wordsIn = (head: Uint8Array): BodyWords => ({
  escapes: escapesLetters(head),
  stream: includesBytes(head, STREAM),
  mcp: includesBytes(head, MCP),
});

export const mayEscapeLetters = ({ head, words }: Worded): boolean => words?.escapes ?? escapesLetters(head);

export const mayNameStream = (body: Worded): boolean =>
  (body.words?.stream ?? includesBytes(body.head, STREAM)) || mayEscapeLetters(body);

export const mayNameMcp = (body: Worded): boolean =>
  (body.words?.mcp ?? includesBytes(body.head, MCP)) || mayEscapeLetters(body);

const escapesLetters = (head: Uint8Array): boolean =>
  includesBytes(head, ESCAPE) && SMALL_LETTERS.some((letter) => includesBytes(head, letter));
