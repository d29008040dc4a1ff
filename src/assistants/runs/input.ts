import * as z from 'zod';
import { fail } from '../../core/errors.ts';
import { metadataRule, newMetadata } from '../../core/metadata-rule.ts';
import { type Checked, schemaOf } from '../../core/schema.ts';
import type { StoredAssistant } from '../assistants.ts';
import { newMessages } from '../messages.ts';
import { createThread } from '../threads.ts';
import {
  reasoningEffort,
  responseFormat,
  type Tool,
  temperature,
  toolChoice,
  toolResources,
  toolsUpTo,
  topP,
  truncationStrategy,
} from '../tools.ts';
import type { RunBody } from './run.ts';

const LEAST_TOKENS = 256;
const instructions = () => z.string().max(256_000).nullish();

const members = () => ({
  assistant_id: z.string().min(1),
  model: z.string().min(1).max(256).nullish(),
  instructions: instructions(),
  tools: toolsUpTo(20).nullish(),
  metadata: newMetadata,
  temperature: temperature().nullish(),
  top_p: topP().nullish(),
  stream: z.boolean().nullish(),
  max_prompt_tokens: z.int().min(LEAST_TOKENS).nullish(),
  max_completion_tokens: z.int().min(LEAST_TOKENS).nullish(),
  truncation_strategy: truncationStrategy().nullish(),
  tool_choice: schemaOf(toolChoice).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: schemaOf(responseFormat).nullish(),
});

export const createRun = () =>
  z.strictObject({
    ...members(),
    reasoning_effort: reasoningEffort().nullish(),
    additional_instructions: instructions(),
    additional_messages: newMessages(),
  });
export type RunInput = Checked<typeof createRun>;

export const createThreadAndRun = () =>
  z.strictObject({
    ...members(),
    thread: createThread().nullish(),
    tool_resources: schemaOf(toolResources).nullish(),
  });
export type ThreadAndRunInput = Checked<typeof createThreadAndRun>;

export const updateRun = () => z.strictObject({ metadata: metadataRule.nullish() });

/** So much of what a function answered was taken by the vendor, too. */
const LONGEST_OUTPUT = 524_288;

export const submitToolOutputs = () =>
  z.strictObject({
    tool_outputs: z.array(
      z.strictObject({ tool_call_id: z.string().optional(), output: z.string().max(LONGEST_OUTPUT).nullish() }),
    ),
    stream: z.boolean().nullish(),
  });
export type ToolOutputs = Checked<typeof submitToolOutputs>['tool_outputs'];

/** The only thing that may be asked for beside a step itself. */
const FOUND_CONTENT = 'step_details.tool_calls[*].file_search.results[*].content';
export const include = () => ({
  'include[]': z.literal(FOUND_CONTENT).optional().describe('What found text to show.'),
});
export const wantsContent = (query: { readonly 'include[]'?: string }): boolean => query['include[]'] === FOUND_CONTENT;

/** What the run is to do. Settled once: nothing that becomes of the assistant later changes it. */
export function settledBody(
  input: Partial<RunInput> & Pick<ThreadAndRunInput, 'tool_resources'>,
  assistant: StoredAssistant,
): RunBody {
  const own = input.instructions ?? assistant.instructions ?? '';
  const tools = input.tools ?? assistant.tools;
  const choice = input.tool_choice ?? 'auto';
  checkToolChoice(choice, tools);
  return {
    model: input.model ?? assistant.model,
    instructions: [own, input.additional_instructions ?? ''].filter(Boolean).join('\n\n'),
    tools,
    temperature: input.temperature ?? assistant.temperature,
    top_p: input.top_p ?? assistant.top_p,
    max_prompt_tokens: input.max_prompt_tokens ?? null,
    max_completion_tokens: input.max_completion_tokens ?? null,
    truncation_strategy: settledTruncation(input.truncation_strategy),
    tool_choice: choice,
    parallel_tool_calls: input.parallel_tool_calls ?? true,
    response_format: input.response_format ?? assistant.response_format,
    reasoning_effort: input.reasoning_effort ?? assistant.reasoning_effort,
    tool_resources: { ...assistant.tool_resources, ...input.tool_resources },
  };
}

const LAST_MESSAGES = 'truncation_strategy.last_messages';
const NOT_FOR_AUTO = `Invalid '${LAST_MESSAGES}': only the type 'last_messages' takes it. Leave it out for 'auto'.`;

function settledTruncation(given: RunInput['truncation_strategy']): RunBody['truncation_strategy'] {
  if (given?.type === 'last_messages' && typeof given.last_messages !== 'number')
    fail('missing_required_parameter', LAST_MESSAGES);
  if (given?.type === 'auto' && typeof given.last_messages === 'number')
    fail('invalid_value', LAST_MESSAGES, NOT_FOR_AUTO);
  return { type: given?.type ?? 'auto', last_messages: given?.last_messages ?? null };
}

function checkToolChoice(choice: RunBody['tool_choice'], tools: readonly Tool[]) {
  const refuse = (why: string) => fail('invalid_value', 'tool_choice', `Invalid 'tool_choice': ${why}.`);
  if (choice === 'required' && tools.length === 0) refuse("'required' needs at least one tool in 'tools'");
  if (typeof choice === 'string') return;
  if (choice.type !== 'function') {
    if (!tools.some(({ type }) => type === choice.type)) refuse(`'${choice.type}' is not one of 'tools'`);
    return;
  }
  const { name } = choice.function;
  if (!tools.some((each) => each.type === 'function' && each.function.name === name))
    refuse(`no function in 'tools' is named '${name.slice(0, 80)}'`);
}
