import { RE2JS } from 're2js';

/** Instructions of a compiled pattern. Patterns that people write have some dozens. */
const LARGEST = 2_048;
const LONGEST = 4_096;
/** Of one look, instructions by characters: the engine takes about a second for so many at its slowest. */
const MOST_STEPS = 1 << 26;

/** Microseconds for one of them. */
export const STEP = 0.015;

/**
 * A pattern of a user, for the engine whose time is linear in the text. It has no look-around and no back-references.
 * What it throws says what the pattern "is": `is not a pattern of the RE2 kind: …`.
 */
export function compilePattern(rule: string, flags = 0): RE2JS {
  if (rule.length > LONGEST) throw new Error(`is longer than ${LONGEST} characters`);
  // Short patterns can become very large ones, and compiling those is what costs.
  if (leastSize(rule) > LARGEST) throw new Error(tooLarge);
  let pattern: RE2JS;
  try {
    pattern = RE2JS.compile(rule, flags);
  } catch (error) {
    throw new Error(`is not a pattern of the RE2 kind: ${(error as Error).message}`);
  }
  if (pattern.programSize() > LARGEST) throw new Error(tooLarge);
  return pattern;
}

const tooLarge = 'is too large a pattern; repeat less with {…}, or give several';

/** Whether a pattern may look at a text of this length without holding up other requests. */
export const isWithinReach = (pattern: RE2JS, text: string): boolean =>
  text.length * pattern.programSize() <= MOST_STEPS;

const GROUP = /\((?:\?(?:P?<\w+>|[a-zA-Z-]*:|[a-zA-Z-]+(?=\))))?/y;
const CLASS = /\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*\]/y;
const ESCAPE = /\\(?:[pPx]\{[^}]*\}|[\s\S])/y;
const TIMES = /\{(\d+)(?:,(\d*))?\}/y;

/** How many instructions a pattern has at least, roughly and at once: what is repeated counts as often. */
function leastSize(rule: string): number {
  const around: number[] = [];
  let size = 0;
  let last = 0;
  const read = (kind: RegExp, at: number) => {
    kind.lastIndex = at;
    return kind.exec(rule);
  };
  for (let at = 0; at < rule.length && size <= LARGEST; ) {
    const letter = rule[at]!;
    const kind = { '(': GROUP, '[': CLASS, '\\': ESCAPE, '{': TIMES }[letter];
    const found = kind ? read(kind, at) : null;
    at += found?.[0].length ?? 1;
    if (found && letter === '{') {
      const times = Math.max(Number(found[1]), Number(found[2] || 0), 1);
      size += last * (times - 1);
      last *= times;
    } else if (found && letter === '(') {
      around.push(size);
      size = 0;
      last = 0;
    } else if (letter === ')') {
      last = size;
      size += around.pop() ?? 0;
    } else if (!'*+?|^$'.includes(letter)) {
      last = 1;
      size++;
    }
  }
  return around.reduce((sum, each) => sum + each, size);
}
