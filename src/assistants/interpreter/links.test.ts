import { expect, test } from 'bun:test';
import { AnnotatedText } from '../runs/annotations.ts';
import { linkMark } from './links.ts';

const FILES = {
  'out.csv': 'file-1',
  'out.csv.gz': 'file-2',
  'my plot.png': 'file-3',
  'deep/a(1).txt': 'file-4',
  ü: 'file-5',
};
const files = Object.entries(FILES).map(([path, file_id]) => ({ path, file_id }));
const mark = linkMark([{ result: { outputs: [], output: '', files } }])!;

/** The links found in a text that comes in pieces of so many units; the text stays as it is. */
function found(text: string, size: number): string[] {
  const said = new AnnotatedText([mark]);
  for (let at = 0; at < text.length; at += size) said.push(text.slice(at, at + size));
  said.end();
  expect(said.value).toBe(text);
  return said.annotations.map(({ start_index, end_index, file_path, text: passage }) => {
    expect(text.slice(start_index, end_index)).toBe(passage);
    return `${(file_path as { file_id: string }).file_id} ${start_index}`;
  });
}

const TEXTS: readonly (readonly [text: string, links: readonly string[]])[] = [
  ['Here: sandbox:/mnt/data/out.csv', ['file-1 6']],
  ['🎉 [a](sandbox:/mnt/data/out.csv), [b](sandbox:/mnt/data/out.csv.gz).', ['file-1 7', 'file-2 39']],
  ['Read sandbox:/mnt/data/out.csv. Then sandbox:/mnt/data/out.csv!', ['file-1 5', 'file-1 37']],
  ['![p](sandbox:/mnt/data/my plot.png) ![p](sandbox:/mnt/data/my%20plot.png)', ['file-3 5', 'file-3 41']],
  ['[x](sandbox:/mnt/data/deep/a(1).txt)', ['file-4 4']],
  ['sandbox:/mnt/data/ü sandbox:/mnt/data/%C3%BC', ['file-5 0', 'file-5 20']],
  ['sandbox:/mnt/data/out.csvx sandbox:/mnt/data/none.txt sandbox:/mnt/data/ sandbox:/mnt/out.csv sand', []],
  ['sandbox:/mnt/data/out.csv/../../../etc/passwd', []],
  ['', []],
];

test('links to files become annotations wherever they are cut, and the text stays as it is', () => {
  for (const [text, links] of TEXTS)
    for (const size of [1, 2, 3, 7, 1_000]) expect([text, found(text, size)]).toEqual([text, [...links]]);
});

test('of files that were written again the last is meant', () => {
  const again = [files, [{ path: 'out.csv', file_id: 'file-9' }]].map((made) => ({
    result: { outputs: [], output: '', files: made },
  }));

  expect(linkMark(again)!.meaning('sandbox:/mnt/data/out.csv')).toEqual({
    type: 'file_path',
    file_path: { file_id: 'file-9' },
  });
});

test('without files there are no links', () => {
  expect(linkMark([])).toBeNull();
});
