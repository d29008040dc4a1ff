import { expect, test } from 'bun:test';
import { showBar } from './progress.ts';

function shown(isTTY: boolean, total: number, steps: number[]): string {
  let text = '';
  const write = (piece: string | Uint8Array) => {
    text += piece;
    return true;
  };
  const progress = showBar({ what: 'things', total, out: { write, isTTY } as never });
  for (const step of steps) progress.add(step);
  progress.end();
  return text;
}

test('a terminal gets a bar that is drawn anew, and one line in the end', () => {
  const text = shown(true, 4, [1, 1, 2]);
  expect(text.split('\r').slice(1)).toEqual([
    '[..............................] 0 %, 0 of 4 things',
    '[#######.......................] 25 %, 1 of 4 things',
    '[###############...............] 50 %, 2 of 4 things',
    '[##############################] 100 %, 4 of 4 things\n',
  ]);
});

test('a log gets a line for each tenth and no more', () => {
  expect(shown(false, 1_000, Array(1_000).fill(1)).split('\n')).toHaveLength(11);
  expect(shown(false, 3, [3])).toBe('100 %, 3 of 3 things\n');
  expect(shown(false, 0, [])).toBe('100 %, 0 of 0 things\n');
});
