import { includesBytes } from '../../core/bytes.ts';
import { fail, GatewayError } from '../../core/errors.ts';
import { newObjectId, type ObjectKind } from '../../core/object-ids.ts';
import type { Principal } from '../../core/principal.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject, objectIn, parsed, textIn } from '../../dialects/json.ts';
import { formatSse } from '../../dialects/sse.ts';
import type { Background, BackgroundOptions } from '../background/background.ts';
import type { OpenCall } from '../call.ts';
import type { CallModel } from '../internal.ts';
import type { ConversationKeeper, ResponseKeeper } from '../kept-response.ts';
import { choiceIn } from './choice.ts';
import { eventsIn } from './events.ts';
import { failureOf } from './failure.ts';
import type { HostedCaller, HostedTool } from './hosted-tool.ts';
import { HostedLoop, RoundFailed } from './loop.ts';
import { createPlain } from './plain.ts';
import { repeated } from './repeated-headers.ts';
import { decisionsIn, type HostedRequest, itemsOf, openTools } from './request.ts';

export interface HostedDeps {
  readonly callModel: () => CallModel;
  readonly responses: ResponseKeeper;
  readonly conversations: ConversationKeeper;
  /** Makes responses while no client waits. */
  readonly background: (parts: Pick<BackgroundOptions, 'openAgain' | 'newItemId'>) => Background;
  /** Unforeseen failures, for the operator. */
  readonly report: (requestId: string, error: unknown) => void;
}

/** Runs tools for calls of the Responses API, whatever model these ask. */
export interface Hosted {
  /** Makes a kind of tool known, by the type that requests name it with. */
  offer(type: string, tool: HostedTool): void;
  /** The answer to a call that asks for such a tool; null: it asks for none, and goes the usual way. */
  answer(call: OpenCall): Promise<Response | null>;
  /** The same for chat and messages, which have `mcp` alone. */
  answerPlain(call: OpenCall): Promise<Response | null>;
  /** The same for a call whose provider has no such tool: those that stand in for it. */
  standIn(call: OpenCall): Promise<Response | null>;
  /** The types of tools in a call that a provider without them need not leave out, because they run here then. */
  standingBy(call: OpenCall): Promise<ReadonlySet<string>>;
  readonly background: Background;
}

const GONE_ON_FROM = Buffer.from('"resp_gw');
const CONVERSATION = Buffer.from('"conversation"');
const BACKGROUND = Buffer.from('"background"');
const ITEM_IDS: Readonly<Record<string, ObjectKind>> = {
  file_search_call: 'fileSearchCall',
  code_interpreter_call: 'codeInterpreterCall',
  mcp_call: 'mcpCall',
  image_generation_call: 'imageGenerationCall',
  web_search_call: 'webSearchCall',
};

const newItemId = (item: string): string => newObjectId(ITEM_IDS[item] ?? 'responseItem');

export function createHosted({ callModel, responses, conversations, report, ...deps }: HostedDeps): Hosted {
  const offered = new Map<string, HostedTool>();
  const standIns = () => new Map([...offered].filter(([, { standsIn }]) => standsIn));
  const background = deps.background({
    newItemId,
    openAgain: async ({ body, isLeft, isWanted, isKept, traceId }, by) => {
      const caller: HostedCaller = { ...by, isWanted, isKept, isWork: false, ...(traceId && { traceId }) };
      return (await openTools(body, isLeft ? standIns() : offered, caller)) ?? withoutTools(body);
    },
  });
  /** Searched in bodies before these are parsed: nearly all have none of them. */
  const words: Uint8Array[] = [GONE_ON_FROM, CONVERSATION, BACKGROUND];

  const mayAsk = ({ body, isJson }: OpenCall): boolean =>
    isJson && body !== null && body.rest === null && words.some((word) => includesBytes(body.head, word));

  return {
    offer: (type, tool) => {
      offered.set(type, tool);
      words.push(Buffer.from(`"${type}"`));
    },
    answer: (call) => answered(call, offered, false),
    answerPlain: createPlain({ callModel, report, mcp: () => offered.get('mcp') ?? null }),
    standIn: (call) => answered(call, standIns(), true),
    standingBy: async (call) => {
      const types = new Set<string>();
      for (const [type, { isOn }] of mayAsk(call) ? offered : [])
        if (isOn && includesBytes(call.body!.head, Buffer.from(`"${type}"`)) && (await isOn(call.principal)))
          types.add(type);
      return types;
    },
    background,
  };

  async function answered(call: OpenCall, tools: ReadonlyMap<string, HostedTool>, isLeft: boolean) {
    if (!mayAsk(call)) return null;
    const choice = choiceIn(call.headers);
    const given = parsed(Buffer.from(call.body!.head).toString());
    if (choice === 'provider' || !isObject(given)) return null;
    const { principal: who, headers, proven, log } = call;
    const left = new AbortController();
    const signal = AbortSignal.any([call.request.signal, left.signal]);
    const conversation = conversationIn(given);
    const goesOn = textIn(given.previous_response_id)?.startsWith('resp_gw') ?? false;
    const isKept = goesOn || conversation !== null;
    const isWanted = isLeft || choice === 'gateway';
    const said = once(() => saidIn(who, given, conversation));
    const id = newObjectId('hostedResponse');
    const caller: HostedCaller = {
      ...{ who, responseId: id, headers, proven, signal, isWanted, isKept },
      traceId: call.stamp['x-gateway-trace-id'],
      trace: log.callTrace(),
      isWork: call.isWork === true,
      said: async () => {
        try {
          const { earlier, body } = await said();
          return [...earlier, ...itemsOf(body.input)];
        } catch (error) {
          // What it refers to may be the provider's.
          if (error instanceof GatewayError && error.status < 500) return itemsOf(given.input);
          throw error;
        }
      },
    };
    const opened = await openTools(given, tools, caller);
    if (!opened && !isKept && !(isLeft && given.background === true)) return null;
    const request = opened ?? withoutTools(given);
    const close = async () => {
      for (const each of request.closes) await each();
    };
    try {
      if (given.background !== true)
        return await play(call, id, request, { ...(await said()), conversation }, { left, signal, close });
      background.check(call, given);
      const whatWasSaid = await said();
      decisionsIn(whatWasSaid.earlier, itemsOf(whatWasSaid.body.input));
      await close();
      log.model = null;
      return await background.accept(call, id, {
        ...{ ...whatWasSaid, conversation, isLeft, isWanted, isKept },
        ...(caller.traceId && { traceId: caller.traceId }),
      });
    } catch (error) {
      await close();
      throw error;
    }
  }

  /** What was said before a request, and the request with references resolved. */
  async function saidIn(who: Principal, given: JsonObject, conversation: string | null) {
    const body = objectIn(await responses.resolved(who, given));
    const previousId = textIn(body.previous_response_id);
    const earlier = previousId
      ? await responses.items(who, previousId)
      : conversation === null
        ? []
        : await conversations.items(who, conversation);
    return { body, previousId, earlier };
  }

  async function play(call: OpenCall, id: string, asked: HostedRequest, said: Said, ends: Ends): Promise<Response> {
    const { principal: who, log } = call;
    const { left, signal, close } = ends;
    const { body, previousId, earlier, conversation } = said;
    const isStream = body.stream === true;
    // Each round has an entry of its own, with what it took.
    log.model = null;
    log.isStream = isStream;
    const loop = new HostedLoop(
      { ...asked, body },
      {
        id,
        earlier,
        ask: (round) =>
          callModel()({
            who,
            path: '/responses',
            body: JSON.stringify(round),
            headers: repeated(call.headers),
            signal,
            traceId: call.stamp['x-gateway-trace-id'],
            trace: log.callTrace(),
            proven: call.proven,
            providerKey: call.providerKey,
            isRound: true,
            route: '/v1/responses',
          }),
        events: eventsIn,
        keep: async (response) => {
          const traceId = call.stamp['x-gateway-trace-id'];
          const { input } = body;
          if (body.store !== false)
            await responses.create(who, {
              ...{ response, input, ...(previousId && { previousId }), ...(traceId && { traceId }) },
            });
          if (conversation !== null)
            await conversations.said(who, conversation, { input: body.input, output: response.output });
        },
        newItemId,
      },
    );
    const begun = await loop.start();
    if (begun instanceof Response) {
      await close();
      return begun;
    }
    const events = closing(begun, close);
    return isStream ? streamed(call, events, loop, left) : whole(events);
  }

  function streamed(call: OpenCall, events: AsyncGenerator<JsonObject>, loop: HostedLoop, left: AbortController) {
    const { log } = call;
    log.closesLater = true;
    const written = (event: JsonObject) =>
      Buffer.from(formatSse({ event: textIn(event.type), data: JSON.stringify(event) }));
    let number = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            const { value, done } = await events.next();
            if (number++ === 0) log.firstByte();
            if (!done) return controller.enqueue(written(value));
            log.close({ status: 200 });
          } catch (error) {
            if (call.request.signal.aborted)
              return log.close({ status: 200, failedBy: 'client', errorCode: 'client_closed' });
            const failure = await failureOf(error, call.stamp['x-gateway-request-id'] ?? '', report);
            controller.enqueue(
              written({
                type: 'response.failed',
                sequence_number: number,
                response: loop.failed(failure, Math.floor(Date.now() / 1_000)),
              }),
            );
            log.close({
              status: 200,
              failedBy: error instanceof RoundFailed ? 'provider' : 'gateway',
              errorCode: failure.code,
            });
          }
          controller.close();
        },
        cancel() {
          left.abort();
          // Its tools are closed by that.
          events.return(undefined).catch(() => {});
          log.close({ status: 200, failedBy: 'client', errorCode: 'client_closed' });
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, {
      headers: { ...call.stamp, 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
    });
  }
}

/** The conversation that a request goes on in. */
function conversationIn(body: JsonObject): string | null {
  const { conversation } = body;
  if (conversation === undefined || conversation === null) return null;
  const id = isObject(conversation) ? conversation.id : conversation;
  if (typeof id !== 'string') return fail('invalid_request', 'conversation', 'must be an id, or an object with one');
  if ((body.previous_response_id ?? null) !== null)
    fail('invalid_request', 'conversation', 'goes on by itself; leave previous_response_id out');
  return id;
}

/** What a response goes on from, and its request. */
interface Said {
  readonly body: JsonObject;
  readonly previousId: string | undefined;
  readonly earlier: readonly unknown[];
  readonly conversation: string | null;
}

/** How a response ends: the client leaves, or its tools are not needed any more. */
interface Ends {
  readonly left: AbortController;
  readonly signal: AbortSignal;
  readonly close: () => Promise<void>;
}

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | null = null;
  return () => {
    value ??= read();
    return value;
  };
}

async function* closing(events: AsyncGenerator<JsonObject>, close: () => Promise<void>): AsyncGenerator<JsonObject> {
  try {
    yield* events;
  } finally {
    await close();
  }
}

const withoutTools = (body: JsonObject): HostedRequest => ({
  body,
  functions: new Map(),
  types: new Set(),
  before: [],
  links: [],
  closes: [],
  tools: Array.isArray(body.tools) ? body.tools : [],
});

/** The response alone: what a round refused later on is answered as it was refused. */
async function whole(events: AsyncGenerator<JsonObject>): Promise<Response> {
  try {
    let last: JsonObject = {};
    for await (const event of events) last = event;
    return Response.json(last.response);
  } catch (error) {
    if (error instanceof RoundFailed) return error.response;
    throw error;
  }
}
