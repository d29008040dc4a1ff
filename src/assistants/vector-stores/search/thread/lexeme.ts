import { scopeWord } from '../words.ts';

/** Between a store and a word: a character of no script, which the index takes for part of the word. */
const BETWEEN = '\uE000';

/** A word of one store, as the embedded index has it: so each store has lists, and counts, of its own. */
export const lexeme = (storeId: string, word: string): string => `${scopeWord(storeId)}${BETWEEN}${word}`;
