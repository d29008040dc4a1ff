import type { JsonObject } from '../../dialects/ir.ts';
import { objectIn, objectsIn, present, textIn } from '../../dialects/json.ts';
import { asFunction } from '../../dialects/responses/hosted-items.ts';
import type { HostedCall, Shown } from './hosted-tool.ts';
import { newRound, Outgoing, type PendingCall } from './outgoing.ts';
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

/**
 * One response in several rounds: the model is asked, the tools that it calls are run, and it is asked again with what came of
 * them, until it calls none. The client sees one response, in the vendor's events.
 */
export class HostedLoop {
  readonly #request: HostedRequest;
  readonly #deps: LoopDeps;
  readonly #out: Outgoing;
  readonly #input: unknown[];
  readonly #mostCalls: number;
  #usage: JsonObject | null = null;
  #createdAt: unknown = null;
  #calls = 0;

  constructor(request: HostedRequest, deps: LoopDeps) {
    const { body, functions } = request;
    this.#request = request;
    this.#deps = deps;
    this.#out = new Outgoing(functions, new Set(Array.isArray(body.include) ? (body.include as string[]) : []));
    this.#out.citables.add(request);
    this.#mostCalls = typeof body.max_tool_calls === 'number' ? body.max_tool_calls : Number.POSITIVE_INFINITY;
    this.#input = saidBefore(deps.earlier, itemsOf(body.input));
  }

  /** Asks for the first time. What comes of it is a failure, or the events of the response. */
  async start(): Promise<Response | AsyncGenerator<JsonObject>> {
    const { earlier } = this.#deps;
    const untold: Shown[] = this.#request.before.filter(({ item }) => !isListed(item, earlier));
    for (const { request, isApproved } of decisionsIn(earlier, itemsOf(this.#request.body.input)))
      if (isApproved) untold.push(await this.#approved(request));
    const response = await this.#asked(0);
    return response.ok ? this.#play(response, untold) : response;
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
      tools: body.tools ?? [],
      tool_choice: body.tool_choice ?? 'auto',
      output: isWhole ? this.#out.output.filter(Boolean) : this.#out.shown.filter(Boolean),
      usage: this.#usage ?? undefined,
    }) as JsonObject & { readonly id: string };
  }

  #asked(round: number): Promise<Response> {
    const isLast = round >= MOST_ROUNDS - 1 || this.#calls >= this.#mostCalls;
    const body = roundBody(this.#request, { isFirst: round === 0, isLast });
    return this.#deps.ask({ ...body, input: this.#input });
  }

  async *#play(first: Response, told: readonly Shown[]): AsyncGenerator<JsonObject> {
    let response = first;
    let untold = told;
    for (let round = 0; ; round++) {
      const taken = newRound();
      for await (const event of this.#deps.events(response)) {
        if (event.type === 'response.created' || event.type === 'response.in_progress') {
          if (round > 0) continue;
          this.#createdAt ??= objectIn(event.response).created_at;
          yield this.#out.numbered({ ...event, response: this.shaped(objectIn(event.response)) });
          continue;
        }
        for (const shown of untold) yield* this.#out.whole(shown);
        untold = [];
        yield* this.#out.take(event, taken);
      }
      if (!taken.last) throw new Error('the stream of a round ended before its response did');
      this.#createdAt ??= taken.last.created_at;
      this.#usage = added(this.#usage, taken.last.usage);
      this.#input.push(...taken.items.flatMap(replayed));
      const isOver = taken.last.status !== 'completed' || taken.pending.length === 0;
      const isAsking = isOver ? false : yield* this.#run(taken.pending);
      if (isOver || isAsking || taken.hasClientCalls) return yield* this.#end(taken.last);
      response = await this.#asked(round + 1);
      if (!response.ok) throw new RoundFailed(response);
    }
  }

  /** Runs the calls of a round; answers whether a person is asked about one of them. */
  async *#run(pending: readonly PendingCall[]): AsyncGenerator<JsonObject, boolean> {
    let isAsking = false;
    for (const { callId, arguments: args, by } of pending) {
      const call: HostedCall = { id: this.#deps.newItemId(by.item), arguments: args, ordinal: this.#calls++ };
      const asked = by.asks?.(call);
      if (asked) {
        isAsking = true;
        yield* this.#out.whole({ item: asked, events: [] });
        continue;
      }
      const isTooMany = call.ordinal >= this.#mostCalls;
      if (!isTooMany) {
        const place = yield* this.#out.begin(by.begins(call));
        const ran = await by.runs(call);
        this.#out.citables.add(ran);
        yield* this.#out.end(ran, place);
        this.#input.push({ type: 'function_call_output', call_id: callId, output: ran.output });
      } else this.#input.push({ type: 'function_call_output', call_id: callId, output: TOO_MANY });
    }
    return isAsking;
  }

  /** A call that a person has allowed, which the model asked for in an earlier response. */
  async #approved(request: JsonObject): Promise<Shown> {
    const { functions } = this.#request;
    const by = [...functions.values()].find((each) => each.isChosenBy({ ...request, type: 'mcp' }));
    const args = textIn(request.arguments) || '{}';
    const call: HostedCall = {
      id: this.#deps.newItemId('mcp_call'),
      arguments: args,
      ordinal: this.#calls++,
      approvalId: textIn(request.id),
    };
    const begun = by?.begins(call).events ?? [];
    const ran = by
      ? await by.runs(call)
      : { item: { ...request, type: 'mcp_call', id: call.id, output: null, error: GONE }, events: [], output: GONE };
    this.#input.push(...asFunction({ id: call.id, name: by?.name ?? 'unknown', arguments: args, output: ran.output }));
    return { item: { ...ran.item, approval_request_id: request.id }, events: [...begun, ...ran.events] };
  }

  async *#end(last: JsonObject): AsyncGenerator<JsonObject> {
    if (last.status !== 'failed') await this.#deps.keep(this.shaped(last, true));
    const type = `response.${textIn(last.status) ?? 'completed'}`;
    yield this.#out.numbered({ type, response: this.shaped(last) });
  }
}

export const TOO_MANY = 'No more tools may be called; answer with what there is.';
const GONE = 'This tool is not there any more.';

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
