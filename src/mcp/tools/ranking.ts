import { wordsOf } from '../../core/words.ts';
import { isFiller, isLight, kindred, stemOf } from './everyday-words.ts';

/** A tool as its list defines it. */
export type ToolDefinition = Readonly<Record<string, unknown>>;

interface IndexedTool {
  readonly tool: ToolDefinition;
  /** How much a tool speaks of each word: more where it stands in the name than in the small print. */
  readonly weights: ReadonlyMap<string, number>;
  readonly length: number;
}

const OF_NAME = 2;
const OF_SERVER = 1;
const OF_DESCRIPTION = 1;
const OF_PARAMETERS = 0.4;
/** A word that is not the one asked for, but akin to it. */
const AKIN = 0.5;
const BEGINS_ALIKE = 0.4;
const SHORTEST_BEGINNING = 5;
/** Of a word like `take`, which says little of what is wanted. */
const LIGHT = 0.3;
const MOST_WORDS = 32;
/** Of BM25: how soon more of the same word stops counting, and how much a long text is held against a tool. */
const SATURATION = 1.2;
const LENGTH_MATTERS = 0.5;

const indexed = new WeakMap<ToolDefinition, IndexedTool>();

/**
 * The tools that a query speaks of, best first: by BM25 over their names, descriptions and parameters. What a caller may
 * not use is not among `tools`, and so no trace of it is in the order of the others.
 */
export function rankTools(tools: readonly ToolDefinition[], query: string, most: number): ToolDefinition[] {
  const all = tools.map(indexOf);
  const usual = all.reduce((sum, { length }) => sum + length, 0) / Math.max(all.length, 1);
  const having = new Map<string, number>();
  for (const { weights } of all) for (const word of weights.keys()) having.set(word, (having.get(word) ?? 0) + 1);
  const scores = new Float64Array(all.length);
  for (const word of wordsAsked(query)) {
    const meant = meaningsOf(word, having, all.length);
    for (const [index, { weights, length }] of all.entries()) {
      const room = SATURATION * (1 - LENGTH_MATTERS + LENGTH_MATTERS * (length / usual));
      let best = 0;
      for (const [other, worth] of meant) {
        const weight = weights.get(other);
        if (weight !== undefined) best = Math.max(best, (worth * weight * (SATURATION + 1)) / (weight + room));
      }
      scores[index]! += best;
    }
  }
  return all
    .map(({ tool }, index) => ({ tool, score: scores[index]! }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score || (nameOf(one.tool) < nameOf(other.tool) ? -1 : 1))
    .slice(0, most)
    .map(({ tool }) => tool);
}

const nameOf = ({ name }: ToolDefinition): string => String(name);

/** Words that carry meaning; a query of nothing but fillers is taken as it is. */
function wordsAsked(query: string): string[] {
  const words = wordsOf(query).slice(0, 4 * MOST_WORDS);
  const telling = words.filter((word) => !isFiller(word));
  return [...new Set((telling.length > 0 ? telling : words).map(stemOf))].slice(0, MOST_WORDS);
}

/** The word itself and those akin to it, as far as any tool has them, and what each is worth: the more, the rarer. */
function meaningsOf(word: string, having: ReadonlyMap<string, number>, all: number): [string, number][] {
  const meant: [string, number][] = [];
  const add = (other: string, worth: number) => {
    const count = having.get(other);
    if (count !== undefined) meant.push([other, worth * Math.log(1 + (all - count + 0.5) / (count + 0.5))]);
  };
  add(word, isLight(word) ? LIGHT : 1);
  for (const other of kindred(word)) add(other, AKIN);
  if (word.length >= SHORTEST_BEGINNING)
    for (const other of having.keys()) if (other !== word && beginAlike(word, other)) add(other, BEGINS_ALIKE);
  return meant;
}

/** `notify` and `notification`. */
const beginAlike = (one: string, other: string): boolean =>
  other.length >= SHORTEST_BEGINNING && (other.startsWith(one) || one.startsWith(other));

function indexOf(tool: ToolDefinition): IndexedTool {
  const known = indexed.get(tool);
  if (known) return known;
  const weights = new Map<string, number>();
  let length = 0;
  const add = (text: unknown, weight: number) => {
    for (const stem of stemsIn(text)) {
      weights.set(stem, (weights.get(stem) ?? 0) + weight);
      length += weight;
    }
  };
  const [server = '', ...own] = nameOf(tool).split('__');
  if (own.length > 0) add(server, OF_SERVER);
  add(own.length > 0 ? own.join(' ') : server, OF_NAME);
  add(tool.title, OF_NAME);
  add(tool.description, OF_DESCRIPTION);
  // Each word once: schemas repeat themselves, and what they say more often is not meant more.
  for (const stem of new Set(parametersOf(tool).flat().flatMap(stemsIn)))
    if (!weights.has(stem)) weights.set(stem, OF_PARAMETERS);
  const made = { tool, weights, length };
  indexed.set(tool, made);
  return made;
}

const stemsIn = (text: unknown): string[] =>
  typeof text === 'string'
    ? wordsOf(text)
        .filter((word) => !isFiller(word))
        .map(stemOf)
    : [];

const isObject = (value: unknown): value is ToolDefinition => value !== null && typeof value === 'object';
const MOST_PARAMETERS = 100;

function parametersOf({ inputSchema }: ToolDefinition): [string, unknown][] {
  const properties = isObject(inputSchema) && isObject(inputSchema.properties) ? inputSchema.properties : {};
  return Object.entries(properties)
    .slice(0, MOST_PARAMETERS)
    .map(([name, schema]) => [name, isObject(schema) ? schema.description : null]);
}
