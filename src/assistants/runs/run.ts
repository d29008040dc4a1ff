import * as z from 'zod';
import { type Checked, schemaOf } from '../../core/schema.ts';
import { unixSeconds, unixSecondsOrNull } from '../../core/unix-seconds.ts';
import type { RunRow } from '../../storage/schema.ts';
import { reasoningEffort, responseFormat, tool, toolChoice, toolResources, truncationStrategy } from '../tools.ts';

/** While a run is in one of these, its thread is locked. */
export const ACTIVE = ['queued', 'in_progress', 'requires_action', 'cancelling'] as const;
const ENDED = ['completed', 'incomplete', 'failed', 'cancelled', 'expired'] as const;
export type RunStatus = (typeof ACTIVE)[number] | (typeof ENDED)[number];

export const isActive = ({ status }: Pick<RunRow, 'status'>): boolean => (ACTIVE as readonly string[]).includes(status);

export const runError = () =>
  z.object({
    code: z.enum(['server_error', 'rate_limit_exceeded', 'invalid_prompt']),
    message: z.string(),
  });
export type RunError = Checked<typeof runError>;

export const usageObject = () =>
  z.object({
    prompt_tokens: z.number().int(),
    completion_tokens: z.number().int(),
    total_tokens: z.number().int(),
  });
export type RunUsage = Checked<typeof usageObject>;

export const usageOf = (prompt: number, completion: number): RunUsage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});

const requiredAction = () =>
  z.object({
    type: z.literal('submit_tool_outputs'),
    submit_tool_outputs: z.object({
      tool_calls: z.array(
        z.object({
          id: z.string(),
          type: z.literal('function'),
          function: z.object({ name: z.string(), arguments: z.string() }),
        }),
      ),
    }),
  });
export type RequiredAction = Checked<typeof requiredAction>;

const moment = () => z.number().int().nullable();

/** What a run was asked to do: the assistant and the request taken together, once, when it was created. */
const asked = () =>
  z.object({
    model: z.string(),
    instructions: z.string(),
    tools: z.array(schemaOf(tool)),
    temperature: z.number().nullable(),
    top_p: z.number().nullable(),
    max_prompt_tokens: z.number().int().nullable(),
    max_completion_tokens: z.number().int().nullable(),
    truncation_strategy: z.object({ ...truncationStrategy().shape, last_messages: z.number().int().nullable() }),
    tool_choice: schemaOf(toolChoice),
    parallel_tool_calls: z.boolean(),
    response_format: schemaOf(responseFormat),
    reasoning_effort: reasoningEffort().nullable(),
    tool_resources: schemaOf(toolResources),
  });
export type RunBody = Checked<typeof asked>;

export const runObject = () =>
  asked()
    .omit({ tool_resources: true, reasoning_effort: true })
    .extend({
      id: z.string(),
      object: z.literal('thread.run'),
      created_at: z.number().int(),
      thread_id: z.string(),
      assistant_id: z.string(),
      status: z.enum([...ACTIVE, ...ENDED]),
      required_action: requiredAction().nullable(),
      last_error: runError().nullable(),
      expires_at: moment(),
      started_at: moment(),
      cancelled_at: moment(),
      failed_at: moment(),
      completed_at: moment(),
      incomplete_details: z.object({ reason: z.enum(['max_completion_tokens', 'max_prompt_tokens']) }).nullable(),
      metadata: z.record(z.string(), z.string()),
      usage: usageObject().nullable(),
    })
    .meta({ id: 'Run' });
export type Run = Checked<typeof runObject>;

export const bodyOf = (row: Pick<RunRow, 'body'>): RunBody => JSON.parse(row.body) as RunBody;

const parsedOrNull = <Value>(text: string | null): Value | null => (text === null ? null : (JSON.parse(text) as Value));

export function shownRun(row: RunRow): Run {
  const { tool_resources: _, reasoning_effort: __, temperature, top_p, ...body } = bodyOf(row);
  const isOver = !isActive(row);
  return {
    id: row.id,
    object: 'thread.run',
    created_at: unixSeconds(row.created_at),
    thread_id: row.thread_id,
    assistant_id: row.assistant_id,
    status: row.status as RunStatus,
    required_action: parsedOrNull<RequiredAction>(row.required_action),
    last_error: parsedOrNull<RunError>(row.last_error),
    expires_at: isOver ? null : unixSeconds(row.expires_at),
    started_at: unixSecondsOrNull(row.started_at),
    cancelled_at: unixSecondsOrNull(row.cancelled_at),
    failed_at: unixSecondsOrNull(row.failed_at),
    completed_at: unixSecondsOrNull(row.completed_at),
    incomplete_details:
      row.incomplete_reason === null
        ? null
        : ({ reason: row.incomplete_reason } as NonNullable<Run['incomplete_details']>),
    metadata: JSON.parse(row.metadata),
    usage: isOver ? usageOf(row.prompt_tokens, row.completion_tokens) : null,
    ...body,
    temperature: temperature ?? 1,
    top_p: top_p ?? 1,
  };
}

const POLL_MS: readonly (readonly [youngerThanMs: number, pollMs: number])[] = [
  [5_000, 200],
  [30_000, 500],
];
const LONG_POLL_MS = 1_000;

/** How long a client that polls should wait before it asks again; null when there is nothing to wait for. */
export function pollAfterMs(run: Pick<RunRow, 'status' | 'created_at'>, now: number): number | null {
  if (!isActive(run)) return null;
  const ageMs = now - run.created_at;
  return POLL_MS.find(([youngerThanMs]) => ageMs < youngerThanMs)?.[1] ?? LONG_POLL_MS;
}
