import { normalised } from '../../src/assistants/vector-stores/search/quantised.ts';

/** Numbers that depend on the seed alone. */
function numbersFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A direction that depends on the seed alone, and has nothing to do with that of another seed. */
export function anyDirection(seed: number, dimensions: number): Float32Array {
  const next = numbersFrom(seed);
  return normalised(Float32Array.from({ length: dimensions }, () => next() + next() + next() - 1.5))!;
}

export interface Topics {
  readonly dimensions: number;
  /** The vector of a chunk of a file: all have something in common, those of a topic more, those of a file most. */
  chunk(file: number, number: number): Float32Array;
  /** The vector of a question that a chunk answers. */
  question(file: number, number: number): Float32Array;
}

const TOPICS = 500;

/**
 * Vectors as texts have them. Directions by chance would be no measure: they are all equally far from each other, so that which of them
 * is nearest says nothing.
 */
export function topicsOf(dimensions: number): Topics {
  const common = anyDirection(1, dimensions);
  const topics = Array.from({ length: TOPICS }, (_, topic) => anyDirection(1_000 + topic, dimensions));
  const known = new Map<number, Float32Array>();
  const middleOf = (file: number): Float32Array => {
    const own = anyDirection(100_000 + file, dimensions);
    const topic = topics[Math.floor(numbersFrom(file)() * TOPICS)]!;
    return common.map((value, at) => 0.5 * value + 0.5 * topic[at]! + 0.4 * own[at]!);
  };
  const chunk = (file: number, number: number): Float32Array => {
    if (!known.has(file)) known.clear();
    const middle = known.get(file) ?? middleOf(file);
    known.set(file, middle);
    const own = anyDirection(10_000_000 + file * 10_000 + number, dimensions);
    return normalised(middle.map((value, at) => value + 0.75 * own[at]!))!;
  };
  return {
    dimensions,
    chunk,
    question: (file, number) => {
      const own = anyDirection(-1 - file * 10_000 - number, dimensions);
      return normalised(chunk(file, number).map((value, at) => value + 0.9 * own[at]!))!;
    },
  };
}

/** How much of what is nearest was found. */
export const recallOf = (nearest: readonly string[], found: readonly string[]): number => {
  const all = new Set(found);
  return nearest.filter((each) => all.has(each)).length / nearest.length;
};
