import { fail } from '../../core/errors.ts';
import { madeAt } from '../../core/object-ids.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject, objectsIn, textIn } from '../../dialects/json.ts';
import { INCLUDED_HERE, plainItems } from '../../dialects/responses/hosted-items.ts';
import type { HostedCaller, HostedFunction, HostedTool, Link, OpenTool, Shown } from './hosted-tool.ts';

/** A request of the Responses API of which the gateway runs some tools. */
export interface HostedRequest {
  /** As the client sent it, references resolved. */
  readonly body: JsonObject;
  /** By the name that the model calls. */
  readonly functions: ReadonlyMap<string, HostedFunction>;
  /** The types of tools that run here. */
  readonly types: ReadonlySet<string>;
  readonly before: readonly Shown[];
  readonly links: readonly Link[];
  readonly closes: readonly (() => Promise<void>)[];
  /** In the place of those that run here, functions. */
  readonly tools: readonly unknown[];
}

/** Opens the tools of a request that run here; null: none does. */
export async function openTools(
  body: JsonObject,
  offered: ReadonlyMap<string, HostedTool>,
  caller: HostedCaller,
): Promise<HostedRequest | null> {
  const closes: (() => Promise<void>)[] = [];
  try {
    return await opened(body, offered, caller, closes);
  } catch (error) {
    for (const close of closes) await close();
    throw error;
  }
}

async function opened(
  body: JsonObject,
  offered: ReadonlyMap<string, HostedTool>,
  caller: HostedCaller,
  closes: (() => Promise<void>)[],
): Promise<HostedRequest | null> {
  const given: readonly unknown[] = Array.isArray(body.tools) ? body.tools : [];
  const open = async (tool: unknown, index: number, by: HostedCaller): Promise<OpenTool | null> => {
    const made = isObject(tool) ? await offeredFor(tool)?.open(tool, `tools[${index}]`, by) : null;
    if (made?.close) closes.push(made.close);
    return made ?? null;
  };
  const offeredFor = (tool: JsonObject) => offered.get(textIn(tool.type) ?? '');
  const opens: (OpenTool | null)[] = [];
  for (const [index, tool] of given.entries()) opens.push(await open(tool, index, caller));
  // Where some run here, others that could go along.
  if (!caller.isKept && opens.some(Boolean))
    for (const [index, tool] of given.entries())
      if (!opens[index] && isObject(tool) && offeredFor(tool)?.standsIn)
        opens[index] = await open(tool, index, { ...caller, isKept: true });
  const functions = new Map<string, HostedFunction>();
  const types = new Set<string>();
  const before: Shown[] = [];
  const links: Link[] = [];
  const tools: unknown[] = [];
  for (const [index, tool] of given.entries()) {
    const at = `tools[${index}]`;
    const made = opens[index];
    if (!made || !isObject(tool)) {
      tools.push(tool);
      continue;
    }
    types.add(textIn(tool.type)!);
    if (made.before) before.push(made.before);
    links.push(...(made.links ?? []));
    for (const each of made.functions) {
      if (functions.has(each.name)) fail('invalid_request', at, `gives the model "${each.name}" a second time`);
      functions.set(each.name, each);
      const { name, description, parameters } = each;
      tools.push({ type: 'function', name, description, parameters, strict: false });
    }
  }
  for (const [index, tool] of objectsIn(given).entries())
    if (tool.type === 'function' && functions.has(textIn(tool.name) ?? ''))
      fail('invalid_request', `tools[${index}].name`, `is the name of a tool that the gateway runs; choose another`);
  return types.size === 0 ? null : { body, functions, types, before, links, closes, tools };
}

/** Members that are the gateway's affair with every provider. */
const OURS = new Set(['previous_response_id', 'conversation', 'background', 'store', 'max_tool_calls', 'include']);

/** What the model is asked in each round, but for the input. */
export function roundBody({ body, functions, tools }: HostedRequest, { isFirst, isLast }: Round): JsonObject {
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !OURS.has(name)));
  const include = (Array.isArray(body.include) ? body.include : []).filter((each) => !INCLUDED_HERE.includes(each));
  return {
    ...rest,
    ...(tools.length > 0 && { tools }),
    ...(include.length > 0 && { include }),
    ...choiceOf(body.tool_choice, functions, { isFirst, isLast }),
    store: false,
  };
}

export interface Round {
  readonly isFirst: boolean;
  /** The model has to answer now: no tool is called any more. */
  readonly isLast: boolean;
}

/** A tool that had to be called has been, after the first round: else the model would call it for ever. */
function choiceOf(choice: unknown, functions: HostedRequest['functions'], { isFirst, isLast }: Round) {
  if (isLast) return { tool_choice: 'none' };
  if (choice === undefined || choice === null) return {};
  if (!isFirst) return { tool_choice: choice === 'none' ? 'none' : 'auto' };
  if (!isObject(choice) || choice.type === 'function') return { tool_choice: choice };
  const chosen = [...functions.values()].filter((each) => each.isChosenBy(choice));
  if (chosen.length === 1) return { tool_choice: { type: 'function', name: chosen[0]!.name } };
  return { tool_choice: chosen.length > 1 ? 'required' : choice };
}

/** A request's own input as items. */
export const itemsOf = (input: unknown): unknown[] => {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return Array.isArray(input) ? input : [];
};

/** What a person has said about calls that were asked for: an approval or a refusal, and the item that asked. */
export interface Decision {
  readonly request: JsonObject;
  readonly isApproved: boolean;
  readonly reason: string | null;
}

/** As long as a response is kept. In a conversation, which stays, an old question is not answered either. */
const DECIDED_WITHIN_MS = 30 * 86_400_000;

export function decisionsIn(earlier: readonly unknown[], input: readonly unknown[]): Decision[] {
  const requests = new Map(
    objectsIn([...earlier, ...input]).flatMap((item) =>
      item.type === 'mcp_approval_request' && typeof item.id === 'string' ? [[item.id, item] as const] : [],
    ),
  );
  const done = new Set(objectsIn(earlier).map(({ approval_request_id }) => approval_request_id));
  return input.flatMap((item, index) => {
    if (!isObject(item) || item.type !== 'mcp_approval_response') return [];
    const at = `input[${index}]`;
    const id = textIn(item.approval_request_id) ?? '';
    if (typeof item.approve !== 'boolean') fail('invalid_request', `${at}.approve`, 'must be true or false');
    const request = requests.get(id);
    if (!request)
      return fail(
        'invalid_request',
        `${at}.approval_request_id`,
        `no call was asked for by "${id.slice(0, 80)}" before`,
      );
    const askedAt = madeAt('mcpApproval', id);
    if (askedAt !== null && Date.now() - askedAt > DECIDED_WITHIN_MS)
      fail(
        'invalid_request',
        `${at}.approval_request_id`,
        'was asked for more than 30 days ago; let the model ask again',
      );
    if (done.has(id)) fail('invalid_request', `${at}.approval_request_id`, 'was decided before');
    done.add(id);
    return [{ request, isApproved: item.approve === true, reason: textIn(item.reason) ?? null }];
  });
}

/** What the model is told of a conversation. */
export const saidBefore = (earlier: readonly unknown[], input: readonly unknown[]): unknown[] =>
  plainItems([...earlier, ...input]);
