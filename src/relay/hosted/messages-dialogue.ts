import { newObjectId } from '../../core/object-ids.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject, objectIn, objectsIn, parsed, textIn } from '../../dialects/json.ts';
import { mcpFunctionName } from '../../dialects/responses/hosted-items.ts';
import type { Dialogue, OwnCall, OwnResult } from './dialogue.ts';
import type { HostedFunction } from './hosted-tool.ts';
import type { Round } from './request.ts';
import { added } from './usage.ts';

/** A block of a round as its pieces come. */
interface Growing {
  block: Record<string, unknown>;
  json: string;
  /** Its number for the client; null: it is a call that runs here. */
  readonly place: number | null;
}

/** Which server and tool a function stands for. */
export interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

/** Messages. Calls that run here are blocks as at the vendor: `mcp_tool_use` and `mcp_tool_result`. */
export class MessagesDialogue implements Dialogue {
  pending: OwnCall[] = [];
  isWhole = false;
  readonly #body: JsonObject;
  readonly #tools: readonly unknown[];
  readonly #functions: ReadonlyMap<string, HostedFunction>;
  readonly #names: ReadonlyMap<string, NamedTool>;
  readonly #messages: unknown[];
  /** What the client gets. */
  readonly #content: JsonObject[] = [];
  #message: JsonObject | null = null;
  #usage: JsonObject | null = null;
  #roundUsage: JsonObject = {};
  #delta: JsonObject = {};
  #places = 0;
  #blocks = new Map<number, Growing>();
  #results: JsonObject[] = [];

  constructor(
    body: JsonObject,
    tools: readonly unknown[],
    functions: ReadonlyMap<string, HostedFunction>,
    names: ReadonlyMap<string, NamedTool>,
  ) {
    this.#body = body;
    this.#tools = tools;
    this.#functions = functions;
    this.#names = names;
    this.#messages = plainMessages(body.messages);
  }

  asks(round: Round): JsonObject {
    const own = [...this.#functions.values()].map(({ name, description, parameters }) => ({
      ...{ name, description, input_schema: parameters },
    }));
    const tools = [...this.#tools, ...own];
    const { tools: _, ...rest } = this.#body;
    const { tool_choice: __, ...bare } = rest;
    if (tools.length === 0) return { ...bare, messages: this.#messages };
    return { ...rest, tools, ...this.#choiceOf(round), messages: this.#messages };
  }

  #choiceOf({ isFirst, isLast }: Round): JsonObject {
    const { tool_choice: choice } = this.#body;
    if (isLast) return { tool_choice: { type: 'none' } };
    if (!isObject(choice) || isFirst) return choice === undefined ? {} : { tool_choice: choice };
    const { name: _, ...rest } = choice;
    return { tool_choice: choice.type === 'none' ? choice : { ...rest, type: 'auto' } };
  }

  *take(event: JsonObject): Generator<JsonObject> {
    const index = typeof event.index === 'number' ? event.index : 0;
    switch (event.type) {
      case 'message_start': {
        const message = objectIn(event.message);
        this.#roundUsage = { ...objectIn(message.usage) };
        if (this.#message) return;
        this.#message = message;
        yield event;
        return;
      }
      case 'content_block_start': {
        const block = this.#begun(index, objectIn(event.content_block));
        if (block.place !== null) yield { ...event, index: block.place };
        return;
      }
      case 'content_block_delta': {
        const block = this.#blocks.get(index);
        if (!block) return;
        grow(block, objectIn(event.delta));
        if (block.place !== null) yield { ...event, index: block.place };
        return;
      }
      case 'content_block_stop': {
        const block = this.#blocks.get(index);
        if (block && block.place !== null) yield { ...event, index: block.place };
        return;
      }
      case 'message_delta':
        // It repeats what the first event said, and says what that did not know.
        this.#roundUsage = { ...this.#roundUsage, ...known(objectIn(event.usage)) };
        this.#delta = objectIn(event.delta);
        return;
      case 'message_stop':
        this.#finish();
        return;
      default:
        yield event;
    }
  }

  takeWhole(answer: JsonObject): void {
    const { content, usage, stop_reason, stop_sequence } = answer;
    this.#roundUsage = objectIn(usage);
    this.#message = { ...answer, ...(this.#message && { id: this.#message.id }) };
    this.#delta = { stop_reason, stop_sequence };
    for (const [index, block] of objectsIn(content).entries()) {
      const begun = this.#begun(index, block);
      begun.json = block.type === 'tool_use' ? JSON.stringify(block.input ?? {}) : '';
      if (begun.place !== null) this.#content[begun.place] = block;
    }
    this.#finish();
  }

  *ran(call: OwnCall, { output, isError }: OwnResult): Generator<JsonObject> {
    const { server, tool } = this.#names.get(call.by.name)!;
    this.#results.push({
      ...{ type: 'tool_result', tool_use_id: call.callId, content: output },
      ...(isError && { is_error: true }),
    });
    const id = newObjectId('mcpToolUse');
    const used = { type: 'mcp_tool_use', id, name: tool, server_name: server };
    const input = objectIn(parsed(call.arguments));
    yield* this.#shown({ ...used, input }, [
      { type: 'content_block_start', content_block: { ...used, input: {} } },
      { type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) } },
    ]);
    const content = [{ type: 'text', text: output }];
    const result = { type: 'mcp_tool_result', tool_use_id: id, is_error: isError, content };
    yield* this.#shown(result, [{ type: 'content_block_start', content_block: result }]);
  }

  next(): void {
    const said = [...this.#blocks.values()].map(finished);
    this.#messages.push({ role: 'assistant', content: said }, { role: 'user', content: this.#results });
    this.pending = [];
    this.isWhole = false;
    this.#results = [];
    this.#blocks = new Map();
  }

  *end(): Generator<JsonObject> {
    yield { type: 'message_delta', delta: { ...this.#delta, ...this.#reason() }, usage: this.#usage ?? {} };
    yield { type: 'message_stop' };
  }

  whole(): JsonObject {
    return {
      ...this.#message,
      ...this.#delta,
      ...this.#reason(),
      content: this.#content.filter(Boolean),
      ...(this.#usage && { usage: this.#usage }),
    };
  }

  *#shown(block: JsonObject, events: readonly JsonObject[]): Generator<JsonObject> {
    const index = this.#places++;
    this.#content[index] = block;
    for (const event of events) yield { ...event, index };
    yield { type: 'content_block_stop', index };
  }

  #begun(index: number, block: JsonObject): Growing {
    const isOurs = block.type === 'tool_use' && this.#functions.has(textIn(block.name) ?? '');
    const begun: Growing = { block: { ...block }, json: '', place: isOurs ? null : this.#places++ };
    this.#blocks.set(index, begun);
    return begun;
  }

  get #hasClientCalls(): boolean {
    return [...this.#blocks.values()].some(({ block, place }) => block.type === 'tool_use' && place !== null);
  }

  #finish(): void {
    this.isWhole = true;
    this.#usage = added(this.#usage, this.#roundUsage);
    this.#roundUsage = {};
    const isCalling = this.#delta.stop_reason === 'tool_use' || this.#delta.stop_reason === undefined;
    if (this.#hasClientCalls || !isCalling) return;
    this.pending = [...this.#blocks.values()].flatMap(({ block, json, place }) => {
      if (place !== null) return [];
      const by = this.#functions.get(textIn(block.name) ?? '')!;
      return [{ callId: textIn(block.id) ?? '', arguments: json || '{}', by }];
    });
  }

  /** Calls that run here are no reason for a client. */
  #reason = (): JsonObject =>
    this.#delta.stop_reason === 'tool_use' && !this.#hasClientCalls ? { stop_reason: 'end_turn' } : {};
}

const known = (usage: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));

function grow(growing: Growing, delta: JsonObject): void {
  const { block } = growing;
  const more = (member: string) => {
    block[member] = `${textIn(block[member]) ?? ''}${textIn(delta[member]) ?? ''}`;
  };
  if (delta.type === 'text_delta') more('text');
  else if (delta.type === 'thinking_delta') more('thinking');
  else if (delta.type === 'signature_delta') more('signature');
  else if (delta.type === 'input_json_delta') growing.json += textIn(delta.partial_json) ?? '';
  else if (delta.type === 'citations_delta')
    block.citations = [...objectsIn(block.citations), objectIn(delta.citation)];
}

/** As it is said again in the next round. */
const finished = ({ block, json }: Growing): JsonObject =>
  block.type === 'tool_use' ? { ...block, input: objectIn(parsed(json || '{}')) } : block;

/**
 * Messages in which earlier calls that ran here are calls of functions, as the model made them. Their results stand in the
 * middle of what the assistant said, which no model takes: its message is cut there.
 */
export function plainMessages(messages: unknown): unknown[] {
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message) => {
    const blocks = objectsIn(isObject(message) ? message.content : null);
    if (!isObject(message) || !blocks.some(({ type }) => type === 'mcp_tool_use')) return [message];
    const cut: { role: string; content: JsonObject[] }[] = [];
    const put = (role: string, block: JsonObject) => {
      const last = cut.at(-1);
      if (last?.role === role) last.content.push(block);
      else cut.push({ role, content: [block] });
    };
    // A call whose result is not there would be none that a model takes.
    const answered = new Set(blocks.map(({ tool_use_id: id }) => id));
    for (const block of blocks) {
      const { id, name, server_name: server, input, tool_use_id, content, is_error: isError } = block;
      if (block.type === 'mcp_tool_use') {
        const called = mcpFunctionName(textIn(server) ?? '', textIn(name) ?? '');
        if (answered.has(id)) put('assistant', { type: 'tool_use', id, name: called, input: input ?? {} });
      } else if (block.type === 'mcp_tool_result')
        put('user', { type: 'tool_result', tool_use_id, content, ...(isError === true && { is_error: true }) });
      else put('assistant', block);
    }
    return cut;
  });
}
