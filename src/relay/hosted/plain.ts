import { includesBytes } from '../../core/bytes.ts';
import { fail } from '../../core/errors.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { isObject, objectIn, objectsIn, parsed, textIn } from '../../dialects/json.ts';
import { formatSse } from '../../dialects/sse.ts';
import { asGatewayError } from '../../http/reply.ts';
import { mayEscapeLetters, mayNameMcp } from '../body-words.ts';
import type { OpenCall } from '../call.ts';
import type { CallModel } from '../internal.ts';
import { ChatDialogue } from './chat-dialogue.ts';
import { choiceIn } from './choice.ts';
import { type Dialogue, playRounds } from './dialogue.ts';
import type { HostedCaller, HostedFunction, HostedTool } from './hosted-tool.ts';
import { RoundFailed } from './loop.ts';
import { MessagesDialogue, type NamedTool } from './messages-dialogue.ts';
import { type AskedServer, type PlainRequest, readChat, readMessages } from './plain-request.ts';
import { repeated } from './repeated-headers.ts';

export interface PlainDeps {
  readonly callModel: () => CallModel;
  readonly report: (requestId: string, error: unknown) => void;
  /** Null: no area offers it. */
  readonly mcp: () => HostedTool | null;
}

/** An API whose calls can name registered MCP servers. */
interface PlainForm {
  readonly path: '/chat/completions' | '/messages';
  /** Searched in bodies before these are parsed: nearly all have none of it. */
  readonly word: Uint8Array;
  readonly read: (body: JsonObject) => PlainRequest | null;
  readonly dialogue: (request: PlainRequest, opened: Opened) => Dialogue;
  readonly written: (event: JsonObject) => string;
  readonly failed: (failure: Failure) => string;
  readonly last: string;
}

interface Opened {
  readonly functions: ReadonlyMap<string, HostedFunction>;
  readonly names: ReadonlyMap<string, NamedTool>;
  readonly close: () => Promise<void>;
}

interface Failure {
  readonly type: string;
  readonly code: string;
  readonly message: string;
}

const FORMS: Readonly<Record<string, PlainForm>> = {
  chatComplete: {
    path: '/chat/completions',
    word: Buffer.from('"mcp"'),
    read: readChat,
    dialogue: ({ body, tools }, { functions }) => new ChatDialogue(body, tools, functions),
    written: (event) => formatSse({ data: JSON.stringify(event) }),
    failed: ({ type, code, message }) =>
      formatSse({ data: JSON.stringify({ error: { message, type, param: null, code } }) }),
    last: formatSse({ data: '[DONE]' }),
  },
  messages: {
    path: '/messages',
    word: Buffer.from('"mcp_toolset"'),
    read: readMessages,
    dialogue: ({ body, tools }, { functions, names }) => new MessagesDialogue(body, tools, functions, names),
    written: (event) => formatSse({ event: textIn(event.type), data: JSON.stringify(event) }),
    failed: ({ message }) =>
      formatSse({ event: 'error', data: JSON.stringify({ type: 'error', error: { type: 'api_error', message } }) }),
    last: '',
  },
};

/** Answers calls of chat and messages that name registered MCP servers; null: a call names none. */
export function createPlain({ callModel, report, mcp }: PlainDeps) {
  return async (call: OpenCall): Promise<Response | null> => {
    const form = FORMS[call.endpoint];
    const { body, isJson } = call;
    const tool = mcp();
    if (!form || !tool || call.form || !isJson || body === null || body.rest !== null) return null;
    if (!mayNameMcp(body) || !(includesBytes(body.head, form.word) || mayEscapeLetters(body))) return null;
    const choice = choiceIn(call.headers);
    const given = parsed(Buffer.from(body.head).toString());
    const request = choice === 'provider' || !isObject(given) ? null : form.read(given);
    if (!request) return null;
    const left = new AbortController();
    const signal = AbortSignal.any([call.request.signal, left.signal]);
    const { principal: who, headers, proven, log } = call;
    const traceId = call.stamp['x-gateway-trace-id'];
    const caller: HostedCaller = {
      ...{ who, headers, proven, signal, traceId, isWanted: true, isKept: false, isWork: call.isWork === true },
      responseId: '',
      said: async () => [],
    };
    const opened = await openServers(request, tool, caller);
    try {
      const dialogue = form.dialogue(request, opened);
      const ask = (round: JsonObject) =>
        callModel()({
          ...{ who, signal, proven, path: form.path, body: JSON.stringify(round), headers: repeated(headers) },
          ...{ traceId, trace: log.callTrace() },
          ...{ providerKey: call.providerKey, isRound: true, route: `/v1${form.path}` },
        });
      // Each round has an entry of its own, with what it took.
      log.model = null;
      log.isStream = request.body.stream === true;
      const first = await ask(dialogue.asks({ isFirst: true, isLast: false }));
      if (!first.ok) {
        await opened.close();
        return first;
      }
      const events = closing(playRounds(first, dialogue, ask), opened.close);
      return log.isStream ? streamed(call, events, form, left) : await whole(events, dialogue);
    } catch (error) {
      await opened.close();
      throw error;
    }
  };

  function streamed(call: OpenCall, events: AsyncGenerator<JsonObject>, form: PlainForm, left: AbortController) {
    const { log } = call;
    log.closesLater = true;
    let isBegun = false;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const put = (text: string) => text && controller.enqueue(Buffer.from(text));
          try {
            const { value, done } = await events.next();
            if (!isBegun) log.firstByte();
            isBegun = true;
            if (!done) return void put(form.written(value));
            put(form.last);
            log.close({ status: 200 });
          } catch (error) {
            if (call.request.signal.aborted)
              return log.close({ status: 200, failedBy: 'client', errorCode: 'client_closed' });
            const failure = await failureOf(error, call);
            put(form.failed(failure));
            const failedBy = error instanceof RoundFailed ? 'provider' : 'gateway';
            log.close({ status: 200, failedBy, errorCode: failure.code });
          }
          controller.close();
        },
        cancel() {
          left.abort();
          // Its servers are left by that.
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

  async function failureOf(error: unknown, call: OpenCall): Promise<Failure> {
    if (error instanceof RoundFailed) {
      const told = objectIn(objectIn(parsed(await error.response.text())).error);
      const code = error.response.status === 429 ? 'rate_limit_exceeded' : 'server_error';
      return { type: 'server_error', code, message: textIn(told.message) ?? error.message };
    }
    const requestId = call.stamp['x-gateway-request-id'] ?? '';
    const { code, message } = asGatewayError(error, requestId);
    if (code === 'internal_error') report(requestId, error);
    return { type: 'server_error', code, message };
  }
}

async function openServers(request: PlainRequest, tool: HostedTool, caller: HostedCaller): Promise<Opened> {
  const closes: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const each of closes.splice(0)) await each();
  };
  const functions = new Map<string, HostedFunction>();
  const names = new Map<string, NamedTool>();
  try {
    for (const server of request.servers) {
      const made = await tool.open(server.tool, server.at, caller);
      if (!made) return fail('invalid_request', server.at, 'names no registered MCP server');
      if (made.close) closes.push(made.close);
      for (const each of made.functions) take(each, server, { functions, names });
    }
    for (const [index, { name, function: inner }] of objectsIn(request.tools).entries())
      if (functions.has(textIn(name ?? objectIn(inner).name) ?? ''))
        fail('invalid_request', `tools[${index}].name`, 'is the name of a tool that the gateway runs; choose another');
    return { functions, names, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function take(
  each: HostedFunction,
  server: AskedServer,
  { functions, names }: { functions: Map<string, HostedFunction>; names: Map<string, NamedTool> },
) {
  const call = { id: '', arguments: '{}', ordinal: 0 };
  const { item } = each.begins(call);
  const named = { server: textIn(item.server_label) ?? '', tool: textIn(item.name) ?? '' };
  if (!server.has(named.tool)) return;
  // Nothing of a call is kept between two requests, so that no person can be asked in the meantime.
  if (each.asks?.(call))
    fail(
      'invalid_request',
      `${server.at}.require_approval`,
      'must be "never" here: a person can be asked in /v1/responses alone',
    );
  if (functions.has(each.name)) fail('invalid_request', server.at, `gives the model "${each.name}" a second time`);
  functions.set(each.name, each);
  names.set(each.name, named);
}

async function* closing(events: AsyncGenerator<JsonObject>, close: () => Promise<void>): AsyncGenerator<JsonObject> {
  try {
    yield* events;
  } finally {
    await close();
  }
}

/** The answer alone: what a round refused later on is answered as it was refused. */
async function whole(events: AsyncGenerator<JsonObject>, dialogue: Dialogue): Promise<Response> {
  try {
    for await (const _ of events);
    return Response.json(dialogue.whole());
  } catch (error) {
    if (error instanceof RoundFailed) return error.response;
    throw error;
  }
}
