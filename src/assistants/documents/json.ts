const STRING = /"(?:[^"\\\n]|\\.)*"/g;

/** JSON whose texts are as people read them: a line break in one is a line break, and no letter n in front of the next word. */
export const withoutEscapes = (text: string): string =>
  text.replace(STRING, (string) => (string.includes('\\') ? `"${spokenOf(string)}"` : string));

function spokenOf(string: string): string {
  try {
    return JSON.parse(string) as string;
  } catch {
    return string.slice(1, -1);
  }
}
