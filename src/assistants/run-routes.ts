import { fail, GatewayError } from '../core/errors.ts';
import { listOf } from '../core/list.ts';
import type { Principal } from '../core/principal.ts';
import type { Proofs } from '../guardrails/proof.ts';
import { headerOf } from '../http/headers.ts';
import { json } from '../http/reply.ts';
import { type Call, type CallAt, get, post, type Route } from '../http/route.ts';
import type { RunRow } from '../storage/schema.ts';
import { runHeaders } from './access.ts';
import { eventStream } from './runs/event-stream.ts';
import { BEGINNING, placeIn } from './runs/events.ts';
import { createRun, createThreadAndRun, include, submitToolOutputs, updateRun, wantsContent } from './runs/input.ts';
import { pollAfterMs, runObject, shownRun } from './runs/run.ts';
import type { Watchable } from './runs/runs.ts';
import { type ShowOptions, stepObject } from './runs/step.ts';
import type { Watch } from './runs/watch.ts';
import { type AssistantParts, onThread, page, reads, writes } from './shared-route.ts';

const included = () => page().pick({}).extend(include());
const stepPage = () => page().extend(include());

/** How a request wants to be told of its run. */
interface Asked extends ShowOptions {
  readonly stream?: boolean | null;
}

/** Runs of assistants: created, watched, answered and cancelled. */
export const runRoutes = ({ runs, virtualKeys, configs, proofs, principalOf }: AssistantParts): Route[] => {
  const workspace = (call: Call) => onThread(call, virtualKeys);
  const prove = ({ headers, log }: Call, who: Principal, kept: Readonly<Record<string, string>>) =>
    proofs.prove({ who, headers, kept, endpoint: 'chatComplete', log });
  const caller = async (call: Call) => {
    const { principal } = call;
    const headers = await runHeaders(call, { virtualKeys, configs });
    return { principal, headers, proofs: await prove(call, principal, headers) };
  };
  /**
   * A caller that gives outputs lets the run go on: what the guardrails of that caller demand is proven, and what those
   * of the run's own caller demand.
   */
  const proofsForRun = async (call: Call, row: RunRow): Promise<Proofs> => {
    const kept = JSON.parse(row.headers) as Record<string, string>;
    if (call.principal.keyId !== row.api_key_id) await prove(call, call.principal, kept);
    const who = await principalOf(row).catch(ifGone);
    return who ? prove(call, who, kept) : new Map();
  };
  const thread = (call: CallAt<'thread_id'>) => call.params.thread_id;
  const run = (call: CallAt<'run_id'>) => call.params.run_id;

  /** The run, or what happens in it from here on. */
  const answered = (call: Call, { run: row, from }: Watchable, { stream, withContent }: Asked): Response =>
    stream
      ? streamed(call, runs.watch({ runId: row.id, from, endsAtAction: true, withContent }))
      : shown(row, call.now);

  return [
    post(
      '/v1/threads/runs',
      { ...writes, summary: 'Begin a thread and run it', body: createThreadAndRun, response: runObject },
      async (call) => answered(call, await runs.createWithThread(await caller(call), call.body), call.body),
    ),
    post(
      '/v1/threads/:thread_id/runs',
      { ...writes, summary: 'Run a thread', query: included, body: createRun, response: runObject },
      async (call) => {
        const asked = { stream: call.body.stream, withContent: wantsContent(call.query) };
        return answered(call, await runs.create(await caller(call), thread(call), call.body), asked);
      },
    ),
    get(
      '/v1/threads/:thread_id/runs',
      { ...reads, summary: 'Runs of a thread', query: page, response: () => listOf(runObject) },
      async (call) => runs.list(await workspace(call), thread(call), call.query),
    ),
    get('/v1/threads/:thread_id/runs/:run_id', { ...reads, summary: 'One run', response: runObject }, async (call) =>
      shown(await runs.read(await workspace(call), thread(call), run(call)), call.now),
    ),
    post(
      '/v1/threads/:thread_id/runs/:run_id',
      { ...writes, summary: "Change a run's metadata", body: updateRun, response: runObject },
      async (call) => shown(await runs.update(await workspace(call), thread(call), run(call), call.body), call.now),
    ),
    post(
      '/v1/threads/:thread_id/runs/:run_id/cancel',
      { ...writes, summary: 'Cancel a run', response: runObject },
      async (call) => shown(await runs.cancel(await workspace(call), thread(call), run(call)), call.now),
    ),
    post(
      '/v1/threads/:thread_id/runs/:run_id/submit_tool_outputs',
      { ...writes, summary: 'Give a run what its functions answered', body: submitToolOutputs, response: runObject },
      async (call) => {
        const { tool_outputs } = call.body;
        const workspaceId = await workspace(call);
        const proven = await proofsForRun(call, await runs.read(workspaceId, thread(call), run(call)));
        const given = await runs.submit(workspaceId, thread(call), run(call), tool_outputs, proven);
        return answered(call, given, call.body);
      },
    ),
    get(
      '/v1/threads/:thread_id/runs/:run_id/events',
      {
        ...reads,
        summary: 'What happened in a run, and what happens: from its beginning, or from Last-Event-ID',
        query: included,
      },
      async (call) => {
        const { id } = await runs.read(await workspace(call), thread(call), run(call));
        const options = { from: lastEventOf(call), endsAtAction: false, withContent: wantsContent(call.query) };
        return streamed(call, runs.watch({ runId: id, ...options }));
      },
    ),
    get(
      '/v1/threads/:thread_id/runs/:run_id/steps',
      { ...reads, summary: 'Steps of a run', query: stepPage, response: () => listOf(stepObject) },
      async (call) => {
        const options = { query: call.query, withContent: wantsContent(call.query) };
        return runs.listSteps(await workspace(call), thread(call), run(call), options);
      },
    ),
    get(
      '/v1/threads/:thread_id/runs/:run_id/steps/:step_id',
      { ...reads, summary: 'One step of a run', query: included, response: stepObject },
      async (call) => {
        const step = { runId: run(call), stepId: call.params.step_id };
        return runs.readStep(await workspace(call), thread(call), step, { withContent: wantsContent(call.query) });
      },
    ),
  ];
};

/** A run whose caller is gone fails at its next call. */
function ifGone(error: unknown): null {
  if (error instanceof GatewayError && error.status === 401) return null;
  throw error;
}

/** Pollers of the vendor's clients wait as long as the answer says, and five seconds when it says nothing. */
function shown(row: RunRow, now: number): Response {
  const response = json(shownRun(row));
  const pollMs = pollAfterMs(row, now);
  if (pollMs !== null) response.headers.set('openai-poll-after-ms', String(pollMs));
  if (row.repeated_calls > 0) response.headers.set('x-gateway-repeated-calls', String(row.repeated_calls));
  return response;
}

/** The request is in the log until its last event; a client that leaves has left, whatever becomes of the run. */
function streamed({ log }: Call, watch: Watch): Response {
  log.isStream = true;
  log.closesLater = true;
  return eventStream(watch, () => log.close({ status: 200 }));
}

function lastEventOf({ headers }: Call) {
  const id = headerOf(headers, 'last-event-id');
  if (!id) return BEGINNING;
  const form = "give the id of an event of this run, such as '3.14', or leave the header out";
  return placeIn(id) ?? fail('invalid_header', 'last-event-id', form);
}
