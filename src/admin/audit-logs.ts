import * as z from 'zod';
import type { AuditFilter, AuditReading } from '../audit/reading.ts';
import type { AuditVerification } from '../audit/verification.ts';
import { fail } from '../core/errors.ts';
import { integerInQuery } from '../core/list.ts';
import { isMoment, MOMENT_FORM, momentOf } from '../core/moments.ts';
import type { Principal } from '../core/principal.ts';
import type { Checked } from '../core/schema.ts';
import { get, type Route } from '../http/route.ts';
import type { Store } from '../storage/store.ts';
import { workspaceAsked } from '../storage/workspace-lookup.ts';

const moment = () =>
  z.string({ error: MOMENT_FORM }).refine(isMoment, MOMENT_FORM).describe('ISO 8601; UTC when it names no zone.');
const method = () => z.enum(['POST', 'PUT', 'DELETE']);
const userType = () => z.enum(['user', 'api_key']);

const filter = () =>
  z.strictObject({
    start_time: moment(),
    end_time: moment(),
    organisation_id: z.string({ error: 'give the id of your organisation' }).min(1, 'give the id of your organisation'),
    method: method().optional(),
    uri: z.string().optional().describe('The whole path, such as /v1/api-keys.'),
    request_id: z.string().optional(),
    user_id: z.string().optional().describe('The id of a user or of an API key.'),
    user_type: userType().optional(),
    workspace_id: z.string().optional().describe('Id or slug; of a deleted workspace the id.'),
    response_status_code: integerInQuery(100, 599).optional(),
    resource_type: z.string().optional().describe('Such as api_keys, virtual_keys, configs, workspaces, users.'),
    action: z.string().optional().describe('Such as create, update, delete, rotate.'),
    client_ip: z.string().optional(),
    country: z.string().optional(),
  });
const listQuery = () =>
  filter().extend({
    current_page: integerInQuery(0, 1_000_000).default(0).describe('Page number, from 0.'),
    page_size: integerInQuery(0, 100).default(50).describe('0 asks for the total alone.'),
  });

const record = () =>
  z
    .object({
      timestamp: z.iso.datetime(),
      method: method(),
      uri: z.string(),
      request_id: z.string(),
      request_body: z.string().describe('JSON, secrets masked.'),
      query_params: z.string().describe('JSON, secrets masked.'),
      request_headers: z.string().describe('JSON, secrets masked.'),
      user_id: z.uuid(),
      user_type: userType(),
      organisation_id: z.uuid(),
      workspace_id: z.string(),
      response_status_code: z.number().int(),
      resource_type: z.string(),
      action: z.string(),
      client_ip: z.string(),
      country: z.string(),
    })
    .meta({ id: 'AuditRecord' });
const answer = () =>
  z.object({
    records: z.array(record()).describe('Newest first.'),
    total: z.number().int().describe('How many records match.'),
    object: z.literal('analytics-graph'),
  });

export const auditLogRoutes = (log: AuditReading, verification: AuditVerification, store: Store): Route[] => [
  get(
    '/v1/audit-logs',
    {
      scopes: ['audit_logs.list'],
      summary: 'Who changed what, or was refused to',
      query: listQuery,
      response: answer,
    },
    async ({ principal, query }) => {
      const page = { page: query.current_page, size: query.page_size };
      return { ...(await log.list(await filterOf(store, principal, query), page)), object: 'analytics-graph' };
    },
  ),
  get(
    '/v1/audit-logs/export',
    { scopes: ['audit_logs.list'], summary: 'The same records as JSON lines, oldest first', query: filter },
    async ({ principal, query }) =>
      new Response(lines(log.each(await filterOf(store, principal, query))), {
        headers: { 'content-type': 'application/x-ndjson' },
      }),
  ),
  get(
    '/v1/audit-logs/verification',
    {
      scopes: ['audit_logs.list', 'organisation.manage'],
      summary:
        'Whether all records are as they were written: how far that is looked at, and what was found, as JSON lines',
    },
    ({ principal }) =>
      new Response(lines(oneByOne(verification.follow(principal.organisationId))), {
        headers: { 'content-type': 'application/x-ndjson' },
      }),
  ),
];

async function* oneByOne<Each>(all: AsyncGenerator<Each>): AsyncGenerator<Each[]> {
  for await (const each of all) yield [each];
}

async function filterOf(store: Store, who: Principal, query: Checked<typeof filter>): Promise<AuditFilter> {
  const [from, to] = [momentOf(query.start_time), momentOf(query.end_time)];
  if (from > to) fail('invalid_request', 'end_time', 'lies before start_time');
  if (query.organisation_id !== who.organisationId)
    fail('foreign_organisation', query.organisation_id.slice(0, 80), who.organisationId);
  return {
    organisationId: who.organisationId,
    from,
    to,
    method: query.method,
    uri: query.uri,
    requestId: query.request_id,
    userId: query.user_id,
    userType: query.user_type,
    workspaceId: (await workspaceAsked(store.db, who, query.workspace_id)) ?? undefined,
    status: query.response_status_code,
    resourceType: query.resource_type,
    action: query.action,
    clientIp: query.client_ip,
    country: query.country,
  };
}

/** As it is read: a client that stops reading stops the search. */
function lines(records: AsyncGenerator<object[]>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { value, done } = await records.next();
        if (done) return controller.close();
        controller.enqueue(encoder.encode(value.map((each) => `${JSON.stringify(each)}\n`).join('')));
      } catch (error) {
        // The connection is cut, so that the client does not take an incomplete export for the whole.
        controller.error(error);
      }
    },
    cancel: async () => void (await records.return(undefined)),
  });
}
