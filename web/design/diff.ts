export interface DiffLine {
  readonly kind: 'same' | 'gone' | 'new';
  readonly text: string;
}

/** Beyond so many steps two texts have little in common: the rest is shown as gone and new. */
const MOST_STEPS = 600;

/** The lines that differ between two texts, by the shortest way from one to the other (Myers). */
export function diffLines(one: string, other: string): readonly DiffLine[] {
  const before = one.split('\n');
  const after = other.split('\n');
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  )
    tail++;
  const same = (text: string): DiffLine => ({ kind: 'same', text });
  return [
    ...before.slice(0, head).map(same),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
}

function middle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const whole = [
    ...before.map((text): DiffLine => ({ kind: 'gone', text })),
    ...after.map((text): DiffLine => ({ kind: 'new', text })),
  ];
  if (before.length === 0 || after.length === 0) return whole;
  const most = Math.min(before.length + after.length, MOST_STEPS);
  const furthest = new Map<number, number>([[1, 0]]);
  const history: Map<number, number>[] = [];
  for (let steps = 0; steps <= most; steps++) {
    history.push(new Map(furthest));
    for (let line = -steps; line <= steps; line += 2) {
      const isDown = line === -steps || (line !== steps && at(furthest, line - 1) < at(furthest, line + 1));
      let x = isDown ? at(furthest, line + 1) : at(furthest, line - 1) + 1;
      while (x < before.length && x - line < after.length && before[x] === after[x - line]) x++;
      furthest.set(line, x);
      if (x >= before.length && x - line >= after.length) return walked(before, after, history);
    }
  }
  return whole;
}

const at = (furthest: ReadonlyMap<number, number>, line: number): number => furthest.get(line) ?? 0;

function walked(before: readonly string[], after: readonly string[], history: readonly Map<number, number>[]) {
  const lines: DiffLine[] = [];
  let x = before.length;
  let y = after.length;
  for (let steps = history.length - 1; steps >= 0; steps--) {
    const furthest = history[steps]!;
    const line = x - y;
    const isDown = line === -steps || (line !== steps && at(furthest, line - 1) < at(furthest, line + 1));
    const fromLine = isDown ? line + 1 : line - 1;
    const fromX = at(furthest, fromLine);
    const fromY = fromX - fromLine;
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      lines.push({ kind: 'same', text: before[--x]! });
      y--;
    }
    if (steps === 0) break;
    if (isDown) lines.push({ kind: 'new', text: after[--y]! });
    else lines.push({ kind: 'gone', text: before[--x]! });
  }
  return lines.reverse();
}

/** Long stretches without a change are left out, but for a few lines around what changed. `null` stands for what is left out. */
export function folded(lines: readonly DiffLine[], around = 3): readonly (DiffLine | null)[] {
  const isNear = lines.map(() => false);
  for (const [index, { kind }] of lines.entries())
    if (kind !== 'same')
      for (let near = Math.max(0, index - around); near <= Math.min(lines.length - 1, index + around); near++)
        isNear[near] = true;
  const shown: (DiffLine | null)[] = [];
  for (const [index, line] of lines.entries())
    if (isNear[index]) shown.push(line);
    else if (shown.at(-1) !== null) shown.push(null);
  return shown;
}
