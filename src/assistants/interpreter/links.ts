import type { Mark } from '../runs/annotations.ts';
import type { WrittenCell } from './cells.ts';

/** As models write where a file lies that they have made. */
export const LINK = 'sandbox:/mnt/data/';

/** A file below the working folder, as models may link to it. */
export const spellings = (path: string): string[] => [...new Set([path, encodeURI(path)])].map((each) => LINK + each);

/** What may follow a link: nothing that would make it the link of another file. */
const BEHIND = '(?=[^\\w/%~.-]|\\.\\W)';
/** Of a thread that makes more files, older ones are not linked any more. */
const MOST_LINKS = 1_000;

/** Links to files that the code of a thread has made become annotations that name the files. */
export function linkMark(cells: readonly Pick<WrittenCell, 'result'>[]): Mark | null {
  const files = new Map<string, string>();
  // Of files that were written again, the last is meant.
  for (const { path, file_id } of cells.flatMap(({ result }) => result.files).slice(-MOST_LINKS))
    for (const spelling of spellings(path)) files.set(spelling, file_id);
  if (files.size === 0) return null;
  const links = [...files.keys()].sort((one, other) => other.length - one.length);
  return {
    first: LINK[0]!,
    whole: new RegExp(`^(?:${links.map(RegExp.escape).join('|')})${BEHIND}`),
    part: new RegExp(`^(?:${beginningsOf(links)})$`),
    meaning: (passage) => ({ type: 'file_path', file_path: { file_id: files.get(passage)! } }),
  };
}

/** Matches whatever could become one of the texts, and each of them before it is known what follows. */
function beginningsOf(texts: readonly string[]): string {
  const byFirst = Map.groupBy(
    texts.filter((text) => text !== ''),
    (text) => text[0]!,
  );
  const longer = [...byFirst].map(
    ([first, group]) => `${unit(first)}(?:${beginningsOf(group.map((text) => text.slice(1)))})?`,
  );
  // A dot may end a sentence or go on with another name.
  return [...longer, ...(texts.includes('') ? ['\\.'] : [])].join('|');
}

const unit = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
