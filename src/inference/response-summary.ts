import * as z from 'zod';
import type { ResponseRow } from '../storage/schema.ts';

/** A response as lists show it: what is known of it without what was said. */
export const responseSummary = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('response'),
      created_at: z.int(),
      status: z.string().describe('queued, in_progress, completed, incomplete, failed or cancelled'),
      model: z.string().nullable(),
      background: z.boolean(),
      previous_response_id: z.string().nullable(),
      usage: z.object({ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() }).nullable(),
      error: z.object({ code: z.string().nullable(), message: z.string() }).nullable(),
      user_id: z.string().nullable().describe('The user who made it; null if no user did.'),
      trace_id: z.string().nullable().describe('The trace that its calls have in the log; null if it is not known.'),
      expires_at: z.int().describe('From then on it cannot be read.'),
    })
    .meta({ id: 'ResponseSummary' });
export type ResponseSummary = z.infer<ReturnType<typeof responseSummary>>;

/** What is read of a row: members of its document come as text, and truth as SQLite or PostgreSQL writes it. */
export interface SummaryRow extends Pick<ResponseRow, 'id' | 'user_id' | 'previous_id' | 'created_at' | 'expires_at'> {
  readonly status: string | null;
  readonly model: string | null;
  readonly background: string | number | null;
  readonly usage: string | null;
  readonly error: string | null;
  readonly gateway_trace_id: string | null;
}

const seconds = (ms: number): number => Math.floor(Number(ms) / 1_000);
const whole = (value: unknown): number => (Number.isSafeInteger(value) ? (value as number) : 0);

export function shownSummary(row: SummaryRow): ResponseSummary {
  const usage = row.usage === null ? null : JSON.parse(row.usage);
  const error = row.error === null ? null : JSON.parse(row.error);
  return {
    id: row.id,
    object: 'response',
    created_at: seconds(row.created_at),
    // One of a live connection that asked nothing of a model has none.
    status: row.status ?? 'completed',
    model: row.model === null ? null : String(row.model),
    background: row.background === 1 || row.background === 'true',
    previous_response_id: row.previous_id,
    usage: usage && {
      input_tokens: whole(usage.input_tokens),
      output_tokens: whole(usage.output_tokens),
      total_tokens: whole(usage.total_tokens),
    },
    error: error && {
      code: error.code === undefined ? null : String(error.code),
      message: String(error.message ?? ''),
    },
    user_id: row.user_id,
    trace_id: row.gateway_trace_id,
    expires_at: seconds(row.expires_at),
  };
}
