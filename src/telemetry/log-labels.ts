import type { LogRow } from './log-columns.ts';

/**
 * PostgreSQL text can hold neither U+0000 nor half a surrogate pair, and clients choose model names and metadata. Both
 * are spelt as escapes in the JSON that `JSON.stringify` makes.
 */
export const plainText = (json: string): string =>
  json.replace(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f]..)/g, '$1\uFFFD');

/** The metadata of an entry, as it is searched by. */
export const labelsOf = (row: Pick<LogRow, 'metadata'>): [string, string][] =>
  row.metadata === null ? [] : Object.entries(JSON.parse(plainText(row.metadata)) as Record<string, string>);
