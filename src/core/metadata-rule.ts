import { z } from 'zod';

/** What a caller may write on an object: names and texts. */
export type Metadata = Readonly<Record<string, string>>;

const MOST_PAIRS = 16;
const LONGEST_KEY = 64;
const LONGEST_VALUE = 512;
const SHOWN = 80;

const isObject = (value: unknown): value is Metadata =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const lengthOf = (text: string): number => [...text].length;

/**
 * At most 16 pairs, keys of at most 64 and values of at most 512 code points; the fault names the pair. No z.record: it
 * would leave out a key named `__proto__` without a word.
 */
export const metadataRule = z
  .custom<Metadata>()
  .superRefine((value, context) => {
    const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (!isObject(value))
      return void context.addIssue({ code: 'invalid_type', expected: 'object', input: value as unknown });
    const pairs = Object.entries(value as Record<string, unknown>);
    if (pairs.length > MOST_PAIRS)
      context.addIssue({ code: 'too_big', origin: 'object', maximum: MOST_PAIRS, inclusive: true, input: value });
    for (const [key, text] of pairs) {
      if (lengthOf(key) > LONGEST_KEY)
        refuse([shortened(key)], `a key has at most ${LONGEST_KEY} characters, this one has ${lengthOf(key)}`);
      else if (typeof text !== 'string')
        context.addIssue({ code: 'invalid_type', expected: 'string', path: [key], input: text });
      else if (lengthOf(text) > LONGEST_VALUE)
        refuse([key], `a value has at most ${LONGEST_VALUE} characters, this one has ${lengthOf(text)}`);
    }
  })
  .meta({
    type: 'object',
    maxProperties: MOST_PAIRS,
    additionalProperties: { type: 'string', maxLength: LONGEST_VALUE },
  });

/** Metadata of a new object: absent and null are none. */
export const newMetadata = metadataRule.nullish().transform((given): Metadata => given ?? {});

/** Metadata after a change: absent leaves it, null clears it, an object replaces all of it. */
export const changedMetadata = (old: Metadata, given: Metadata | null | undefined): Metadata =>
  given === undefined ? old : (given ?? {});

const shortened = (key: string): string => {
  const characters = [...key];
  return characters.length <= SHOWN ? key : `${characters.slice(0, SHOWN).join('')}…`;
};
