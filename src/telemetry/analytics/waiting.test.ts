import { expect, test } from 'bun:test';
import { seeded } from '../../../test/fuzz.ts';
import { row } from '../../../test/telemetry/log-rows.ts';
import { packWholes, wholesOf } from '../aggregates/wholes.ts';
import { Waiting, type WaitingCell } from './waiting.ts';

const MODELS = ['gpt-4o', 'claude', 'gemini'];
const shown = (cells: readonly WaitingCell[]) =>
  cells
    .map(({ shared: { values }, at, amount: { sums, durations } }) =>
      JSON.stringify([values.model, at, sums, [...durations].sort()]),
    )
    .sort();

test('rows are added up whichever come and go, and what an earlier question saw stays as it was', () => {
  const random = seeded(11);
  const [waiting, seen]: [Waiting, { cells: WaitingCell[]; text: string[] }[]] = [new Waiting(), []];
  let rows: { id: number; facts: string }[] = [];
  for (let id = 1; id <= 60; id++) {
    const entries = Array.from({ length: 1 + random.below(4) }, () =>
      row({
        model: random.pick(MODELS),
        created_at: 1_700_000_000_000 + random.below(3) * 60_000,
        duration_ms: 1 + random.below(9),
      }),
    );
    rows.push({ id, facts: packWholes(wholesOf(entries, [])) });
    if (random.chance(0.1)) rows = rows.slice(random.below(rows.length + 1));
    const known = new Set(waiting.known);
    const cells = waiting.in(rows.map(({ id, facts }) => ({ id, facts: known.has(id) ? null : facts })));
    expect(shown(cells)).toEqual(shown(new Waiting().in(rows)));
    expect(cells.length).toBeLessThanOrEqual(MODELS.length * 3);
    seen.push({ cells, text: shown(cells) });
  }
  for (const { cells, text } of seen) expect(shown(cells)).toEqual(text);
});

test('a row that is neither known nor read is an error, and the next question reads all', () => {
  const waiting = new Waiting();
  expect(() => waiting.in([{ id: 1, facts: null }])).toThrow('was not read');
  expect(waiting.known).toEqual([]);
});
