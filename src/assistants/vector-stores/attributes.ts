import * as z from 'zod';
import { charactersIn } from '../../core/characters.ts';
import type { Attributes } from './chunk-index.ts';

const MOST_PAIRS = 16;
const LONGEST_KEY = 64;
const LONGEST_VALUE = 512;

/**
 * At most 16 pairs, keys of at most 64 characters, values that are texts of at most 512, numbers or booleans; the fault
 * names the pair. No z.record: it would leave out a key named `__proto__` without a word.
 */
export const attributesRule = () =>
  z
    .custom<Attributes>()
    .superRefine((value, context) => {
      const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
      if (value === null || typeof value !== 'object' || Array.isArray(value))
        return void context.addIssue({ code: 'invalid_type', expected: 'object', input: value as unknown });
      const pairs = Object.entries(value as Record<string, unknown>);
      if (pairs.length > MOST_PAIRS)
        context.addIssue({ code: 'too_big', origin: 'object', maximum: MOST_PAIRS, inclusive: true, input: value });
      for (const [key, member] of pairs) {
        // Filters compare attributes in the database, and PostgreSQL takes none of these.
        const text = typeof member === 'string' ? key + member : key;
        if (!text.isWellFormed()) refuse([key.toWellFormed()], 'it holds half a character');
        else if (member === Number.POSITIVE_INFINITY || member === Number.NEGATIVE_INFINITY)
          refuse([key], 'a number is no larger than 1.7976931348623157e308');
        else if (charactersIn(key) > LONGEST_KEY)
          refuse([`${key.slice(0, LONGEST_KEY)}…`], `a key has at most ${LONGEST_KEY} characters`);
        else if (typeof member === 'string' && charactersIn(member) > LONGEST_VALUE)
          refuse([key], `a text has at most ${LONGEST_VALUE} characters, this one has ${charactersIn(member)}`);
        else if (!['string', 'number', 'boolean'].includes(typeof member))
          refuse([key], 'a value is a text, a number or a boolean');
      }
    })
    .meta({
      type: 'object',
      maxProperties: MOST_PAIRS,
      additionalProperties: { type: ['string', 'number', 'boolean'] },
    });
