import type { JsonObject } from '../../dialects/ir.ts';
import { objectIn, objectsIn, present, textIn } from '../../dialects/json.ts';
import { asFunction } from '../../dialects/responses/hosted-items.ts';
import { shownTools } from '../../dialects/responses/shown-tools.ts';
import { begunResponse } from './begun-response.ts';
import type { Cited } from './cited-text.ts';
import type { ResponseFailure } from './failure.ts';
import type { HostedCall, HostedFunction, Ran, Shown } from './hosted-tool.ts';
import { type KeptOutput, type KnownItem, newRound, Outgoing, type PendingCall } from './outgoing.ts';
import { decisionsIn, type HostedRequest, itemsOf, roundBody, saidBefore } from './request.ts';
import { added } from './usage.ts';

/** A model that still wants tools after so many rounds has to answer without them. */
export const MOST_ROUNDS = 16;

export interface LoopDeps {
  readonly id: string;
  /** What was said before this request. */
  readonly earlier: readonly unknown[];
  /** Asks the model once. */
  readonly ask: (body: JsonObject) => Promise<Response>;
  /** The events of a round, also where it was answered whole. */
  readonly events: (response: Response) => AsyncIterable<JsonObject>;
  /** Keeps the response; awaited before the client is told that it is complete. */
  readonly keep: (response: JsonObject & { readonly id: string }) => Promise<void>;
  readonly newItemId: (by: string) => string;
  /** Writes down where the loop stands, with all that it has told so far; awaited before it goes on. */
  readonly reached?: (state: LoopState) => Promise<void>;
  /** When the response was asked for, in seconds, where that is known before a model answers. */
  readonly createdAt?: number;
  /** Items that were told before the loop had to begin its round again, by their place. */
  readonly known?: ReadonlyMap<number, KnownItem>;
}

/** A round that the model did not answer. */
export class RoundFailed extends Error {
  override readonly name = 'RoundFailed';
  readonly response: Response;

  constructor(response: Response) {
    super(`A round was answered with ${response.status}.`);
    this.response = response;
  }
}

/** A call of a tool as it is written down. */
interface KeptCall {
  readonly callId: string;
  /** Of its item. */
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Where a loop stands between two steps: all that another process needs to go on. Plain JSON. */
export interface LoopState {
  readonly round: number;
  /** What the model is told after what was said before. */
  readonly added: readonly unknown[];
  /** Items that the client has not been told yet. */
  readonly untold: readonly Shown[];
  /** How many of the calls that a person has allowed were run. */
  readonly approved: number;
  /** The answer of the round, while its calls are run. */
  readonly last: JsonObject | null;
  readonly pending: readonly KeptCall[];
  /** The model is asked again when the calls of the round have run. */
  readonly goesOn: boolean;
  /** The next call was begun by a tool that must not be called twice. */
  readonly isCalling: boolean;
  readonly output: KeptOutput;
  readonly usage: JsonObject | null;
  readonly createdAt: unknown;
  readonly calls: number;
  readonly cited: Cited;
}

/**
 * One response in several rounds: the model is asked, the tools that it calls are run, and it is asked again with what came of
 * them, until it calls none. The client sees one response, in the vendor's events.
 */
export class HostedLoop {
  readonly #request: HostedRequest;
  readonly #deps: LoopDeps;
  readonly #out: Outgoing;
  readonly #said: readonly unknown[];
  readonly #mostCalls: number;
  readonly #added: unknown[];
  readonly #isNew: boolean;
  #round: number;
  #untold: readonly Shown[];
  #approved: number;
  #last: JsonObject | null;
  #pending: readonly KeptCall[];
  #goesOn: boolean;
  #isCalling: boolean;
  #usage: JsonObject | null;
  #createdAt: unknown;
  #calls: number;

  constructor(request: HostedRequest, deps: LoopDeps, kept?: LoopState) {
    const { body, functions } = request;
    const state = kept ?? begun(request, deps);
    this.#isNew = kept === undefined;
    this.#request = request;
    this.#deps = deps;
    const include = new Set(Array.isArray(body.include) ? (body.include as string[]) : []);
    this.#out = new Outgoing(functions, include, { output: state.output, known: deps.known });
    this.#out.citables.add(request);
    this.#out.citables.add(state.cited);
    this.#mostCalls = typeof body.max_tool_calls === 'number' ? body.max_tool_calls : Number.POSITIVE_INFINITY;
    this.#said = saidBefore(deps.earlier, itemsOf(body.input));
    this.#added = [...state.added];
    this.#round = state.round;
    this.#untold = state.untold;
    this.#approved = state.approved;
    this.#last = state.last;
    this.#pending = state.pending;
    this.#goesOn = state.goesOn;
    this.#isCalling = state.isCalling;
    this.#usage = state.usage;
    this.#createdAt = state.createdAt;
    this.#calls = state.calls;
  }

  /** Asks for the first time. What comes of it is a failure, or the events of the response. */
  async start(): Promise<Response | AsyncGenerator<JsonObject>> {
    await this.#runApproved();
    const response = await this.#asked();
    return response.ok ? this.#play(response) : response;
  }

  /** The events from where it stands. No client waits for the first answer, so a failure of it is thrown, too. */
  async *goOn(): AsyncGenerator<JsonObject> {
    if (this.#isNew) await this.#reached();
    await this.#runApproved();
    yield* this.#play(null);
  }

  /** The response as it stands, with what the client asked for in the place of what the model was asked. */
  shaped(response: JsonObject, isWhole = false): JsonObject & { readonly id: string } {
    const { body } = this.#request;
    return present({
      ...response,
      id: this.#deps.id,
      created_at: this.#createdAt ?? response.created_at,
      background: body.background === true || undefined,
      conversation: body.conversation ? { id: idOf(body.conversation) } : undefined,
      previous_response_id: body.previous_response_id ?? null,
      max_tool_calls: body.max_tool_calls ?? undefined,
      store: body.store !== false,
      tools: shownTools(body.tools ?? []),
      tool_choice: body.tool_choice ?? 'auto',
      output: isWhole ? this.#out.output.filter(Boolean) : this.#out.shown.filter(Boolean),
      usage: this.#usage ?? undefined,
    }) as JsonObject & { readonly id: string };
  }

  /** The response as it stands when it cannot go on. */
  failed(error: ResponseFailure, now: number): JsonObject {
    return this.shaped({ ...begunResponse(this.#request.body, now), status: 'failed', error });
  }

  get #state(): LoopState {
    return {
      ...{ round: this.#round, added: this.#added, untold: this.#untold, approved: this.#approved, last: this.#last },
      ...{ pending: this.#pending, goesOn: this.#goesOn, isCalling: this.#isCalling, output: this.#out.kept },
      ...{ usage: this.#usage, createdAt: this.#createdAt, calls: this.#calls, cited: this.#out.citables.all },
    };
  }

  async #reached(): Promise<void> {
    await this.#deps.reached?.(this.#state);
  }

  #asked(): Promise<Response> {
    const isLast = this.#round >= MOST_ROUNDS - 1 || this.#calls >= this.#mostCalls;
    const body = roundBody(this.#request, { isFirst: this.#round === 0, isLast });
    return this.#deps.ask({ ...body, input: [...this.#said, ...this.#added] });
  }

  /** `first`: the answer of the first round, where it was asked already. */
  async *#play(first: Response | null): AsyncGenerator<JsonObject> {
    let response = first;
    for (;;) {
      if (!this.#last) {
        response ??= await this.#asked();
        if (!response.ok) throw new RoundFailed(response);
        yield* this.#take(response);
        response = null;
        if (this.#pending.length > 0) await this.#reached();
      }
      while (this.#pending.length > 0) {
        yield* this.#run(this.#pending[0]!);
        this.#pending = this.#pending.slice(1);
        if (this.#pending.length > 0 || this.#goesOn) await this.#reached();
      }
      if (!this.#goesOn) return yield* this.#end(this.#last!);
      this.#last = null;
      this.#round++;
    }
  }

  /** One answer of the model. */
  async *#take(response: Response): AsyncGenerator<JsonObject> {
    const taken = newRound();
    for await (const event of this.#deps.events(response)) {
      if (event.type === 'response.created' || event.type === 'response.in_progress') {
        // Of a response in the background, that was told before.
        if (this.#round > 0 || this.#deps.reached) continue;
        this.#createdAt ??= objectIn(event.response).created_at;
        yield this.#out.numbered({ ...event, response: this.shaped(objectIn(event.response)) });
        continue;
      }
      for (const shown of this.#untold) yield* this.#out.whole(shown);
      this.#untold = [];
      yield* this.#out.take(event, taken);
    }
    if (!taken.last) throw new Error('the stream of a round ended before its response did');
    // The client's own tools take the place of those that the model was given, which may hold secrets.
    const { output: _, tools: __, ...last } = taken.last;
    this.#createdAt ??= last.created_at;
    this.#usage = added(this.#usage, last.usage);
    this.#added.push(...taken.items.flatMap(replayed));
    this.#last = last;
    const isOver = last.status !== 'completed' || taken.pending.length === 0;
    this.#pending = isOver ? [] : taken.pending.map((call) => this.#kept(call));
    this.#goesOn = !isOver && !taken.hasClientCalls;
  }

  #kept({ callId, arguments: args, by }: PendingCall): KeptCall {
    return { callId, id: this.#deps.newItemId(by.item), name: by.name, arguments: args };
  }

  /** Runs a call of the round, or asks a person about it. */
  async *#run({ callId, id, name, arguments: args }: KeptCall): AsyncGenerator<JsonObject> {
    const answered = (output: string) => this.#added.push({ type: 'function_call_output', call_id: callId, output });
    const by = this.#request.functions.get(name);
    const ordinal = this.#calls;
    const told = new Told();
    const call: HostedCall = { id, arguments: args, ordinal, tell: (event) => told.add(event) };
    const asked = this.#isCalling ? null : by?.asks?.(call);
    if (asked) {
      this.#goesOn = false;
      yield* this.#out.whole({ item: asked, events: [] });
    } else if (!by) answered(GONE);
    else if (ordinal >= this.#mostCalls) answered(TOO_MANY);
    else {
      const run = await this.#about(by, call);
      const begun = by.begins(call);
      const place = yield* this.#out.begin(begun);
      const running = run();
      for await (const event of told.during(running)) yield* this.#out.beside(begun.item, place, [event]);
      const ran = await running;
      this.#out.citables.add(ran);
      yield* this.#out.end(ran, place);
      answered(ran.output);
    }
    this.#calls++;
  }

  /**
   * How a call is made that is about to begin. A tool that may change something is not called again when it is not known what
   * came of the first time, so its call is written down before it.
   */
  async #about(by: HostedFunction, call: HostedCall): Promise<() => Promise<Ran>> {
    const { interrupted } = by;
    if (interrupted && this.#isCalling) {
      this.#isCalling = false;
      return async () => interrupted(call);
    }
    if (interrupted && this.#deps.reached) {
      this.#isCalling = true;
      await this.#reached();
    }
    return async () => {
      const ran = await by.runs(call);
      this.#isCalling = false;
      return ran;
    };
  }

  /** Calls that a person has allowed, which the model asked for in an earlier response. */
  async #runApproved(): Promise<void> {
    const allowed = decisionsIn(this.#deps.earlier, itemsOf(this.#request.body.input)).filter(
      (each) => each.isApproved,
    );
    for (const { request } of allowed.slice(this.#approved)) {
      const shown = await this.#approvedCall(request);
      this.#untold = [...this.#untold, shown];
      this.#approved++;
      this.#calls++;
      await this.#reached();
    }
  }

  async #approvedCall(request: JsonObject): Promise<Shown> {
    const { functions } = this.#request;
    const by = [...functions.values()].find((each) => each.isChosenBy({ ...request, type: 'mcp' }));
    const args = textIn(request.arguments) || '{}';
    const call: HostedCall = {
      id: this.#deps.newItemId('mcp_call'),
      arguments: args,
      ordinal: this.#calls,
      approvalId: textIn(request.id),
    };
    const begun = by?.begins(call).events ?? [];
    const ran = by
      ? await (await this.#about(by, call))()
      : {
          item: { ...request, ...GONE_ITEM, id: call.id },
          events: [{ type: 'response.mcp_call.failed' }],
          output: GONE,
        };
    this.#added.push(...asFunction({ id: call.id, name: by?.name ?? 'unknown', arguments: args, output: ran.output }));
    return { item: { ...ran.item, approval_request_id: request.id }, events: [...begun, ...ran.events] };
  }

  async *#end(last: JsonObject): AsyncGenerator<JsonObject> {
    if (last.status !== 'failed') await this.#deps.keep(this.shaped(last, true));
    const type = `response.${textIn(last.status) ?? 'completed'}`;
    yield this.#out.numbered({ type, response: this.shaped(last) });
  }
}

/** What a call has to tell while it runs. */
class Told {
  #events: JsonObject[] = [];
  #wake = Promise.withResolvers<void>();

  add(event: JsonObject): void {
    this.#events.push(event);
    this.#wake.resolve();
  }

  /** Until the call has ended; how is not its affair. */
  async *during(running: Promise<unknown>): AsyncGenerator<JsonObject> {
    let isOver = false;
    const end = () => {
      isOver = true;
      this.#wake.resolve();
    };
    running.then(end, end);
    for (;;) {
      await this.#wake.promise;
      this.#wake = Promise.withResolvers<void>();
      yield* this.#events.splice(0);
      if (isOver) return;
    }
  }
}

/** Where a loop stands before anything was done. */
const begun = ({ before }: HostedRequest, { earlier, createdAt }: LoopDeps): LoopState => ({
  ...{ round: 0, added: [], approved: 0, last: null, pending: [], goesOn: false, isCalling: false },
  untold: before.filter(({ item }) => !isListed(item, earlier)),
  ...{ output: [], usage: null, createdAt: createdAt ?? null, calls: 0, cited: { citables: [], links: [] } },
});

export const TOO_MANY = 'No more tools may be called; answer with what there is.';
const GONE = 'This tool is not there any more.';
/** With JSON-RPC's number for what a server does not know. */
const GONE_ITEM = {
  ...{ type: 'mcp_call', status: 'failed', output: null },
  error: { type: 'mcp_protocol_error', code: -32_602, message: GONE },
};

const idOf = (conversation: unknown): string =>
  typeof conversation === 'string' ? conversation : (textIn(objectIn(conversation).id) ?? '');

const isListed = ({ type, server_label }: JsonObject, earlier: readonly unknown[]): boolean =>
  objectsIn(earlier).some((item) => item.type === type && item.server_label === server_label);

/** An item of a round as it is said again in the next: it is stored nowhere, so nothing may refer to it. */
function replayed(item: JsonObject): JsonObject[] {
  if (item.type === 'reasoning' && typeof item.encrypted_content !== 'string') return [];
  const { id, status, ...rest } = item;
  return [item.type === 'reasoning' ? { id, ...rest } : rest];
}
