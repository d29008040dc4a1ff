import { describe, expect, test } from 'bun:test';
import { extract } from '../../src/assistants/documents/extract-text.ts';
import { seeded } from '../fuzz.ts';
import { corpus } from './corpus.ts';
import { brokenRows, countedWords, gluedNumbers, textsIn } from './extraction.ts';
import { type Content, FORMAT_NAMES, FORMATS, type FormatName, type Rows } from './formats.ts';
import { extractions } from './measure.ts';

const isTable = (name: FormatName) => 'isTable' in FORMATS[name];

test('of every format, at least 99 % of the words that were written are read, and every row of a table is a line', async () => {
  const { documents } = corpus({ languages: ['deu', 'fra', 'rus', 'arb', 'jpn'] });
  const all = await extractions(documents);
  expect(new Set(all.map(({ format }) => format)).size).toBe(FORMAT_NAMES.length);
  const poor = all.filter(({ words, found, glued, broken }) => found < words * 0.99 || glued > 0 || broken > 0);
  expect(poor).toEqual([]);
}, 120_000);

/** Numbers as tables have them: of any length, with separators, negative, and empty cells between them. */
function randomTable(random: ReturnType<typeof seeded>): Rows {
  const columns = 2 + random.below(5);
  const number = () => {
    const digits = String(random.below(10 ** (1 + random.below(6))));
    return random.pick([
      digits,
      `${digits}.${10 + random.below(89)}`,
      `${1 + random.below(99)},${100 + random.below(899)}`,
    ]);
  };
  const names = ['north', 'south', 'east', 'west', 'total', 'rain'];
  return [
    names.slice(0, columns),
    ...Array.from({ length: 3 + random.below(12) }, () => Array.from({ length: columns }, number)),
  ];
}

describe('numbers of generated tables', () => {
  for (const name of FORMAT_NAMES) {
    test(`are never glued together in ${name}, and stand in their rows`, async () => {
      const random = seeded(FORMAT_NAMES.indexOf(name) + 1);
      for (let round = 0; round < 40; round++) {
        const rows = randomTable(random);
        const content: Content = { title: 'Figures', blocks: [{ text: 'What was counted.' }, { rows }] };
        const { text } = await extract(`a.${FORMATS[name].extension}`, FORMATS[name].write(content));
        const written = textsIn(content, isTable(name));
        const mail = name === 'eml' ? ['2026-11-16T10:00:00.000Z'] : [];
        expect(gluedNumbers([...written, ...mail], text)).toEqual([]);
        const held = countedWords(text).filter((word) => /\p{N}/u.test(word));
        for (const each of rows.flat().flatMap(countedWords)) if (/\p{N}/u.test(each)) expect(held).toContain(each);
        if (name !== 'json') expect(brokenRows(content, text)).toBe(0);
      }
    }, 60_000);
  }
});

describe('a page that is drawn in another order than it is read in', () => {
  const text = (name: string) => Array.from({ length: 60 }, (_, number) => `${name}${number}`).join(' ');

  test('is read column by column, and a title above both of them first', async () => {
    const content: Content = { title: 'Of two columns', blocks: [{ text: text('alpha') }, { text: text('omega') }] };
    const read = (await extract('a.pdf', FORMATS['pdf, two columns'].write(content))).text;
    expect(countedWords(read)).toEqual(countedWords(`Of two columns ${text('alpha')} ${text('omega')}`));
  });

  test('has a table whose cells are in their rows, though it was drawn column by column', async () => {
    const rows = [
      ['Product', 'March', 'April'],
      ['Umbrellas', '120', '340'],
      ['Boots', '5', '66'],
    ];
    const { text: read, tables } = await extract(
      'a.pdf',
      FORMATS['pdf, words placed'].write({ title: 'Sales', blocks: [{ rows }] }),
    );
    expect(read).toBe('Sales\n\nProduct\tMarch\tApril\nUmbrellas\t120\t340\nBoots\t5\t66');
    expect(tables).toHaveLength(1);
  });
});
