import type { JsonObject } from '../../dialects/ir.ts';
import { isObject, objectIn, objectsIn, textIn } from '../../dialects/json.ts';
import type { Dialogue, OwnCall, OwnResult } from './dialogue.ts';
import type { HostedFunction } from './hosted-tool.ts';
import type { Round } from './request.ts';
import { added } from './usage.ts';

/** A call as its pieces come. */
interface Growing {
  id: string;
  name: string;
  arguments: string;
  /** Its number for the client; null: it runs here. */
  place: number | null;
  rest: JsonObject;
}

/** Members of an answer's message that no request takes. */
const OF_ANSWERS = new Set(['refusal', 'annotations', 'audio', 'function_call']);
/** Of several rounds, one text: what was said before a tool was called and what was said after it. */
const BETWEEN = '\n\n';

/** Chat completions. The client sees the texts, its own calls and one end; of calls that run here it sees nothing. */
export class ChatDialogue implements Dialogue {
  pending: OwnCall[] = [];
  isWhole = false;
  readonly #body: JsonObject;
  readonly #tools: readonly unknown[];
  readonly #functions: ReadonlyMap<string, HostedFunction>;
  readonly #messages: unknown[];
  #frame: JsonObject | null = null;
  #usage: JsonObject | null = null;
  #answer: JsonObject = {};
  #choice: JsonObject = {};
  /** The text of all rounds, and of this one. */
  #text = '';
  #roundText = '';
  /** What else a message of this round has, such as thoughts. */
  #roundRest: Record<string, unknown> = {};
  #calls = new Map<number, Growing>();
  #results: JsonObject[] = [];

  constructor(body: JsonObject, tools: readonly unknown[], functions: ReadonlyMap<string, HostedFunction>) {
    this.#body = body;
    this.#tools = tools;
    this.#functions = functions;
    this.#messages = Array.isArray(body.messages) ? [...body.messages] : [];
  }

  asks(round: Round): JsonObject {
    const own = [...this.#functions.values()].map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, description, parameters },
    }));
    const tools = [...this.#tools, ...own];
    const { tools: _, ...rest } = this.#body;
    const { tool_choice: __, ...bare } = rest;
    if (tools.length === 0) return { ...bare, messages: this.#messages };
    return { ...rest, tools, ...this.#choiceOf(round), messages: this.#messages };
  }

  /** A tool that had to be called has been, after the first round. */
  #choiceOf({ isFirst, isLast }: Round): JsonObject {
    const { tool_choice: choice } = this.#body;
    if (isLast) return { tool_choice: 'none' };
    if (choice === undefined || choice === null) return {};
    if (!isFirst) return { tool_choice: choice === 'none' ? 'none' : 'auto' };
    if (!isObject(choice) || choice.type !== 'mcp') return { tool_choice: choice };
    const chosen = [...this.#functions.values()].filter((each) => each.isChosenBy(choice));
    if (chosen.length !== 1) return { tool_choice: 'required' };
    return { tool_choice: { type: 'function', function: { name: chosen[0]!.name } } };
  }

  *take(event: JsonObject): Generator<JsonObject> {
    const { choices, usage, ...frame } = event;
    this.#usage = added(this.#usage, usage);
    const [choice] = objectsIn(choices);
    if (!choice) return;
    const isFirst = this.#frame === null;
    this.#frame ??= frame;
    const { content, tool_calls: calls, role, ...rest } = objectIn(choice.delta);
    const told: Record<string, unknown> = { ...rest };
    if (isFirst && role !== undefined) told.role = role;
    if (typeof content === 'string' && content !== '') told.content = this.#said(content);
    else if (isFirst && content !== undefined) told.content = content;
    for (const [name, value] of Object.entries(rest))
      if (typeof value === 'string' && !OF_ANSWERS.has(name))
        this.#roundRest[name] = `${this.#roundRest[name] ?? ''}${value}`;
    const shown = objectsIn(calls).flatMap((call) => this.#grown(call));
    if (shown.length > 0) told.tool_calls = shown;
    const { finish_reason: reason, delta: _, ...beside } = choice;
    if (Object.keys(told).length > 0) yield this.#chunk([{ ...beside, delta: told, finish_reason: null }]);
    if (reason !== undefined && reason !== null) this.#finish(choice);
  }

  takeWhole(answer: JsonObject): void {
    this.#usage = added(this.#usage, answer.usage);
    this.#answer = answer;
    const [choice = {}] = objectsIn(answer.choices);
    const { content, tool_calls: calls, role: _, ...rest } = objectIn(choice.message);
    if (typeof content === 'string' && content !== '') this.#said(content);
    this.#roundRest = Object.fromEntries(
      Object.entries(rest).filter(([name, value]) => value !== null && !OF_ANSWERS.has(name)),
    );
    for (const [index, call] of objectsIn(calls).entries()) this.#grown({ index, ...call });
    this.#finish(choice);
  }

  ran({ callId }: OwnCall, { output }: OwnResult): JsonObject[] {
    this.#results.push({ role: 'tool', tool_call_id: callId, content: output });
    return [];
  }

  next(): void {
    const calls = [...this.#calls.values()].map(({ id, name, arguments: args, rest }) => ({
      ...rest,
      ...{ id, type: 'function', function: { ...objectIn(rest.function), name, arguments: args } },
    }));
    this.#messages.push(
      { ...this.#roundRest, role: 'assistant', content: this.#roundText || null, tool_calls: calls },
      ...this.#results,
    );
    this.pending = [];
    this.isWhole = false;
    this.#results = [];
    this.#calls = new Map();
    this.#roundText = '';
    this.#roundRest = {};
  }

  *end(): Generator<JsonObject> {
    const { delta: _, message: __, ...choice } = this.#choice;
    yield this.#chunk([{ ...choice, delta: {}, finish_reason: this.#reason() }]);
    if (objectIn(this.#body.stream_options).include_usage === true)
      yield { ...this.#chunk([]), usage: this.#usage ?? null };
  }

  whole(): JsonObject {
    const { message, ...choice } = this.#choice;
    const { tool_calls: _, ...rest } = objectIn(message);
    const calls = this.#ofClient().map(({ id, name, arguments: args, rest: more }) => ({
      ...more,
      ...{ id, type: more.type ?? 'function', function: { ...objectIn(more.function), name, arguments: args } },
    }));
    const said = {
      ...rest,
      content: this.#text || (rest.content ?? null),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    return {
      ...this.#answer,
      choices: [{ ...choice, message: said, finish_reason: this.#reason() }],
      ...(this.#usage && { usage: this.#usage }),
    };
  }

  /** What is added to the text. */
  #said(content: string): string {
    const added = this.#roundText === '' && this.#text !== '' ? BETWEEN + content : content;
    this.#roundText += content;
    this.#text += added;
    return added;
  }

  /** A piece of a call, as far as the client hears of it. */
  #grown(piece: JsonObject): JsonObject[] {
    const index = typeof piece.index === 'number' ? piece.index : 0;
    const { name, arguments: args, ...more } = objectIn(piece.function);
    let call = this.#calls.get(index);
    if (!call) {
      const isOurs = this.#functions.has(textIn(name) ?? '');
      const { index: _, id: __, ...rest } = piece;
      call = { id: '', name: '', arguments: '', place: isOurs ? null : this.#ofClient().length, rest };
      call.rest = { ...rest, function: more };
      this.#calls.set(index, call);
    }
    call.id ||= textIn(piece.id) ?? '';
    call.name ||= textIn(name) ?? '';
    call.arguments += textIn(args) ?? '';
    return call.place === null ? [] : [{ ...piece, index: call.place }];
  }

  #ofClient = (): Growing[] => [...this.#calls.values()].filter(({ place }) => place !== null);

  #finish(choice: JsonObject): void {
    this.isWhole = true;
    this.#choice = choice;
    if (this.#ofClient().length > 0) return;
    this.pending = [...this.#calls.values()].map(({ id, name, arguments: args }) => ({
      ...{ callId: id, arguments: args || '{}', by: this.#functions.get(name)! },
    }));
  }

  /** Calls that run here are no reason for a client. */
  #reason(): unknown {
    const { finish_reason: reason } = this.#choice;
    return reason === 'tool_calls' && this.#ofClient().length === 0 ? 'stop' : reason;
  }

  #chunk = (choices: readonly JsonObject[]): JsonObject => ({ ...this.#frame, choices });
}
