/** Places where a brace opens something that is no JSON after all; each costs a walk through the text. */
const MOST_FALSE_STARTS = 50;

const FENCE = /```[^\n`]{0,100}\n([\s\S]*?)```/g;

/**
 * The JSON values in a text: the text itself, else what stands in fences, else the objects and lists in its prose.
 * Null when there are too many places to look at, which is not the same as nothing.
 */
export function jsonIn(text: string): unknown[] | null {
  const whole = parsed(text);
  if (whole !== undefined) return [whole];
  const fenced: unknown[] = [];
  for (const [, inside] of text.matchAll(FENCE)) {
    const value = parsed(inside!);
    if (value !== undefined) fenced.push(value);
  }
  return fenced.length > 0 ? fenced : inProse(text);
}

function parsed(text: string): unknown {
  const first = text.trimStart()[0];
  if (first === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function inProse(text: string): unknown[] | null {
  const values: unknown[] = [];
  let falseStarts = 0;
  for (let at = nextOpening(text, 0); at >= 0; ) {
    const end = endOfValue(text, at);
    const value = end < 0 ? undefined : parsed(text.slice(at, end));
    if (value === undefined) {
      if (++falseStarts > MOST_FALSE_STARTS) return null;
      at = nextOpening(text, at + 1);
    } else {
      values.push(value);
      at = nextOpening(text, end);
    }
  }
  return values;
}

const OPENING = /[{[]/g;

function nextOpening(text: string, from: number): number {
  OPENING.lastIndex = from;
  return OPENING.exec(text)?.index ?? -1;
}

/** Behind the bracket that closes the one at `start`; -1 when none does. Brackets in strings do not count. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let isInString = false;
  for (let index = start; index < text.length; index++) {
    const character = text[index];
    if (isInString) {
      if (character === '\\') index++;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === '{' || character === '[') depth++;
    else if ((character === '}' || character === ']') && --depth === 0) return index + 1;
  }
  return -1;
}
