import { markedTable, unmarked } from './marks.ts';

/** A stretch of text on a page, as the parser gives it. */
export interface Run {
  readonly str: string;
  /** Where it stands and how it is turned: the first two numbers lead along the line, the last two are its place. */
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
  readonly hasEOL: boolean;
  readonly dir?: string;
}

/** Of the height of letters: what is further apart than this is two words, two cells or columns, another line, a paragraph. */
const APART = 0.12;
const FAR_APART = 1;
const ANOTHER_LINE = 0.5;
const ANOTHER_PARAGRAPH = 1.9;
/** Letters that are drawn once more this near to themselves are bold, and not said twice. */
const SAME_PLACE = 0.12;

/** Columns of text are as wide as this in letters at the median; cells of tables are shorter. */
const LEAST_COLUMN = 18;
/** So many lines stand side by side in columns, and below each other in a table. */
const LEAST_LINES = 3;

/** A run on a page that is turned so that its lines are level: `left` to `right`, `y` growing upwards. */
interface Placed {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly y: number;
  readonly height: number;
  readonly isLeftward: boolean;
}

/** What stands on one line without much room in it: of a text without columns all of the line, of a table a cell. */
interface Segment {
  readonly text: string;
  readonly left: number;
  readonly right: number;
}

interface Line {
  readonly y: number;
  readonly height: number;
  readonly segments: readonly Segment[];
  readonly isLeftward: boolean;
}

/**
 * The text of a page as people read it: from the top to the bottom and column by column, whatever order it was drawn in. What
 * stands apart is kept apart, so two numbers never become one, and a row of a table is a line with tabs in it.
 */
export function textOfPage(runs: readonly Run[]): string {
  const texts: string[] = [];
  for (const placed of byDirection(runs)) texts.push(blockText(linesIn(placed)));
  return texts.filter(Boolean).join('\n\n');
}

/** What is turned by another angle is no part of the lines of the others, and comes behind them. */
function byDirection(runs: readonly Run[]): Placed[][] {
  const groups = new Map<number, Placed[]>();
  for (const { str, transform, width, height, dir } of runs) {
    if (str.trim() === '') continue;
    const [a = 1, b = 0, , , x = 0, y = 0] = transform;
    const size = Math.hypot(a, b) || 1;
    const [alongX, alongY] = [a / size, b / size];
    const angle = Math.round((Math.atan2(b, a) * 180) / Math.PI / 5) * 5;
    const left = x * alongX + y * alongY;
    const placed: Placed = {
      text: unmarked(str),
      left,
      right: left + Math.abs(width),
      y: y * alongX - x * alongY,
      height: height || size,
      isLeftward: dir === 'rtl',
    };
    const group = groups.get(angle);
    if (group) group.push(placed);
    else groups.set(angle, [placed]);
  }
  return [...groups.values()].sort((one, other) => other.length - one.length);
}

function linesIn(runs: readonly Placed[]): Line[] {
  const lines: Placed[][] = [];
  for (const run of runs.toSorted((one, other) => other.y - one.y)) {
    const line = lines.at(-1);
    const first = line?.[0];
    if (line && first && first.y - run.y <= Math.max(first.height, run.height) * ANOTHER_LINE) line.push(run);
    else lines.push([run]);
  }
  return lines.map(lineOf);
}

function lineOf(runs: readonly Placed[]): Line {
  const letters = runs.reduce((sum, { text, isLeftward }) => sum + (isLeftward ? text.length : -text.length), 0);
  const isLeftward = letters > 0;
  const segments: Segment[] = [];
  const ordered = runs.toSorted((one, other) => (isLeftward ? other.right - one.right : one.left - other.left));
  let open: { text: string; left: number; right: number } | null = null;
  let before: Placed | null = null;
  for (const run of ordered) {
    const height = Math.max(run.height, before?.height ?? 0);
    if (before && before.text === run.text && Math.abs(before.left - run.left) < height * SAME_PLACE) continue;
    const gap: number = !open ? 0 : isLeftward ? open.left - run.right : run.left - open.right;
    if (open && gap <= height * FAR_APART) {
      const isSpaced = /\s$/.test(open.text) || /^\s/.test(run.text);
      open.text += `${!isSpaced && gap > height * APART ? ' ' : ''}${run.text}`;
      open.left = Math.min(open.left, run.left);
      open.right = Math.max(open.right, run.right);
    } else {
      open = { text: run.text, left: run.left, right: run.right };
      segments.push(open);
    }
    before = run;
  }
  const height = Math.max(...runs.map((run) => run.height));
  return { y: runs[0]!.y, height, segments, isLeftward };
}

interface Gap {
  readonly left: number;
  readonly right: number;
}

/** Lines that go on beside each other are read column by column; all others as they stand. */
function blockText(lines: readonly Line[]): string {
  const parts: string[] = [];
  let plain: Line[] = [];
  const endPlain = () => {
    if (plain.length > 0) parts.push(plainText(plain));
    plain = [];
  };
  for (let at = 0; at < lines.length; ) {
    const { end, gap } = besideEachOther(lines, at);
    if (gap && isText(lines.slice(at, end), gap)) {
      endPlain();
      const [first, second] = sidesOf(lines.slice(at, end), gap);
      parts.push(blockText(first), blockText(second));
    } else plain.push(...lines.slice(at, end));
    at = end;
  }
  endPlain();
  return parts.filter(Boolean).join('\n\n');
}

/** How far down a strip goes that no line crosses, from one line on. */
function besideEachOther(lines: readonly Line[], start: number): { end: number; gap: Gap | null } {
  const first = lines[start]!;
  let gaps = gapsIn(first);
  if (gaps.length === 0) return { end: start + 1, gap: null };
  let end = start + 1;
  for (; end < lines.length; end++) {
    const line = lines[end]!;
    const left = gaps.flatMap((gap) => freeOf(gap, line));
    if (left.length === 0) break;
    gaps = left;
  }
  const widest = gaps.reduce((one, other) => (other.right - other.left > one.right - one.left ? other : one));
  return { end, gap: widest };
}

const gapsIn = ({ segments, height }: Line): Gap[] => {
  const ordered = segments.toSorted((one, other) => one.left - other.left);
  return ordered
    .slice(1)
    .map((segment, index) => ({ left: ordered[index]!.right, right: segment.left }))
    .filter(({ left, right }) => right - left > height * FAR_APART);
};

/** What of a strip stays free on a line. */
function freeOf({ left, right }: Gap, { segments, height }: Line): Gap[] {
  let strips: Gap[] = [{ left, right }];
  for (const segment of segments)
    strips = strips.flatMap((strip) =>
      segment.right <= strip.left || segment.left >= strip.right
        ? [strip]
        : [
            { left: strip.left, right: segment.left },
            { left: segment.right, right: strip.right },
          ],
    );
  return strips.filter((strip) => strip.right - strip.left > height * FAR_APART);
}

/** Columns of text, and no table: long lines on both sides, of which each has a part of its own to say. */
function isText(lines: readonly Line[], gap: Gap): boolean {
  return sidesOf(lines, gap).every((side) => {
    if (side.length < LEAST_LINES) return false;
    const lengths = side.map(({ segments }) => segments.reduce((sum, { text }) => sum + lettersIn(text), 0));
    return lengths.toSorted((one, other) => one - other)[Math.floor(lengths.length / 2)]! >= LEAST_COLUMN;
  });
}

const WIDE = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}]/gu;
const lettersIn = (text: string): number => text.length + (text.match(WIDE)?.length ?? 0);

/** What stands on either side of a strip, the side that is read first before the other. */
function sidesOf(lines: readonly Line[], { left, right }: Gap): [first: Line[], second: Line[]] {
  const middle = (left + right) / 2;
  const side = (isOf: (segment: Segment) => boolean): Line[] =>
    lines.flatMap((line) => {
      const segments = line.segments.filter(isOf);
      return segments.length > 0 ? [{ ...line, segments }] : [];
    });
  const [one, other] = [side((segment) => segment.right <= middle), side((segment) => segment.right > middle)];
  return lines.filter(({ isLeftward }) => isLeftward).length * 2 > lines.length ? [other, one] : [one, other];
}

function plainText(lines: readonly Line[]): string {
  let text = '';
  for (let at = 0; at < lines.length; ) {
    const rows = rowsFrom(lines, at);
    const before = lines[at - 1];
    if (before) text = joinedTo(text, before, lines[at]!);
    if (rows >= LEAST_LINES) {
      text += markedTable(
        lines
          .slice(at, at + rows)
          .map(lineText)
          .join('\n'),
      );
      at += rows;
    } else {
      text += lineText(lines[at]!);
      at++;
    }
  }
  return text;
}

const lineText = ({ segments }: Line): string => segments.map(({ text }) => text.trim()).join('\t');

/** How many lines from here on have as many cells as this one, and more than one. */
function rowsFrom(lines: readonly Line[], start: number): number {
  const cells = lines[start]!.segments.length;
  if (cells < 2) return 0;
  let end = start + 1;
  while (end < lines.length && lines[end]!.segments.length === cells) end++;
  return end - start;
}

/** The text with what stands between two of its lines. A word that was broken at the end of a line is whole again. */
function joinedTo(text: string, before: Line, line: Line): string {
  const isParagraph = before.y - line.y > Math.max(before.height, line.height) * ANOTHER_PARAGRAPH;
  const isBroken = !isParagraph && line.segments.length === 1 && /\p{L}[-\u00ad\u2010]$/u.test(text);
  if (isBroken && /^\p{Ll}/u.test(line.segments[0]!.text)) return text.slice(0, -1);
  return `${text}${isParagraph ? '\n\n' : '\n'}`;
}
