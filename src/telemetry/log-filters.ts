import * as z from 'zod';
import { fail } from '../core/errors.ts';
import { integerInQuery } from '../core/list.ts';
import { momentOf } from '../core/moments.ts';
import { type AnyTerm, FilterFault, termsIn } from './filter/language.ts';
import type { LogFilter, LogReach } from './log-query.ts';

/** How the query of a route says which entries are meant. */

const EPOCH = /^\d{9,16}$/;
/** Numbers of this size are milliseconds already; in seconds they would lie beyond the year 5000. */
const MILLISECONDS_FROM = 1e11;

/** Milliseconds since the epoch; NaN when it is no time. */
export function timeOf(text: string): number {
  if (EPOCH.test(text)) return Number(text) >= MILLISECONDS_FROM ? Number(text) : Number(text) * 1000;
  return momentOf(text);
}

/** No text in the store holds U+0000, and PostgreSQL refuses the question. */
export const word = () =>
  z
    .string()
    .min(1)
    .max(1000)
    .refine((text) => !text.includes('\0'), 'must not contain U+0000');
export const TIME_FORM = 'must be ISO 8601 or seconds or milliseconds since the epoch';
export const time = () => word().refine((text) => !Number.isNaN(timeOf(text)), TIME_FORM);

export const filterFields = () => ({
  status: integerInQuery(100, 599).optional(),
  failed_by: z.enum(['gateway', 'provider', 'client']).optional(),
  provider: word().optional(),
  model: word().optional(),
  virtual_key: word().optional(),
  api_key_id: word().optional(),
  user_id: word().optional(),
  trace_id: word().optional(),
  session_id: word().optional(),
  path: word().optional().describe('The beginning of the path.'),
  is_stream: z.enum(['true', 'false']).optional(),
});

/** Its language says how long it may be, and where it is wrong. */
export const filterText = () =>
  z
    .string()
    .min(1)
    .refine((text) => !text.includes('\0'), 'must not contain U+0000')
    .optional()
    .describe('A filter as text, such as status:>=500 model:gpt* cost:>0.1 meta.team:search "refund".');

/** What is asked in the language of filters. A fault names its place. */
export function termsOf(text: string | undefined, searches = false): readonly AnyTerm[] {
  try {
    return text === undefined ? [] : termsIn(text, { searches });
  } catch (error) {
    if (!(error instanceof FilterFault)) throw error;
    return fail('invalid_request', 'filter', `at character ${error.position}: ${error.message}`);
  }
}

const METADATA = 'metadata.';

/** A query of these fields, and of metadata by any key. */
export const queryWithMetadata = <Fields extends z.ZodRawShape>(fields: Fields) =>
  z
    .object(fields)
    .catchall(word())
    .superRefine((query, context) => {
      const isKnown = (name: string) =>
        Object.hasOwn(fields, name) || (name.startsWith(METADATA) && name.length > METADATA.length);
      const keys = Object.keys(query).filter((name) => !isKnown(name));
      if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: query });
    })
    .describe('Besides these, metadata.<key>=<value> selects by metadata.');

export const metadataIn = (query: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(query)
      .filter(([name]) => name.startsWith(METADATA))
      .map(([name, value]) => [name.slice(METADATA.length), String(value)]),
  );

type Filters = z.output<z.ZodObject<ReturnType<typeof filterFields>>>;

export const filterOf = (query: Filters & Readonly<Record<string, unknown>>): Omit<LogFilter, keyof LogReach> => ({
  ...(query.is_stream !== undefined && { isStream: query.is_stream === 'true' }),
  status: query.status,
  failedBy: query.failed_by,
  provider: query.provider,
  model: query.model,
  virtualKey: query.virtual_key,
  apiKeyId: query.api_key_id,
  userId: query.user_id,
  traceId: query.trace_id,
  sessionId: query.session_id,
  pathPrefix: query.path,
  metadata: metadataIn(query),
});
