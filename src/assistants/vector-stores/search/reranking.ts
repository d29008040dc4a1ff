import * as z from 'zod';
import { schemaOf } from '../../../core/schema.ts';
import type { AskedFor, Served, ServedModel } from './served-model.ts';

/** Orders passages by how well they answer, by a model that reads both. */
export type Rerank = (
  asked: AskedFor & { readonly queries: readonly string[]; readonly texts: readonly string[] },
) => Promise<Served<readonly Ranked[]>>;

export interface Ranked {
  /** Of the text that was given. */
  readonly index: number;
  /** From 0 to 1. */
  readonly score: number;
}

/** So many of the best passages are shown to the model. */
export const MOST_RANKED = 50;
/** Of each of them: models that rank read no more than some thousand tokens. */
const LONGEST_TEXT = 8_000;
const LONGEST_QUERY = 4_000;

const answerSchema = () =>
  z.object({ results: z.array(z.object({ index: z.int().min(0), relevance_score: z.number() })) });

export const createRerank =
  (ask: ServedModel): Rerank =>
  ({ queries, texts, ...asked }) =>
    ask(asked, {
      path: '/rerank',
      // Wordings of one question are one question.
      body: {
        query: queries.join('\n').slice(0, LONGEST_QUERY).toWellFormed(),
        documents: texts.map((text) => text.slice(0, LONGEST_TEXT).toWellFormed()),
        top_n: texts.length,
      },
      read: (answer) => rankedIn(answer, texts.length),
    });

/** Best first, each text once; null: the model has left some out, or has named others. Some models rank by numbers below 0 or above 1. */
function rankedIn(answer: unknown, count: number): readonly Ranked[] | null {
  const results = schemaOf(answerSchema).safeParse(answer).data?.results ?? [];
  const named = new Set(results.map(({ index }) => index));
  if (results.length !== count || named.size !== count || results.some(({ index }) => index >= count)) return null;
  return results
    .toSorted((one, other) => other.relevance_score - one.relevance_score)
    .map(({ index, relevance_score }) => ({ index, score: Math.min(1, Math.max(0, relevance_score)) }));
}
