import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { entryOf, newId } from '../../../test/limits/reservations.ts';
import { type Hold, HoldJournal } from './hold-journal.ts';
import { recordOf } from './journal.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-hold-journal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const NEVER = Number.POSITIVE_INFINITY;

function holdOf(amount: number, more: Partial<Hold['estimate']> = {}, tokensUntil = 2_000): Hold {
  const charges = [
    { counter: 'requests@0', amount: 1, endsAt: 1_000 },
    { counter: 'tokens', amount, endsAt: tokensUntil },
  ];
  return { estimate: entryOf(newId(), more), charges, endsAt: 500 + amount };
}

const left = () => [...new HoldJournal(folder).read().values()];
const written = () => readdirSync(folder).reduce((size, name) => size + readFileSync(join(folder, name)).byteLength, 0);

test('holds are read as they were written, alike or not', () => {
  const journal = new HoldJournal(folder);
  const holds = [
    holdOf(10),
    holdOf(20),
    holdOf(30, { model: 'another "model" ✓' }),
    holdOf(40, { input_tokens: null, output_tokens: 0, cost: null, at: 7 }),
    holdOf(50, { virtual_key: null }),
    holdOf(60, { provider: 'azure' }),
    holdOf(70, { workspace_id: 'another' }),
    holdOf(80, { api_key_id: 'another' }),
    holdOf(90, { api_key_id: 'another', organisation_id: 'another' }),
    holdOf(100, {}, NEVER),
    holdOf(110),
    { ...holdOf(120), charges: [] },
    ...Array.from({ length: 30 }, (_, index) => holdOf(index, { model: `model ${index % 12}` })),
  ];
  for (const hold of holds) journal.append(hold);
  journal.finish();

  expect(left()).toEqual(holds);
});

test('a hold that is like an earlier one takes a fraction of the bytes', () => {
  const journal = new HoldJournal(folder);
  journal.append(holdOf(1));
  const first = written();
  for (let index = 0; index < 10; index++) journal.append(holdOf(index));

  expect(written()).toBeLessThan(first * 5);
});

test('a hold does not point at one of a former segment', () => {
  const journal = new HoldJournal(folder);
  const [ended, open, next, last] = [holdOf(1), holdOf(2), holdOf(3), holdOf(4)];
  journal.append(ended);
  journal.append(open);
  journal.startWith([open]);
  journal.append(next);
  expect(readdirSync(folder)).toHaveLength(1);
  expect(left()).toEqual([open, next]);
  journal.finish();
  journal.append(last);
  journal.finish();

  expect(left()).toEqual([open, next, last]);
});

test('a hold goes with the one it points at when the power took that, and takes no other', () => {
  const journal = new HoldJournal(folder);
  const other = { model: 'another' };
  const [lost, another, pointing, alike] = [holdOf(1), holdOf(2, other), holdOf(3), holdOf(4, other)];
  for (const hold of [lost, another, pointing, alike]) journal.append(hold);
  journal.finish();
  const file = join(folder, readdirSync(folder)[0]!);
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0, 0, bytes.indexOf('\n')));

  expect(left()).toEqual([another, alike]);
});

test('a journal is long after 1 MiB, and with many open holds after as many again', () => {
  const journal = new HoldJournal(folder);
  const appendUntilLong = () => {
    const holds: Hold[] = [];
    while (!journal.isLong) {
      const hold = holdOf(holds.length, { model: `${holds.length} is a long name ${'x'.repeat(8_000)}` });
      holds.push(hold);
      journal.append(hold);
    }
    return holds;
  };
  const open = appendUntilLong();
  expect(written()).toBeGreaterThan(1 << 20);
  journal.startWith(open);
  const begun = written();
  const more = appendUntilLong();

  expect(begun).toBeGreaterThan(1 << 20);
  expect(written()).toBeGreaterThan(2 * begun);
  expect(left()).toEqual([...open, ...more]);
});

test('what an earlier version wrote is read', () => {
  const { estimate, endsAt } = holdOf(5);
  const charges = [
    ['requests@0', 1, 1_000],
    ['tokens', 5, null],
  ];
  writeFileSync(join(folder, '000000000001-4711.journal'), recordOf({ estimate, charges, endsAt }));

  expect(left()).toEqual([
    {
      estimate,
      charges: [
        { counter: 'requests@0', amount: 1, endsAt: 1_000 },
        { counter: 'tokens', amount: 5, endsAt: NEVER },
      ],
      endsAt,
    },
  ]);
});
