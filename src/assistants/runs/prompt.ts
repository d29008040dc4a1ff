import type { Tokens } from '../../core/tokens.ts';
import type { RunCallRow, RunRow, RunStepRow } from '../../storage/schema.ts';
import type { Store } from '../../storage/store.ts';
import type { Tool } from '../tools.ts';
import { type BuiltInTools, isBuiltIn, placeOf, type ThreadPlace } from './built-in.ts';
import { failRun, RunEnds } from './failures.ts';
import { type ChatMessage, chatMessageOf, historyOf, type ReadImage, textOf } from './history.ts';
import { imagesTogether } from './images.ts';
import { charactersFor, fit, roomFor } from './room.ts';
import { messageById, stepsOf } from './rows.ts';
import { bodyOf, type RunBody } from './run.ts';
import { detailsOf, type Exchange, exchangesOf } from './step.ts';

export interface PromptDeps {
  readonly store: Store;
  readonly readImage: ReadImage;
  readonly tokens: Tokens;
  readonly builtIns: BuiltInTools;
}

/** The body of a chat call, and how many tokens it has, counted only when asked for. */
export interface Prompt {
  readonly body: string;
  readonly tokens: () => Promise<number>;
}

/** What the model is asked in this call of the run: instructions, the thread, and what the run has done so far. */
export async function buildPrompt(run: RunRow, call: RunCallRow, deps: PromptDeps): Promise<Prompt> {
  const body = bodyOf(run);
  const room = roomFor(run);
  const system: ChatMessage[] = body.instructions ? [{ role: 'system', content: body.instructions }] : [];
  const own = await ownExchanges(run, deps);
  const tools = await offeredTools(run, body, deps.builtIns);
  const history = await historyOf(deps.store.db, run, charactersFor(room));
  const fixed = [body.instructions, ...own.map((message) => JSON.stringify(message)), JSON.stringify(tools ?? '')];
  const { kept, tokens } = await fit({ fixed, history, body }, room, deps.tokens);
  const messages = [...system];
  const readImage = imagesTogether(deps.readImage);
  for (const saying of kept) messages.push(await chatMessageOf(saying, run, readImage));
  messages.push(...own);
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
    tokens,
  };
}

/** Settings that neither the run nor its assistant chose are left to the model. */
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

/** A built-in tool that is named twice is one tool. */
async function offeredTools(run: RunRow, body: RunBody, builtIns: BuiltInTools): Promise<object[] | null> {
  if (body.tools.length === 0 || body.tool_choice === 'none') return null;
  const offers: object[] = [];
  const once = new Map(body.tools.map((tool) => [isBuiltIn(tool.type) ? tool.type : tool, tool]));
  for (const tool of once.values())
    offers.push({ type: 'function', function: await offered(tool, body, placeOf(run), builtIns) });
  return offers;
}

async function offered(tool: Tool, body: RunBody, place: ThreadPlace, builtIns: BuiltInTools): Promise<object> {
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
  return { name: tool.type, ...(await builtIn.offer(tool, body, place)) };
}

/** A forced choice holds for the first call only: held to it for ever, the model could never answer. */
function choiceOf({ tool_choice: choice }: RunBody, { number }: RunCallRow): { tool_choice?: unknown } {
  if (choice === 'auto' || choice === 'none' || number > 1) return {};
  if (typeof choice === 'string') return { tool_choice: choice };
  const name = choice.type === 'function' ? choice.function.name : choice.type;
  return { tool_choice: { type: 'function', function: { name } } };
}

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
