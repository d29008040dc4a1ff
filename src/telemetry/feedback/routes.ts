import * as z from 'zod';
import { isObject, metadataWithin } from '../../core/metadata-rule.ts';
import { post, put, type Route } from '../../http/route.ts';
import type { Feedback } from './feedback.ts';

const MOST_AT_ONCE = 1_000;

const VALUE = 'give a whole number from -10 to 10';
const WEIGHT = 'give a number from 0 to 1';
const value = () => z.int(VALUE).min(-10, VALUE).max(10, VALUE);
const weight = () => z.number(WEIGHT).min(0, WEIGHT).max(1, WEIGHT);
const TRACE = 'give the x-gateway-trace-id of the answer: 1 to 256 printable ASCII characters';
const traceId = () => z.string(TRACE).regex(/^[\x21-\x7e]{1,256}$/, TRACE);
/** Graphs look into it in the store, and PostgreSQL reads no JSON with U+0000 or half a surrogate pair in it. */
const isText = (text: unknown) => typeof text !== 'string' || (text.isWellFormed() && !text.includes('\0'));
/** Keys and values as x-gateway-metadata has them. */
const metadata = () =>
  metadataWithin({ mostPairs: 64, longestKey: 128, longestValue: 128 }).refine(
    (pairs) => !isObject(pairs) || Object.entries(pairs).flat().every(isText),
    'must not contain U+0000 or half a surrogate pair',
  );

const given = () =>
  z.strictObject({
    trace_id: traceId().describe('As in x-gateway-trace-id. It is not looked up.'),
    value: value().describe('From -10 to 10.'),
    weight: weight().default(1).describe('How much it counts in an average, from 0 to 1.'),
    metadata: metadata()
      .optional()
      .transform((pairs) => pairs ?? {}),
  });
const create = () =>
  z.union([
    given(),
    z.array(given()).min(1, 'give at least one').max(MOST_AT_ONCE, `give at most ${MOST_AT_ONCE} at once`),
  ]);
const change = () =>
  z
    .strictObject({ value: value(), weight: weight(), metadata: metadata() })
    .partial()
    .describe('What is left out stays.');
const answer = () =>
  z.object({
    status: z.literal('success'),
    message: z.string(),
    feedback_ids: z.array(z.uuid()).describe('In the order they were given.'),
  });

const done = (message: string, ids: readonly string[]) => ({ status: 'success', message, feedback_ids: ids });

export const feedbackRoutes = (feedback: Feedback): Route[] => [
  post(
    '/v1/feedback',
    {
      scopes: ['feedbacks.write'],
      summary: 'Rate the answer to a traced request, or several answers at once',
      body: create,
      response: answer,
    },
    async ({ principal, body }) => {
      const ids = await feedback.create(principal, Array.isArray(body) ? body : [body]);
      return done(ids.length === 1 ? 'Feedback was stored.' : `${ids.length} feedbacks were stored.`, ids);
    },
  ),
  put(
    '/v1/feedback/:id',
    { scopes: ['feedbacks.write'], summary: 'Change a rating', body: change, response: answer },
    async ({ principal, params, body }) => {
      await feedback.update(principal, params.id, body);
      return done('Feedback was changed.', [params.id]);
    },
  ),
];
