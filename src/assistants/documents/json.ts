import { softened, withoutSoft } from './marks.ts';

const STRING = /"(?:[^"\\\n]|\\.)*"/g;

/**
 * JSON whose texts are as people read them: a line break in one is a line break, and no letter n in front of the next word. It is
 * marked as one that the file does not have.
 */
export const withoutEscapes = (text: string): string =>
  withoutSoft(text).replace(STRING, (string) => (string.includes('\\') ? `"${softened(spokenOf(string))}"` : string));

function spokenOf(string: string): string {
  try {
    return JSON.parse(string) as string;
  } catch {
    return string.slice(1, -1);
  }
}
