import * as z from 'zod';

/** The Assistants API's objects, written from its description and not from our source: closed, and nothing left out. */

const id = (prefix: string) => z.string().regex(new RegExp(`^${prefix}[0-9A-Za-z]{24}$`));
const moment = z.int().min(1_600_000_000).max(4_000_000_000);
const maybe = moment.nullable();
const metadata = z.record(z.string(), z.string());
const usage = z.strictObject({
  completion_tokens: z.int().min(0),
  prompt_tokens: z.int().min(0),
  total_tokens: z.int().min(0),
});

const functionTool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string(),
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
    strict: z.boolean().nullable().optional(),
  }),
});
const tool = z.union([
  functionTool,
  z.strictObject({ type: z.literal('code_interpreter') }),
  z.strictObject({ type: z.literal('file_search'), file_search: z.record(z.string(), z.unknown()).optional() }),
]);
const responseFormat = z.union([z.enum(['auto', 'none']), z.looseObject({ type: z.string() })]);

export const assistant = z.strictObject({
  id: id('asst_'),
  object: z.literal('assistant'),
  created_at: moment,
  name: z.string().nullable(),
  description: z.string().nullable(),
  model: z.string(),
  instructions: z.string().nullable(),
  tools: z.array(tool).max(128),
  tool_resources: z.record(z.string(), z.unknown()),
  metadata,
  temperature: z.number().min(0).max(2),
  top_p: z.number().min(0).max(1),
  response_format: responseFormat,
  reasoning_effort: z.string().nullable(),
});

export const thread = z.strictObject({
  id: id('thread_'),
  object: z.literal('thread'),
  created_at: moment,
  tool_resources: z.record(z.string(), z.unknown()),
  metadata,
});

const passage = { text: z.string().min(1), start_index: z.int().min(0), end_index: z.int().min(1) };
const fileReference = z.strictObject({ file_id: id('file-') });
const citation = z.strictObject({ type: z.literal('file_citation'), ...passage, file_citation: fileReference });
const filePath = z.strictObject({ type: z.literal('file_path'), ...passage, file_path: fileReference });

const textBlock = z.strictObject({
  type: z.literal('text'),
  text: z
    .strictObject({ value: z.string(), annotations: z.array(z.union([citation, filePath])) })
    .refine(
      ({ value, annotations }) =>
        annotations.every(({ text, start_index, end_index }) => value.slice(start_index, end_index) === text),
      'annotations stand where they say',
    ),
});
const detail = z.enum(['auto', 'low', 'high']);
const contentBlock = z.union([
  textBlock,
  z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
  z.strictObject({ type: z.literal('image_url'), image_url: z.strictObject({ url: z.string(), detail }) }),
  z.strictObject({ type: z.literal('image_file'), image_file: z.strictObject({ file_id: z.string(), detail }) }),
]);

export const message = z
  .strictObject({
    id: id('msg_'),
    object: z.literal('thread.message'),
    created_at: moment,
    thread_id: id('thread_'),
    status: z.enum(['in_progress', 'incomplete', 'completed']),
    incomplete_details: z
      .strictObject({ reason: z.enum(['content_filter', 'max_tokens', 'run_cancelled', 'run_expired', 'run_failed']) })
      .nullable(),
    completed_at: maybe,
    incomplete_at: maybe,
    role: z.enum(['user', 'assistant']),
    content: z.array(contentBlock),
    assistant_id: id('asst_').nullable(),
    run_id: id('run_').nullable(),
    attachments: z.array(z.unknown()),
    metadata,
  })
  .refine(({ status, completed_at }) => (status === 'completed') === (completed_at !== null), 'completed_at')
  .refine(({ status, incomplete_at }) => (status === 'incomplete') === (incomplete_at !== null), 'incomplete_at')
  .refine(({ status, incomplete_details }) => (status === 'incomplete') === (incomplete_details !== null), 'details');

const ENDED = ['completed', 'incomplete', 'failed', 'cancelled', 'expired'];

export const run = z
  .strictObject({
    id: id('run_'),
    object: z.literal('thread.run'),
    created_at: moment,
    thread_id: id('thread_'),
    assistant_id: id('asst_'),
    status: z.enum([
      'queued',
      'in_progress',
      'requires_action',
      'cancelling',
      'cancelled',
      'failed',
      'completed',
      'incomplete',
      'expired',
    ]),
    required_action: z
      .strictObject({
        type: z.literal('submit_tool_outputs'),
        submit_tool_outputs: z.strictObject({
          tool_calls: z
            .array(
              z.strictObject({
                id: z.string().min(1),
                type: z.literal('function'),
                function: z.strictObject({ name: z.string(), arguments: z.string() }),
              }),
            )
            .min(1),
        }),
      })
      .nullable(),
    last_error: z
      .strictObject({ code: z.enum(['server_error', 'rate_limit_exceeded', 'invalid_prompt']), message: z.string() })
      .nullable(),
    expires_at: maybe,
    started_at: maybe,
    cancelled_at: maybe,
    failed_at: maybe,
    completed_at: maybe,
    incomplete_details: z.strictObject({ reason: z.enum(['max_completion_tokens', 'max_prompt_tokens']) }).nullable(),
    model: z.string(),
    instructions: z.string(),
    tools: z.array(tool),
    metadata,
    usage: usage.nullable(),
    max_prompt_tokens: z.int().min(256).nullable(),
    max_completion_tokens: z.int().min(256).nullable(),
    truncation_strategy: z.strictObject({
      type: z.enum(['auto', 'last_messages']),
      last_messages: z.int().min(1).nullable(),
    }),
    tool_choice: z.union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: z.string() })]),
    parallel_tool_calls: z.boolean(),
    response_format: responseFormat,
    temperature: z.number(),
    top_p: z.number(),
  })
  .refine(({ status, usage: used }) => ENDED.includes(status) === (used !== null), 'usage iff ended')
  .refine(({ status, expires_at }) => ENDED.includes(status) === (expires_at === null), 'expires_at until the end')
  .refine(({ status, required_action: action }) => (status === 'requires_action') === (action !== null), 'action')
  .refine(({ status, last_error: error }) => (status === 'failed') === (error !== null), 'last_error iff failed')
  .refine(({ status, incomplete_details: why }) => (status === 'incomplete') === (why !== null), 'incomplete_details')
  .refine(({ status, completed_at: at }) => (status === 'completed') === (at !== null), 'completed_at')
  .refine(({ status, cancelled_at: at }) => (status === 'cancelled') === (at !== null), 'cancelled_at')
  .refine(({ status, failed_at: at }) => (status === 'failed') === (at !== null), 'failed_at');

const functionCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string(), arguments: z.string(), output: z.string().nullable() }),
});
const fileSearchCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal('file_search'),
  file_search: z.strictObject({
    ranking_options: z
      .strictObject({ ranker: z.enum(['auto', 'default_2024_08_21']), score_threshold: z.number().min(0).max(1) })
      .optional(),
    results: z
      .array(
        z.strictObject({
          file_id: id('file-'),
          file_name: z.string(),
          score: z.number().min(0).max(1),
          content: z.array(z.strictObject({ type: z.literal('text'), text: z.string() })).optional(),
        }),
      )
      .optional(),
  }),
});
const logs = z.strictObject({ type: z.literal('logs'), logs: z.string() });
const image = z.strictObject({ type: z.literal('image'), image: fileReference });
const codeInterpreterCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal('code_interpreter'),
  code_interpreter: z.strictObject({ input: z.string(), outputs: z.array(z.union([logs, image])) }),
});
const toolCall = z.union([functionCall, fileSearchCall, codeInterpreterCall]);

export const step = z
  .strictObject({
    id: id('step_'),
    object: z.literal('thread.run.step'),
    created_at: moment,
    assistant_id: id('asst_'),
    thread_id: id('thread_'),
    run_id: id('run_'),
    type: z.enum(['message_creation', 'tool_calls']),
    status: z.enum(['in_progress', 'cancelled', 'failed', 'completed', 'expired']),
    step_details: z.union([
      z.strictObject({
        type: z.literal('message_creation'),
        message_creation: z.strictObject({ message_id: id('msg_') }),
      }),
      z.strictObject({ type: z.literal('tool_calls'), tool_calls: z.array(toolCall) }),
    ]),
    last_error: z
      .strictObject({ code: z.enum(['server_error', 'rate_limit_exceeded']), message: z.string() })
      .nullable(),
    expired_at: maybe,
    cancelled_at: maybe,
    failed_at: maybe,
    completed_at: maybe,
    metadata,
    usage: usage.nullable(),
  })
  .refine(({ type, step_details }) => type === step_details.type, 'type')
  .refine(({ status, completed_at: at }) => (status === 'completed') === (at !== null), 'completed_at')
  .refine(({ status, failed_at: at }) => (status === 'failed') === (at !== null), 'failed_at')
  .refine(({ status, cancelled_at: at }) => (status === 'cancelled') === (at !== null), 'cancelled_at')
  .refine(({ status, expired_at: at }) => (status === 'expired') === (at !== null), 'expired_at');

const index = z.int().min(0).max(1_023);

const messageDelta = z.strictObject({
  id: id('msg_'),
  object: z.literal('thread.message.delta'),
  delta: z.strictObject({
    content: z
      .array(
        z.union([
          z.strictObject({
            index,
            type: z.literal('text'),
            text: z.strictObject({
              value: z.string(),
              annotations: z.array(z.union([citation.extend({ index }), filePath.extend({ index })])).optional(),
            }),
          }),
          z.strictObject({ index, type: z.literal('refusal'), refusal: z.string() }),
        ]),
      )
      .min(1),
  }),
});

const stepDelta = z.strictObject({
  id: id('step_'),
  object: z.literal('thread.run.step.delta'),
  delta: z.strictObject({
    step_details: z.strictObject({
      type: z.literal('tool_calls'),
      tool_calls: z
        .array(
          z.union([
            z.strictObject({
              index,
              id: z.string().min(1),
              type: z.literal('function'),
              function: z.strictObject({ name: z.string().min(1), arguments: z.string(), output: z.null() }),
            }),
            z.strictObject({
              index,
              type: z.literal('function'),
              function: z.strictObject({ arguments: z.string().min(1) }),
            }),
            z.strictObject({
              index,
              id: z.string().min(1),
              type: z.literal('file_search'),
              file_search: z.strictObject({}),
            }),
            z.strictObject({
              index,
              id: z.string().min(1),
              type: z.literal('code_interpreter'),
              code_interpreter: z.strictObject({ input: z.string(), outputs: z.array(z.never()) }),
            }),
            z.strictObject({
              index,
              type: z.literal('code_interpreter'),
              code_interpreter: z.strictObject({ input: z.string().min(1) }),
            }),
            z.strictObject({
              index,
              type: z.literal('code_interpreter'),
              code_interpreter: z.strictObject({
                outputs: z.array(z.union([logs.extend({ index }), image.extend({ index })])).min(1),
              }),
            }),
          ]),
        )
        .min(1),
    }),
  }),
});

export const list = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({
    object: z.literal('list'),
    data: z.array(item),
    first_id: z.string(),
    last_id: z.string(),
    has_more: z.boolean(),
  });

/** The schema of an event's data, by the event's name. */
export function schemaOf(event: string): z.ZodType {
  if (event === 'thread.created') return thread;
  if (event === 'thread.message.delta') return messageDelta;
  if (event === 'thread.run.step.delta') return stepDelta;
  if (event.startsWith('thread.message.')) return message;
  if (event.startsWith('thread.run.step.')) return step;
  if (event.startsWith('thread.run.')) return run;
  throw new Error(`There is no event ${event}.`);
}
