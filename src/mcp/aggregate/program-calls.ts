import { newId } from '../../core/ids.ts';
import { asGatewayError } from '../../http/reply.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { RequestLog } from '../../telemetry/request-log.ts';
import { loggedAs } from '../caller/caller.ts';
import { dataOf, EventCutter, EventTooLarge } from '../message/events.ts';
import { readMessages } from '../message/message.ts';
import { META } from '../message/versions.ts';
import { toldFailure } from '../relay/refusal.ts';
import type { McpServer } from '../server/server.ts';
import type { ClientRequest } from './client-request.ts';
import { MOST_ANSWER_BYTES } from './code-tools.ts';
import { type Client, isEventStream, isObject, type Json } from './conversation.ts';

export interface ProgramCallsDeps {
  /** Carries a call of a tool on, like every other. */
  readonly called: (asked: ClientRequest) => Promise<Response>;
  /** Those that the caller may call at this moment. */
  readonly serversOf: (client: Client) => Promise<readonly McpServer[]>;
  readonly log: Pick<RequestLog, 'open'>;
  readonly report: (requestId: string, error: unknown) => void;
  readonly now: () => number;
}

/** A program that runs for a client. */
export interface Running {
  readonly asked: ClientRequest;
  readonly signal: AbortSignal;
  /** Tells the client what a server asks it; null: the client cannot be asked. */
  readonly tell: ((event: Uint8Array) => Promise<void>) | null;
}

/** The answer was larger than a program gets. */
class TooLarge extends Error {}

/** Makes the calls of programs: each is a call of its own, with its own entry in the log. */
export function createProgramCalls({ called, serversOf, log, report, now }: ProgramCallsDeps) {
  /** The call as if the client had made it, under an id that no other call has. */
  const callOf = ({ asked, signal }: Running, requestId: string) => {
    const { call } = asked.client;
    const { path, clientAddress, stamp } = call;
    const trace = call.log.callTrace();
    const headers = trace
      ? { traceparent: trace.traceparent, ...(trace.tracestate !== null && { tracestate: trace.tracestate }) }
      : {};
    const entry = log.open({
      ...{ id: requestId, traceId: stamp['x-gateway-trace-id'] ?? call.requestId, method: 'POST', path, clientAddress },
      ...{ route: '/mcp', startedAt: now(), startedMono: performance.now(), isInternal: true, headers },
    });
    entry.provider = 'mcp';
    const inner: AnonymousCall = {
      ...call,
      request: new Request('http://gateway/mcp', { method: 'POST', signal }),
      ...{ requestId, log: entry, now: now() },
      identify: (known) => {
        entry.organisationId = known.organisationId;
        entry.workspaceId = known.workspaceId;
        entry.apiKeyId = known.keyId;
        entry.userId = known.userId;
      },
    };
    return { inner, entry };
  };

  const requestOf = ({ asked, tell }: Running, inner: AnonymousCall, name: string, given: string): ClientRequest => {
    const body = bodyOf(asked, inner.requestId, name, given);
    const [message] = readMessages(body, JSON_HEADERS);
    // A server that asks something is refused at once where no client would hear it.
    const capabilities = tell ? asked.client.capabilities : {};
    const client = { ...asked.client, call: inner, capabilities };
    return { ...asked, client, message: { ...message!, method: 'tools/call' }, body };
  };

  return async (running: Running, name: string, given: Uint8Array): Promise<Uint8Array> => {
    const text = objectIn(given);
    if (running.signal.aborted) return refusal('the program has ended');
    if (text === null) return refusal('the arguments are no JSON object');
    const requestId = newId<string>();
    const { inner, entry } = callOf(running, requestId);
    let body: Uint8Array | null = null;
    const failed = (error: unknown) => toldFailure(inner, error, { body, isOfRequest: () => true, isKeptAlive: true });
    try {
      const response = await (async () => {
        try {
          const { client } = running.asked;
          inner.identify(loggedAs(client.caller));
          await client.again();
          const asked = { ...running.asked, servers: await serversOf(client) };
          const request = requestOf({ ...running, asked }, inner, name, text);
          body = request.body;
          return await called(request);
        } catch (error) {
          return failed(error);
        }
      })();
      if (!entry.closesLater) entry.close({ status: response.status });
      return await answerIn(response, running);
    } catch (error) {
      if (error instanceof TooLarge || error instanceof EventTooLarge)
        return refusal(`the answer has more than ${MOST_ANSWER_BYTES} bytes, which is more than a program gets`);
      const failure = asGatewayError(error, requestId);
      entry.close({ status: failure.status, failedBy: 'gateway', errorCode: failure.code });
      if (failure.code === 'internal_error' && !running.signal.aborted) report(requestId, error);
      return refusal(failure.message, failure.status);
    }
  };
}

const JSON_HEADERS = { 'content-type': 'application/json' };

const refusal = (message: string, code = -32_602): Uint8Array =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));

/** The text of arguments that are an object of JSON, as code wrote them; null: they are something else. */
function objectIn(given: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(given);
    return isObject(JSON.parse(text)) ? text : null;
  } catch {
    return null;
  }
}

/** The message of one call. What a stateless client says of itself goes along, but that it can be asked. */
function bodyOf({ isNewer, message }: ClientRequest, id: string, name: string, given: string): Uint8Array {
  const said = isObject(message.params._meta) ? message.params._meta : {};
  const { progressToken: _, ...kept } = said;
  const _meta: Json = { ...kept, [`${META}/clientCapabilities`]: {} };
  const meta = isNewer ? `,"_meta":${JSON.stringify(_meta)}` : '';
  const params = `{"name":${JSON.stringify(name)},"arguments":${given}${meta}}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":${params}}`);
}

/** The answer to a call, as a message. What a server asks before it answers goes to the client. */
async function answerIn(response: Response, running: Running): Promise<Uint8Array> {
  const bytes = isEventStream(response) ? await streamedAnswer(response, running) : await wholeAnswer(response);
  const message = bytes && parsed(bytes);
  if (message && ('result' in message || isObject(message.error))) return bytes;
  return refusal(`the server answered ${response.status}, and no message of MCP with it`, response.status);
}

async function wholeAnswer(response: Response): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += piece.byteLength;
    if (size > MOST_ANSWER_BYTES) throw new TooLarge();
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function streamedAnswer(response: Response, { tell }: Running): Promise<Uint8Array | null> {
  const cutter = new EventCutter({ mostBytes: MOST_ANSWER_BYTES });
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>)
    for (const event of cutter.push(piece)) {
      const data = dataOf(event);
      const message = data ? parsed(Buffer.from(data)) : null;
      if (!message) continue;
      if (typeof message.method !== 'string') return Buffer.from(data!);
      // Progress of a call that the client did not make would tell it nothing.
      if (message.method !== 'notifications/progress') await tell?.(event);
    }
  return null;
}

function parsed(bytes: Uint8Array): Json | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
