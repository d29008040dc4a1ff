import * as z from 'zod';
import { fail } from '../../core/errors.ts';
import { integerInQuery } from '../../core/list.ts';
import type { Checked } from '../../core/schema.ts';
import { jsonText } from '../../http/reply.ts';
import type { Call, CallAt, Route } from '../../http/route.ts';
import type { Store } from '../../storage/store.ts';
import { workspaceAsked } from '../../storage/workspace-lookup.ts';
import { time, timeOf, word } from '../log-filters.ts';
import type { RequestLog } from '../request-log.ts';
import { type ShownSession, sessionPosition } from './reading.ts';

const workspace = () =>
  word()
    .optional()
    .describe('Id or slug; of a deleted workspace the id. Keys that act on one workspace see their own.');

const sessionsQuery = () =>
  z.strictObject({
    workspace_id: workspace(),
    start_time: time().optional().describe('Sessions whose last call came from this moment on: ISO 8601 or epoch.'),
    end_time: time().optional().describe('Sessions whose last call came before this moment: ISO 8601 or epoch.'),
    limit: integerInQuery(1, 1000).default(100),
    after: word()
      .refine((cursor) => sessionPosition(cursor) !== null, 'must be the next_cursor of an earlier page')
      .optional()
      .describe('The next_cursor of the page before.'),
  });

const sessionQuery = () => z.strictObject({ workspace_id: workspace() });

const session = () =>
  z.object({
    object: z.literal('log_session'),
    id: z.string(),
    workspace_id: z.string(),
    first_call_at: z.number().describe('When the first call came, in milliseconds since the epoch.'),
    last_call_at: z.number().describe('When the last call came.'),
    ended_at: z.number().describe('When the last answer had ended.'),
    duration_ms: z.number().describe('From the first call to the end of the last answer.'),
    calls: z.number(),
    errors: z.number().describe('Calls that failed.'),
    unpriced_calls: z.number().describe('Calls that took tokens at a price that is not known.'),
    input_tokens: z.number(),
    output_tokens: z.number(),
    total_tokens: z.number(),
    cached_tokens: z.number(),
    reasoning_tokens: z.number(),
    cost: z.number().describe('US dollars, to the billionth of each call.'),
    model_count: z.number(),
    models: z
      .array(z.object({ model: z.string(), calls: z.number(), cost: z.number() }))
      .describe('The one with most calls first; at most 100.'),
  });

const sessionPage = () =>
  z.object({
    object: z.literal('list'),
    data: z.array(session()).describe('The one with the newest call first.'),
    has_more: z.boolean(),
    next_cursor: z.string().optional().describe('Send it as after to get the next page.'),
  });

export interface SessionDeps {
  readonly log: RequestLog;
  readonly store: Store;
}

export const logSessionRoutes = ({ log, store }: SessionDeps): Route[] => [
  {
    method: 'GET',
    path: '/v1/log-sessions',
    scopes: ['logs.list'],
    summary: 'Sessions of the request log with their sums, newest first',
    query: sessionsQuery,
    response: sessionPage,
    handle: async ({ principal, query }: Call<Checked<typeof sessionsQuery>>) => {
      const { start_time, end_time, after } = query;
      return jsonText(
        await log.sessions({
          organisationId: principal.organisationId,
          workspaceId: await workspaceAsked(store.db, principal, query.workspace_id),
          limit: query.limit,
          ...(start_time !== undefined && { startTime: timeOf(start_time) }),
          ...(end_time !== undefined && { endTime: timeOf(end_time) }),
          ...(after !== undefined && { after: sessionPosition(after)! }),
        }),
      );
    },
  },
  {
    method: 'GET',
    path: '/v1/log-sessions/:id',
    scopes: ['logs.read'],
    summary: 'One session of the request log with its sums',
    query: sessionQuery,
    response: session,
    handle: async ({ principal, query, params: { id } }: CallAt<'id', Checked<typeof sessionQuery>>) => {
      const workspaceId = await workspaceAsked(store.db, principal, query.workspace_id);
      const reach = { organisationId: principal.organisationId, workspaceId };
      const found = id.includes('\0') ? [] : (JSON.parse(await log.session(reach, id)) as ShownSession[]);
      if (found.length > 1)
        fail('invalid_request', 'workspace_id', `is needed: ${found.length} workspaces have a session of this id`);
      return found[0] ?? fail('log_session_not_found', id);
    },
  },
];
