import * as z from 'zod';
import { charactersIn, firstCharacters } from './characters.ts';

/** What a caller may write on an object: names and texts. */
export type Metadata = Readonly<Record<string, string>>;

const SHOWN = 80;

export interface MetadataBounds {
  readonly mostPairs: number;
  /** In code points. */
  readonly longestKey: number;
  readonly longestValue: number;
}

/** A text has entries, too: one for each letter. */
export const isObject = (value: unknown): value is Metadata =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** The fault names the pair. No z.record: it would leave out a key named `__proto__` without a word. */
export const metadataWithin = ({ mostPairs, longestKey, longestValue }: MetadataBounds) =>
  z
    .custom<Metadata>()
    .superRefine((value, context) => {
      const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
      if (!isObject(value))
        return void context.addIssue({ code: 'invalid_type', expected: 'object', input: value as unknown });
      const pairs = Object.entries(value as Record<string, unknown>);
      if (pairs.length > mostPairs)
        context.addIssue({ code: 'too_big', origin: 'object', maximum: mostPairs, inclusive: true, input: value });
      for (const [key, text] of pairs) {
        if (charactersIn(key) > longestKey)
          refuse([shortened(key)], `a key has at most ${longestKey} characters, this one has ${charactersIn(key)}`);
        else if (typeof text !== 'string')
          context.addIssue({ code: 'invalid_type', expected: 'string', path: [key], input: text });
        else if (charactersIn(text) > longestValue)
          refuse([key], `a value has at most ${longestValue} characters, this one has ${charactersIn(text)}`);
      }
    })
    .meta({
      type: 'object',
      maxProperties: mostPairs,
      additionalProperties: { type: 'string', maxLength: longestValue },
    });

/** At most 16 pairs, keys of at most 64 and values of at most 512 code points. */
export const metadataRule = metadataWithin({ mostPairs: 16, longestKey: 64, longestValue: 512 });

/** Metadata of a new object: absent and null are none. */
export const newMetadata = metadataRule.nullish().transform((given): Metadata => given ?? {});

/** Metadata after a change: absent leaves it, null clears it, an object replaces all of it. */
export const changedMetadata = (old: Metadata, given: Metadata | null | undefined): Metadata =>
  given === undefined ? old : (given ?? {});

const shortened = (key: string): string => {
  const first = firstCharacters(key, SHOWN);
  return first.length === key.length ? key : `${first}…`;
};
