import type { ReplyContext } from '../dialect.ts';
import { objectIn, present, textIn } from '../json.ts';
import { Losses } from '../losses.ts';
import { encodeFormat, encodeReasoning, encodeToolChoice, encodeTools } from './encode.ts';
import { shownTools } from './shown-tools.ts';
import type { Echo, ReasoningSettings, ToolChoice } from './wire.ts';

/** What an answer repeats of its request, with the vendor's words for what was not given. */
export function echo({ request }: ReplyContext): Echo {
  const { responses: ext = {} } = request.ext ?? {};
  const losses = new Losses('responses');
  const [first] = request.turns ?? [];
  const [said] = first?.at === 'instructions' ? first.parts : [];
  const reasoning: ReasoningSettings = {
    effort: null,
    summary: null,
    ...encodeReasoning(request, losses),
    ...objectIn(ext.reasoning),
  };
  return present<Echo>({
    instructions: said?.type === 'text' ? said.text : null,
    max_output_tokens: request.maxOutputTokens ?? null,
    metadata: { ...request.metadata },
    parallel_tool_calls: request.parallelToolCalls ?? true,
    previous_response_id: textIn(ext.previous_response_id) ?? null,
    reasoning,
    store: ext.store === true,
    temperature: request.temperature ?? null,
    text: { ...objectIn(ext.text), format: encodeFormat(request, losses) ?? { type: 'text' } },
    tool_choice: encodeToolChoice(request) ?? (ext.tool_choice as ToolChoice | undefined) ?? 'auto',
    tools: shownTools(encodeTools(request.tools, losses) ?? []) as Echo['tools'],
    top_p: request.topP ?? null,
    truncation: ext.truncation === 'auto' ? 'auto' : 'disabled',
    user: request.user,
  });
}

/** Members of an answer that only repeat the request. */
export const ECHOED = [
  'background',
  'conversation',
  'frequency_penalty',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'presence_penalty',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'store',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
];
