import type { WorkspaceId } from '../../core/ids.ts';
import type { MessageRow, RunCallRow, RunRow, RunStepRow } from '../../storage/schema.ts';
import type { Store } from '../../storage/store.ts';
import type { ContentBlock } from '../messages.ts';
import type { Tool } from '../tools.ts';
import { type BuiltInTools, isBuiltIn } from './built-in.ts';
import { failRun, RunEnds } from './failures.ts';
import { messageById, stepsOf } from './rows.ts';
import { bodyOf, type RunBody } from './run.ts';
import { detailsOf, type Exchange, exchangesOf } from './step.ts';
import { type CountTokens, trimmed, type Unit } from './truncation.ts';

export interface PromptDeps {
  readonly store: Store;
  /** An image of a message, as a data URL. Throws what ends the run when there is none. */
  readonly readImage: (workspaceId: WorkspaceId, fileId: string) => Promise<string>;
  readonly countTokens: CountTokens;
  readonly builtIns: BuiltInTools;
}

/** The body of a chat call, and what it probably takes. */
export interface Prompt {
  readonly body: string;
  readonly tokens: number;
}

type ChatMessage = Readonly<Record<string, unknown>> & { readonly role: string };
interface Said extends Unit {
  readonly message: ChatMessage;
}

/** About what providers charge for a large picture. */
const IMAGE_TOKENS = 1_500;

/** What the model is asked in this call of the run: instructions, the thread, and what the run has done so far. */
export async function buildPrompt(run: RunRow, call: RunCallRow, deps: PromptDeps): Promise<Prompt> {
  const body = bodyOf(run);
  const count = (value: unknown) => deps.countTokens(body.model, JSON.stringify(value));
  const system: ChatMessage[] = body.instructions ? [{ role: 'system', content: body.instructions }] : [];
  const own = await ownExchanges(run, deps);
  const tools = offeredTools(body, deps.builtIns);
  const history = await threadHistory(run, body, deps);
  const fixed = count(system) + count(own) + count(tools ?? []);
  const budget =
    body.max_prompt_tokens === null ? Number.POSITIVE_INFINITY : body.max_prompt_tokens - run.prompt_tokens;
  const kept = trimmed(history, budget - fixed);
  if (!kept || fixed > budget) throw new RunEnds({ status: 'incomplete', reason: 'max_prompt_tokens' });
  const messages = [...system, ...kept.map(({ message }) => message), ...own];
  if (messages.length === system.length && system.length === 0)
    failRun('invalid_prompt', 'There is nothing to answer: the thread has no messages and the run no instructions.');
  return {
    body: JSON.stringify({
      model: body.model,
      messages,
      stream: true,
      stream_options: { include_usage: true },
      ...settings(body, run, tools !== null),
      ...(tools && { tools, ...choiceOf(body, call) }),
    }),
    tokens: fixed + kept.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

/** What nobody chose is left to the model. */
function settings(body: RunBody, run: RunRow, hasTools: boolean): Record<string, unknown> {
  const { temperature, top_p, reasoning_effort, response_format: format, max_completion_tokens: most } = body;
  const left = most === null ? null : most - run.completion_tokens;
  if (left !== null && left < 1) throw new RunEnds({ status: 'incomplete', reason: 'max_completion_tokens' });
  return {
    ...(temperature !== null && { temperature }),
    ...(top_p !== null && { top_p }),
    ...(reasoning_effort !== null && { reasoning_effort }),
    ...(typeof format !== 'string' && format.type !== 'text' && { response_format: format }),
    ...(left !== null && { max_completion_tokens: left }),
    ...(hasTools && !body.parallel_tool_calls && { parallel_tool_calls: false }),
  };
}

function offeredTools(body: RunBody, builtIns: BuiltInTools): object[] | null {
  if (body.tools.length === 0 || body.tool_choice === 'none') return null;
  return body.tools.map((tool) => ({ type: 'function', function: offered(tool, body, builtIns) }));
}

function offered(tool: Tool, body: RunBody, builtIns: BuiltInTools): object {
  if (!isBuiltIn(tool.type)) {
    const { name, description, parameters, strict } = (tool as Extract<Tool, { type: 'function' }>).function;
    return {
      name,
      ...(description !== undefined && { description }),
      ...(parameters !== undefined && { parameters }),
      ...(typeof strict === 'boolean' && { strict }),
    };
  }
  const builtIn = builtIns[tool.type];
  if (!builtIn) return failRun('server_error', `This gateway has no ${tool.type} any more.`);
  return { name: tool.type, ...builtIn.offer(tool, body) };
}

/** A forced choice holds for the first call only: held to it for ever, the model could never answer. */
function choiceOf({ tool_choice: choice }: RunBody, { number }: RunCallRow): { tool_choice?: unknown } {
  if (choice === 'auto' || choice === 'none' || number > 1) return {};
  if (typeof choice === 'string') return { tool_choice: choice };
  const name = choice.type === 'function' ? choice.function.name : choice.type;
  return { tool_choice: { type: 'function', function: { name } } };
}

async function threadHistory(run: RunRow, body: RunBody, deps: PromptDeps): Promise<Said[]> {
  const { type, last_messages: last } = body.truncation_strategy;
  const newestFirst = deps.store.db
    .selectFrom('messages')
    .selectAll()
    .where('thread_id', '=', run.thread_id)
    .where('deleted_at', 'is', null)
    .where((where) => where.or([where('run_id', 'is', null), where('run_id', '!=', run.id)]))
    .orderBy('id', 'desc');
  const rows = await (type === 'last_messages' && last !== null ? newestFirst.limit(last) : newestFirst).execute();
  const said: Said[] = [];
  for (const row of rows.reverse()) {
    const one = await sayingOf(row, run, deps);
    if (one) said.push(one);
  }
  return said;
}

/** Null for a message of which nothing was ever said. */
async function sayingOf(row: MessageRow, run: RunRow, deps: PromptDeps): Promise<Said | null> {
  const blocks = JSON.parse(row.content) as ContentBlock[];
  const count = (value: unknown) => deps.countTokens(bodyOf(run).model, JSON.stringify(value));
  if (row.role === 'assistant') {
    const content = textOf(blocks);
    const message = { role: 'assistant', content };
    return content === '' ? null : { role: 'assistant', message, tokens: count(message) };
  }
  if (blocks.length === 0) return null;
  if (blocks.every(({ type }) => type === 'text')) {
    const texts = blocks.map((block) => ({ type: 'text', text: textOf([block]) }));
    const message = { role: 'user', content: texts.length === 1 ? texts[0]!.text : texts };
    return { role: 'user', message, tokens: count(message) };
  }
  let tokens = 0;
  const parts: object[] = [];
  for (const block of blocks) {
    const part = await partOf(block, run.workspace_id as WorkspaceId, deps);
    tokens += block.type === 'text' ? count(part) : IMAGE_TOKENS;
    parts.push(part);
  }
  return { role: 'user', message: { role: 'user', content: parts }, tokens };
}

async function partOf(block: ContentBlock, workspaceId: WorkspaceId, { readImage }: PromptDeps): Promise<object> {
  if (block.type === 'image_url') return { type: 'image_url', image_url: block.image_url };
  if (block.type !== 'image_file') return { type: 'text', text: textOf([block]) };
  const { file_id, detail } = block.image_file;
  return { type: 'image_url', image_url: { url: await readImage(workspaceId, file_id), detail } };
}

const textOf = (blocks: readonly ContentBlock[]): string =>
  blocks
    .map((block) => (block.type === 'text' ? block.text.value : block.type === 'refusal' ? block.refusal : ''))
    .filter(Boolean)
    .join('\n');

/** What this run has said, called and been told, call by call. Never trimmed: a call without its result is refused. */
async function ownExchanges(run: RunRow, { store }: PromptDeps): Promise<ChatMessage[]> {
  const steps = (await stepsOf(store.db, run.id)).filter(({ status }) => status === 'completed');
  const messages: ChatMessage[] = [];
  for (const ofCall of Map.groupBy(steps, ({ call }) => call).values()) {
    const exchanges = ofCall.flatMap(exchangesOf);
    const content = await saidIn(ofCall, store);
    const calls = exchanges.map(asToolCall);
    messages.push({ role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) });
    for (const { id, output } of exchanges) messages.push({ role: 'tool', tool_call_id: id, content: output ?? '' });
  }
  return messages;
}

async function saidIn(steps: readonly RunStepRow[], { db }: Store): Promise<string | null> {
  for (const step of steps) {
    const details = detailsOf(step);
    if (details.type !== 'message_creation') continue;
    const message = await messageById(db, details.message_creation.message_id);
    if (message && message.deleted_at === null) return textOf(JSON.parse(message.content)) || null;
  }
  return null;
}

const asToolCall = ({ id, name, arguments: text }: Exchange) => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});
