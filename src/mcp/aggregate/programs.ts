import type { CodeRunner } from '../../core/code-runner.ts';
import { sha256 } from '../../crypto/seal.ts';
import { headerOf } from '../../http/headers.ts';
import { asGatewayError } from '../../http/reply.ts';
import type { Changes } from '../../storage/changes.ts';
import type { Store } from '../../storage/store.ts';
import { RpcError, type RpcId } from '../message/rpc-error.ts';
import { failedBy } from '../message/rpc-outcome.ts';
import type { OpenStreams } from '../relay/open-streams.ts';
import type { ClientRequest } from './client-request.ts';
import { MOST_ARGUMENT_BYTES, MOST_CALLS, MOST_PARALLEL, programText, readCode } from './code-tools.ts';
import { type Client, isObject, type Json } from './conversation.ts';
import { resultFor } from './greeting.ts';
import { createOutlet } from './outlet.ts';
import { createProgramCalls, type ProgramCallsDeps, type Running } from './program-calls.ts';
import { eventWith } from './resuming.ts';
import { toolResult } from './search-tools.ts';

export interface ProgramsDeps extends ProgramCallsDeps {
  readonly runner: CodeRunner;
  /** Functions that the code may call, and the tools behind them; and the servers that did not answer. */
  readonly functionsFor: (
    asked: ClientRequest,
    code: string,
  ) => Promise<{ readonly functions: Readonly<Record<string, string>>; readonly missing: Json }>;
  readonly openStreams: OpenStreams;
  readonly changes: Pick<Changes, 'notify' | 'onNotify'>;
  readonly store: Store;
}

const BOUNDS = { mostCalls: MOST_CALLS, mostParallel: MOST_PARALLEL, mostBytes: MOST_ARGUMENT_BYTES };
const CHANNEL = 'gateway_mcp_programs_ended';

/** Programs of models that call tools of many servers. */
export function createPrograms(deps: ProgramsDeps) {
  const { runner, openStreams, changes, store } = deps;
  const makeCall = createProgramCalls(deps);
  /** Those that run on this node, by session and by request. */
  const running = new Map<string, Set<AbortController>>();
  const end = (key: string) => {
    for (const controller of running.get(key) ?? []) controller.abort();
  };
  changes.onNotify(CHANNEL, (key) => {
    if (key !== null) end(key);
  });

  const watched = (asked: ClientRequest, controller: AbortController): (() => void) => {
    const { client, message } = asked;
    if (client.session === '') return () => {};
    const keys = [sessionKey(client), requestKey(client, message.id)];
    for (const key of keys) running.set(key, (running.get(key) ?? new Set()).add(controller));
    return () => {
      for (const key of keys) {
        running.get(key)?.delete(controller);
        if (running.get(key)?.size === 0) running.delete(key);
      }
    };
  };

  /** Runs the program. Answers the result of the tool `run_code`. */
  const run = async ({ asked, signal, tell }: Running, code: string, began: (name: string) => void): Promise<Json> => {
    const { functions, missing } = await deps.functionsFor(asked, code);
    const ending = new AbortController();
    const whole = AbortSignal.any([signal, ending.signal]);
    const underWay: string[] = [];
    let count = 0;
    let answered = 0;
    const call = async (name: string, given: Uint8Array) => {
      count++;
      underWay.push(name);
      began(name);
      const told = await makeCall({ asked, signal: whole, tell }, name, given);
      if (!whole.aborted) {
        answered++;
        underWay.splice(underWay.indexOf(name), 1);
      }
      return told;
    };
    const tools = { ...BOUNDS, functions, call };
    const { log } = asked.client.call;
    try {
      const ended = await runner.run({ workspaceId: asked.client.caller.workspaceId, code, tools, signal });
      log.metadata = { ...log.metadata, 'mcp.calls': String(count), 'mcp.ended': ended.how };
      const away = Object.keys(missing).length > 0 ? `\nServers that did not answer: ${JSON.stringify(missing)}` : '';
      const text = programText(ended, { answered, underWay: [...underWay] }, runner) + away;
      return toolResult(text, ended.how !== 'well');
    } finally {
      // Calls that the program did not wait for.
      ending.abort();
    }
  };

  const answered = ({ message, isNewer }: ClientRequest, result: Json): Json => ({
    ...{ jsonrpc: '2.0', id: message.id },
    result: { ...result, ...(isNewer && { resultType: 'complete' }) },
  });

  /** What goes wrong before a program runs is no result of it. */
  const failure = ({ client, message }: ClientRequest, error: unknown) => {
    const told = asGatewayError(error, client.call.requestId);
    if (told.code === 'internal_error') deps.report(client.call.requestId, error);
    const body =
      told instanceof RpcError ? told.body() : new RpcError(told, { id: message.id, code: told.status }).body();
    return { body, status: told.status, code: told.code };
  };

  /** In a stream, so that servers can ask the client, and the client learns of each call. */
  const streamed = (asked: ClientRequest, code: string): Response => {
    const { client, message } = asked;
    const controller = new AbortController();
    const out = createOutlet(client, openStreams, { isEndless: false });
    const unwatch = watched(asked, controller);
    const signal = AbortSignal.any([client.call.request.signal, out.signal, controller.signal]);
    const token = isObject(message.params._meta) ? message.params._meta.progressToken : undefined;
    let progress = 0;
    const began = (name: string) => {
      const params = { progressToken: token, progress: ++progress, message: `calls ${name.slice(0, 80)}` };
      if (token !== undefined)
        void out.send(eventWith({ jsonrpc: '2.0', method: 'notifications/progress', params })).catch(() => {});
    };
    const tell = asked.isNewer ? null : (event: Uint8Array) => out.send(event.slice());
    const work = async () => {
      try {
        const result = await run({ asked, signal, tell }, code, began);
        const errorCode = result.isError ? 'tool_error' : null;
        await out.finish(eventWith(answered(asked, result)), {
          status: 200,
          failedBy: failedBy(200, errorCode),
          errorCode,
        });
      } catch (error) {
        if (controller.signal.aborted) return out.finish(null, CANCELLED);
        if (signal.aborted) return;
        const { body, status, code: errorCode } = failure(asked, error);
        await out.finish(eventWith(body), { status, failedBy: 'gateway', errorCode });
      } finally {
        unwatch();
      }
    };
    out.begin(Buffer.from(': running\n\n'));
    void work();
    return out.response;
  };

  /** For a client that takes one message: nothing can be asked of it meanwhile. */
  const whole = async (asked: ClientRequest, code: string): Promise<Response> => {
    const { client } = asked;
    const controller = new AbortController();
    const unwatch = watched(asked, controller);
    const unwatchRight = openStreams.watch({ again: client.again, cut: () => controller.abort() });
    const signal = AbortSignal.any([client.call.request.signal, controller.signal]);
    try {
      const { result } = answered(asked, await run({ asked, signal, tell: null }, code, () => {}));
      const errorCode = (result as Json).isError ? 'tool_error' : null;
      client.call.log.close({ status: 200, failedBy: failedBy(200, errorCode), errorCode });
      return resultFor(asked.message.id, result as Json);
    } catch (error) {
      if (!controller.signal.aborted) throw error;
      await client.again();
      client.call.log.close(CANCELLED);
      return new Response(null, { status: 204 });
    } finally {
      unwatch();
      unwatchRight();
    }
  };

  const tellAll = async (key: string) => {
    end(key);
    await changes.notify(store.db, CHANNEL, key).catch(() => {});
  };

  return {
    /** Answers `run_code`. */
    run: (asked: ClientRequest): Promise<Response> | Response => {
      const code = readCode(asked.message.params.arguments, runner);
      asked.client.call.log.model = 'run_code';
      const takesStream = /\btext\/event-stream\b/i.test(headerOf(asked.client.call.headers, 'accept') ?? '');
      return takesStream ? streamed(asked, code) : whole(asked, code);
    },

    /** The client does not want the answer to a request any more. */
    cancelled: async (client: Client, { requestId }: Json) => {
      if (client.session !== '' && (typeof requestId === 'string' || typeof requestId === 'number'))
        await tellAll(requestKey(client, requestId));
    },

    /** The client has ended its session. */
    left: (client: Client) => tellAll(sessionKey(client)),
  };
}

export type Programs = ReturnType<typeof createPrograms>;

const CANCELLED = { status: 499, failedBy: 'client', errorCode: 'client_closed' } as const;

/** Nodes tell each other of them, so they say nothing of who it is. */
const sessionKey = ({ caller, session }: Client): string => sha256(`${caller.id}\n${session}`);
const requestKey = ({ caller, session }: Client, id: RpcId): string =>
  sha256(`${caller.id}\n${session}\n${JSON.stringify(id)}`);
