import type { RunStepRow } from '../../storage/schema.ts';
import type { ContentBlock } from '../messages.ts';
import { type Mark, withoutPassages } from './annotations.ts';
import { exchangesOf } from './step.ts';

/** A piece of a file that a model was shown, and the mark by which it may say that it has something from there. */
export interface Citable {
  readonly marker: string;
  readonly file_id: string;
}

/** In the form that clients of the vendor's API know. */
export const markerOf = (search: number, result: number): string => `【${search}:${result}†source】`;

/** Models change the word behind the dagger; the numbers say what is meant. */
const WHOLE = /^【\s{0,2}(\d{1,6}:\d{1,6})\s{0,2}†[^【】\n]{0,200}】/;
const PART = /^【\s{0,2}(\d{0,6}|\d{1,6}:\d{0,6}\s{0,2}|\d{1,6}:\d{1,6}\s{0,2}†[^【】\n]{0,200})$/;
/** So much of a mark that the text cannot be meant for anything else. */
const STUMP = /^【\s{0,2}\d{1,6}:\d/;
const NUMBERS = /\d+:\d+/;

const numbersOf = (marker: string): string => NUMBERS.exec(marker)?.[0] ?? '';

/** Marks become citations of the files that this run was shown; a mark of something that it was not shown is left out. */
export function citationMark(citables: readonly Citable[]): Mark {
  const files = new Map(citables.map(({ marker, file_id }) => [numbersOf(marker), file_id]));
  return {
    first: '【',
    whole: WHOLE,
    part: PART,
    stump: STUMP,
    meaning: (passage) => {
      const fileId = files.get(numbersOf(passage));
      return fileId === undefined ? null : { type: 'file_citation', file_citation: { file_id: fileId } };
    },
  };
}

/** Blocks without their citations: to another run, their numbers mean something else. */
export const uncited = (blocks: readonly ContentBlock[]): ContentBlock[] =>
  blocks.map((block) => {
    if (block.type !== 'text') return block;
    const { value, annotations } = block.text;
    const citations = annotations.filter(({ type }) => type === 'file_citation');
    return { type: 'text', text: { value: withoutPassages(value, citations), annotations: [] } };
  });

/** What a run was shown so far. */
export const citablesIn = (steps: readonly Pick<RunStepRow, 'exchange'>[]): Citable[] =>
  steps.flatMap(exchangesOf).flatMap(({ citables }) => citables ?? []);
