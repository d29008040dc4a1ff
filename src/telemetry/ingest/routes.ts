import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import * as z from 'zod';
import { fail } from '../../core/errors.ts';
import { READ_LIMITS } from '../../core/json-shape.ts';
import { integerInQuery } from '../../core/list.ts';
import { headerOf } from '../../http/headers.ts';
import { parseJson, readBytes } from '../../http/input.ts';
import { type Call, get, post, type Route } from '../../http/route.ts';
import { sessionIn } from '../../http/session-id.ts';
import type { IngestedRow } from '../../storage/schema.ts';
import type { Store } from '../../storage/store.ts';
import { workspaceAsked } from '../../storage/workspace-lookup.ts';
import { word } from '../log-filters.ts';
import { ProtoWriter } from '../otel/encode.ts';
import type { Ingest, Outcome, Position } from './ingest.ts';
import { receivedInJson } from './read-json.ts';
import { receivedInProto } from './read-proto.ts';

export interface IngestRouteParts {
  readonly ingest: Ingest;
  readonly store: Store;
  /** Whether what was said is kept, as in the log. */
  readonly keepsContent: boolean;
}

/** Coding agents send some kilobytes; reading more would hold other calls up. */
const MOST_BYTES = 4 << 20;
const FORMS = 'application/x-protobuf or application/json';
/** What OTLP calls the number of refused items. */
const REJECTED = { traces: 'rejectedSpans', logs: 'rejectedLogRecords', metrics: 'rejectedDataPoints' } as const;
type Signal = keyof typeof REJECTED;
const SIGNALS = Object.keys(REJECTED) as Signal[];

const SUMMARIES: Readonly<Record<Signal, string>> = {
  traces: 'Store spans of a client (OTLP)',
  logs: 'Store log records of a client (OTLP)',
  metrics: 'Store points of metrics of a client (OTLP)',
};

const unzip = promisify(gunzip);

const span = () =>
  z.object({
    object: z.literal('span'),
    id: z.string(),
    session_id: z.string().nullable(),
    signal: z.enum(['span', 'log', 'metric']),
    trace_id: z.string().nullable(),
    span_id: z.string().nullable(),
    parent_span_id: z.string().nullable(),
    name: z.string(),
    kind: z.string(),
    is_error: z.boolean(),
    service: z.string().nullable(),
    started_at: z.number().describe('In milliseconds since the epoch.'),
    duration_ms: z.number(),
    attributes: z.record(z.string(), z.unknown()),
  });
const page = () =>
  z.object({
    object: z.literal('list'),
    data: z.array(span()).describe('The oldest first.'),
    has_more: z.boolean(),
    next_cursor: z.string().optional().describe('Send it as after to get the next page.'),
  });
const query = () =>
  z.strictObject({
    workspace_id: word().optional().describe('Id or slug. Keys that act on one workspace see their own.'),
    limit: integerInQuery(1, 1000).default(100),
    after: word()
      .refine((cursor) => positionIn(cursor) !== null, 'must be the next_cursor of an earlier page')
      .optional()
      .describe('The next_cursor of the page before.'),
  });

/** OTLP over HTTP, as clients of OpenTelemetry speak it, and what has come of it. */
export const ingestRoutes = ({ ingest, store, keepsContent }: IngestRouteParts): Route[] => [
  ...SIGNALS.map((signal) =>
    post(`/v1/otel/v1/${signal}`, { scopes: ['traces.write'], summary: SUMMARIES[signal] }, async (call) => {
      const { isJson, items } = await itemsIn(call, signal);
      return answer(await taken({ ingest, keepsContent }, call, items), signal, isJson);
    }),
  ),
  // Where Claude Code sends them once it is signed in. It takes everything but 200 for a fault, and says so each time.
  ...SIGNALS.map((signal) =>
    post(
      `/v1/${signal}`,
      { scopes: ['models.list'], dialect: 'anthropic', summary: `${SUMMARIES[signal]}, where Claude Code sends them` },
      async (call) => {
        const { isJson, items } = await itemsIn(call, signal);
        const mayWrite = call.principal.scopes.has('traces.write');
        const outcome = mayWrite ? await taken({ ingest, keepsContent }, call, items) : DROPPED;
        return answer(outcome, signal, isJson);
      },
    ),
  ),
  get(
    '/v1/log-sessions/:id/spans',
    {
      scopes: ['logs.read'],
      summary: 'What clients have sent of a session: spans, log records, metrics',
      query,
      response: page,
    },
    async ({ principal, params: { id }, query: { workspace_id, limit, after } }) => {
      const workspaceId = (await workspaceAsked(store.db, principal, workspace_id)) ?? principal.workspaceId;
      const position = after === undefined ? null : positionIn(after);
      const rows = id.includes('\0') ? [] : await ingest.list(workspaceId, id, { limit: limit + 1, after: position });
      if (rows.length === 0 && !position) fail('log_session_not_found', id);
      const last = rows[limit - 1];
      const hasMore = rows.length > limit;
      return {
        object: 'list',
        data: rows.slice(0, limit).map(shown),
        has_more: hasMore,
        ...(hasMore && last && { next_cursor: cursorOf(last) }),
      };
    },
  ),
];

const DROPPED: Outcome = { rejected: 0, message: 'Nothing was stored: this key lacks the scope traces.write.' };

const taken = (
  { ingest, keepsContent }: Pick<IngestRouteParts, 'ingest' | 'keepsContent'>,
  { principal, headers, now }: Call,
  items: Parameters<Ingest['take']>[0],
): Promise<Outcome> =>
  ingest.take(items, {
    workspaceId: principal.workspaceId,
    userId: principal.userId,
    apiKeyId: principal.keyId,
    sessionId: sessionIn(headers),
    keepsContent,
    now,
  });

async function itemsIn({ request, headers }: Call, signal: Signal) {
  const type = headerOf(headers, 'content-type') ?? '';
  const isJson = /^application\/json\b/i.test(type);
  if (!isJson && !/^application\/x-protobuf\b/i.test(type)) fail('unsupported_media_type', type, FORMS);
  const coding = headerOf(headers, 'content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (coding !== 'gzip' && coding !== 'identity')
    fail('invalid_header', 'content-encoding', 'give gzip, or leave it out');
  const sent = await readBytes(request, MOST_BYTES);
  const bytes = coding === 'gzip' ? await unpacked(sent) : sent;
  if (!isJson) return { isJson, items: receivedInProto(bytes, signal) };
  return { isJson, items: receivedInJson(parseJson(bytes, 'own', READ_LIMITS), signal) };
}

/** No more is unpacked than may be sent unpacked. */
async function unpacked(bytes: Uint8Array): Promise<Uint8Array> {
  try {
    return await unzip(bytes, { maxOutputLength: MOST_BYTES });
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') return fail('body_too_large', MOST_BYTES);
    return fail('invalid_request', 'body', 'is not gzip, although content-encoding says so');
  }
}

function answer({ rejected, message }: Outcome, signal: Signal, isJson: boolean): Response {
  if (isJson)
    return Response.json(
      message === '' ? {} : { partialSuccess: { [REJECTED[signal]]: String(rejected), errorMessage: message } },
    );
  const writer = new ProtoWriter();
  if (message !== '')
    writer.message(1, () => {
      if (rejected > 0) writer.integer(1, rejected);
      writer.text(2, message);
    });
  const headers = { 'content-type': 'application/x-protobuf' };
  return new Response(writer.take() as Uint8Array<ArrayBuffer>, { headers });
}

const shown = (row: IngestedRow) => ({
  object: 'span',
  id: row.id,
  session_id: row.session_id,
  signal: row.signal,
  trace_id: row.trace_id,
  span_id: row.span_id,
  parent_span_id: row.parent_id,
  name: row.name,
  kind: row.kind,
  is_error: Boolean(row.is_error),
  service: row.service,
  started_at: Number(row.started_at),
  duration_ms: row.duration_ms,
  attributes: JSON.parse(row.attributes) as unknown,
});

const cursorOf = ({ started_at, id }: IngestedRow): string => Buffer.from(`${started_at}.${id}`).toString('base64url');

function positionIn(cursor: string): Position | null {
  const found = /^(\d{1,16})\.([0-9a-f]{48,64})$/.exec(Buffer.from(cursor, 'base64url').toString());
  return found && { startedAt: Number(found[1]), id: found[2]! };
}
