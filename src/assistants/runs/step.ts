import * as z from 'zod';
import type { Checked } from '../../core/schema.ts';
import { unixSeconds, unixSecondsOrNull } from '../../core/unix-seconds.ts';
import type { RunRow, RunStepRow } from '../../storage/schema.ts';
import type { Citable } from './citations.ts';
import { runError, usageObject } from './run.ts';

const functionCall = () =>
  z.object({
    id: z.string(),
    type: z.literal('function'),
    function: z.object({ name: z.string(), arguments: z.string(), output: z.string().nullable() }),
  });
const fileSearchCall = () =>
  z.object({
    id: z.string(),
    type: z.literal('file_search'),
    file_search: z.object({
      ranking_options: z.object({ ranker: z.string(), score_threshold: z.number() }).optional(),
      results: z
        .array(
          z.object({
            file_id: z.string(),
            file_name: z.string(),
            score: z.number().min(0).max(1),
            content: z.array(z.object({ type: z.literal('text'), text: z.string() })).optional(),
          }),
        )
        .optional(),
    }),
  });
const codeInterpreterCall = () =>
  z.object({
    id: z.string(),
    type: z.literal('code_interpreter'),
    code_interpreter: z.object({
      input: z.string(),
      outputs: z.array(
        z.union([
          z.object({ type: z.literal('logs'), logs: z.string() }),
          z.object({ type: z.literal('image'), image: z.object({ file_id: z.string() }) }),
        ]),
      ),
    }),
  });

export const toolCallObject = () =>
  z.discriminatedUnion('type', [functionCall(), fileSearchCall(), codeInterpreterCall()]);
export type ToolCall = Checked<typeof toolCallObject>;

const details = () =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('message_creation'), message_creation: z.object({ message_id: z.string() }) }),
    z.object({ type: z.literal('tool_calls'), tool_calls: z.array(toolCallObject()) }),
  ]);
export type StepDetails = Checked<typeof details>;

const moment = () => z.number().int().nullable();

export const stepObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('thread.run.step'),
      created_at: z.number().int(),
      assistant_id: z.string(),
      thread_id: z.string(),
      run_id: z.string(),
      type: z.enum(['message_creation', 'tool_calls']),
      status: z.enum(['in_progress', 'cancelled', 'failed', 'completed', 'expired']),
      step_details: details(),
      last_error: runError().nullable(),
      expired_at: moment(),
      cancelled_at: moment(),
      failed_at: moment(),
      completed_at: moment(),
      metadata: z.record(z.string(), z.string()),
      usage: usageObject().nullable(),
    })
    .meta({ id: 'RunStep' });
export type Step = Checked<typeof stepObject>;
export type StepStatus = Step['status'];

/** One tool call and its result, as the model says and sees them. */
export interface Exchange {
  readonly id: string;
  /** Of the function the model called; a built-in tool has its type for a name. */
  readonly name: string;
  readonly arguments: string;
  readonly type: ToolCall['type'];
  /** Null until there is one. */
  readonly output: string | null;
  /** What of the output the model may cite. */
  readonly citables?: readonly Citable[];
}

export const detailsOf = (row: Pick<RunStepRow, 'details'>): StepDetails => JSON.parse(row.details) as StepDetails;
export const exchangesOf = (row: Pick<RunStepRow, 'exchange'>): Exchange[] => JSON.parse(row.exchange) as Exchange[];

export interface ShowOptions {
  /** Whether what a file search found is shown with its text. */
  readonly withContent?: boolean;
}

export function shownStep(
  row: RunStepRow,
  run: Pick<RunRow, 'assistant_id' | 'thread_id'>,
  { withContent = false }: ShowOptions = {},
): Step {
  const stepDetails = detailsOf(row);
  return {
    id: row.id,
    object: 'thread.run.step',
    created_at: unixSeconds(row.created_at),
    assistant_id: run.assistant_id,
    thread_id: run.thread_id,
    run_id: row.run_id,
    type: stepDetails.type,
    status: row.status as StepStatus,
    step_details: withContent ? stepDetails : withoutContent(stepDetails),
    last_error: row.last_error === null ? null : JSON.parse(row.last_error),
    expired_at: unixSecondsOrNull(row.expired_at),
    cancelled_at: unixSecondsOrNull(row.cancelled_at),
    failed_at: unixSecondsOrNull(row.failed_at),
    completed_at: unixSecondsOrNull(row.completed_at),
    metadata: {},
    usage: row.usage === null ? null : JSON.parse(row.usage),
  };
}

function withoutContent(step: StepDetails): StepDetails {
  if (step.type !== 'tool_calls') return step;
  return {
    ...step,
    tool_calls: step.tool_calls.map((call) => {
      if (call.type !== 'file_search' || !call.file_search.results) return call;
      const results = call.file_search.results.map(({ content: _, ...result }) => result);
      return { ...call, file_search: { ...call.file_search, results } };
    }),
  };
}
