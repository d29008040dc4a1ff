import { GatewayError } from '../../core/errors.ts';
import type { Principal, WorkCaller } from '../../core/principal.ts';
import type { CallModel } from '../../relay/internal.ts';
import type { RunCallRow, RunRow, RunStepRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import { type Lease, LeaseLost, ShuttingDown, WorkCancelled } from '../../work/work.ts';
import type { Mark } from './annotations.ts';
import { Answer, messageDelta, outputsDelta, stepDelta } from './answer.ts';
import { isBuiltIn, placeOf } from './built-in.ts';
import type { RunBus } from './bus.ts';
import { type CallUsage, endCall, lastCallOf, openedBy, repeatCall, startCall, usageOfStep } from './calls.ts';
import { citablesIn, citationMark } from './citations.ts';
import type { DeltaWriter } from './delta-writer.ts';
import { type Ending, endRun, failure } from './ending.ts';
import { forgetPieces, type Tell } from './events.ts';
import { failRun, RunEnds } from './failures.ts';
import { Journal } from './journal.ts';
import { type Piece, readAnswer } from './model-answer.ts';
import { openMessage, openToolStep, type Parts } from './parts.ts';
import { buildPrompt, type Prompt, type PromptDeps } from './prompt.ts';
import { changeRun, openStepOf, putStep, runById, stepsOf } from './rows.ts';
import { bodyOf, isActive, type RequiredAction, shownRun, usageOf } from './run.ts';
import { settleAnswer } from './settling.ts';
import { detailsOf, type Exchange, exchangesOf, shownStep, type ToolCall } from './step.ts';

export interface ExecutionDeps extends PromptDeps {
  readonly bus: RunBus;
  readonly deltas: DeltaWriter;
  readonly callModel: CallModel;
  /** Throws 401 when whoever began the run is gone or has expired. */
  readonly principalOf: (caller: WorkCaller) => Promise<Principal>;
  readonly now: () => number;
  /** A call was made that may have been made before. */
  readonly onRepeated: () => void;
}

/** A model that calls tools for ever is stopped. */
const MOST_CALLS = 64;
/** How often a call is made whose outcome nobody knows. */
const MOST_ATTEMPTS = 2;
const ROUTE = '/v1/threads/:thread_id/runs';
/** When something else than its time woke a run that waits, as clocks that differ do. */
const LOOK_AGAIN_MS = 250;

/** Steps on the way to an answer: a power cut may take them back with the answer, and then they are taken again. */
const AGAIN_IF_LOST = { flush: 'later' } as const;

/** What is to be done next: ask the model, or use the tools that it has called. */
type Turn = { readonly type: 'ask'; readonly call: RunCallRow } | { readonly type: 'use'; readonly step: RunStepRow };

/** One stay of a run with one node: from its lease to its end, to a question for the client, or to the loss of the lease. */
export class Execution {
  readonly #lease: Lease;
  readonly #deps: ExecutionDeps;
  readonly #journal: Journal;
  readonly #expired = new AbortController();
  readonly #signal: AbortSignal;
  #run!: RunRow;
  /** The call under way, and what those who watch know to be open. */
  #call: RunCallRow | null = null;
  #opened: 'message' | 'tools' | null = null;
  #prompt: Prompt | null = null;
  #answer: Answer | null = null;

  constructor(lease: Lease, deps: ExecutionDeps) {
    this.#lease = lease;
    this.#deps = deps;
    this.#journal = new Journal({ lease, bus: deps.bus, deltas: deps.deltas });
    this.#signal = AbortSignal.any([lease.signal, this.#expired.signal]);
  }

  async carryOut(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      let turn = await this.#journal.commit((db, tell) => this.#begin(db, tell), AGAIN_IF_LOST);
      if (turn) timer = setTimeout(() => this.#expired.abort(), Math.max(0, this.#run.expires_at - this.#deps.now()));
      while (turn) turn = turn.type === 'ask' ? await this.#ask(turn.call) : await this.#useTools(turn.step);
    } catch (error) {
      await this.#endBy(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Finds out where the run stands, whoever had it before. */
  async #begin(db: Db, tell: Tell): Promise<Turn | null> {
    const { now } = this.#deps;
    if (!(await this.#look(db))) return this.#leave(db);
    const run = this.#run;
    if (run.status === 'cancelling') return this.#end(db, tell, { status: 'cancelled' });
    if (run.expires_at <= now()) return this.#end(db, tell, { status: 'expired' });
    if (run.status === 'requires_action') {
      await this.#lease.reschedule(db, { afterMs: Math.max(LOOK_AGAIN_MS, run.expires_at - now()) });
      return null;
    }
    if (run.status === 'queued') {
      this.#run = await changeRun(db, run, { status: 'in_progress', started_at: now() });
      tell('thread.run.in_progress', shownRun(this.#run));
    }
    return this.#nextTurn(db, tell);
  }

  /** Reads the run: a transaction that is tried again begins with what is there, not with what it last made of it. */
  async #look(db: Db): Promise<boolean> {
    const run = await runById(db, this.#lease.work.ref);
    if (run) this.#run = run;
    return run !== undefined && isActive(run);
  }

  async #nextTurn(db: Db, tell: Tell): Promise<Turn | null> {
    const { fence } = this.#lease.work;
    const start = { runId: this.#run.id, fence, now: this.#deps.now() };
    const last = await lastCallOf(db, this.#run.id);
    if (last?.state === 'started') {
      // The same fence: this transaction was committed before, and nobody was told.
      if (last.fence === fence) return { type: 'ask', call: last };
      if (last.attempt >= MOST_ATTEMPTS) return this.#end(db, tell, failure('server_error', LOST_TWICE));
      const change = { repeated_calls: this.#run.repeated_calls + 1 };
      this.#run = await changeRun(db, this.#run, change);
      await forgetPieces(db, this.#run.id, last.number);
      this.#opened = await openedBy(db, this.#run.id);
      return { type: 'ask', call: await repeatCall(db, last, start) };
    }
    const open = await openStepOf(db, this.#run.id);
    if (open) return { type: 'use', step: open };
    const number = (last?.number ?? 0) + 1;
    if (number > MOST_CALLS) return this.#end(db, tell, failure('server_error', TOO_MANY_CALLS));
    return { type: 'ask', call: await startCall(db, number, start) };
  }

  /** One call of the model. */
  async #ask(call: RunCallRow): Promise<Turn | null> {
    const { callModel, principalOf } = this.#deps;
    const run = this.#run;
    const body = bodyOf(run);
    const builtIn = new Set<string>(body.tools.map(({ type }) => type).filter(isBuiltIn));
    if (call.attempt > 1) this.#deps.onRepeated();
    this.#call = call;
    this.#answer = new Answer({
      typeOf: (name) => (builtIn.has(name) ? (name as ToolCall['type']) : 'function'),
      isParallel: body.parallel_tool_calls,
      marks: await this.#marks(builtIn),
    });
    const who = await principalOf(run).catch(explainMissing);
    this.#prompt = await buildPrompt(run, call, this.#deps);
    const { 'x-gateway-trace-id': traceId = run.id, ...headers } = JSON.parse(run.headers) as Record<string, string>;
    const response = await callModel({
      who,
      path: '/chat/completions',
      body: this.#prompt.body,
      headers,
      signal: this.#signal,
      traceId,
      route: ROUTE,
    });
    this.#signal.throwIfAborted();
    for await (const piece of readAnswer(response)) await this.#hear(piece, call, this.#answer);
    await this.#tellText(this.#answer.endText(), call);
    const usage = await this.#usage();
    const turn = await this.#journal.commit((db, tell) => this.#settle(db, tell, usage));
    this.#opened = null;
    this.#call = null;
    return turn;
  }

  /** What in the text of the model refers to what it was shown, and to what it has made. */
  async #marks(builtIn: ReadonlySet<string>): Promise<Mark[]> {
    const { store, builtIns } = this.#deps;
    const run = this.#run;
    const marks: Mark[] = [];
    if (builtIn.has('file_search')) marks.push(citationMark(citablesIn(await stepsOf(store.db, run.id))));
    if (builtIn.has('code_interpreter'))
      marks.push(...((await builtIns.code_interpreter?.marks?.(placeOf(run))) ?? []));
    return marks;
  }

  async #hear(piece: Piece, call: RunCallRow, answer: Answer): Promise<void> {
    switch (piece.type) {
      case 'finish':
        answer.finish = piece.reason;
        return;
      case 'usage':
        answer.usage = piece;
        return;
      case 'call': {
        const delta = answer.call(piece);
        // Behind a message that is still being told, calls wait for its end.
        if (!delta || this.#opened === 'message') return;
        if (!this.#opened) await this.#open('tools', openToolStep);
        return this.#journal.piece(call.number, 'thread.run.step.delta', stepDelta(call.tool_step_id, [delta]));
      }
      case 'text':
      case 'refusal':
        return this.#tellText(answer.say(piece), call);
      default:
        piece satisfies never;
    }
  }

  async #tellText(delta: object | null, call: RunCallRow): Promise<void> {
    if (!delta || this.#opened === 'tools') return;
    if (!this.#opened) await this.#open('message', openMessage);
    this.#journal.piece(call.number, 'thread.message.delta', messageDelta(call.message_id, [delta]));
  }

  async #open(what: 'message' | 'tools', open: (parts: Parts) => Promise<void>): Promise<void> {
    await this.#journal.commit((db, tell) => open(this.#parts(db, tell)), AGAIN_IF_LOST);
    this.#opened = what;
  }

  #parts(db: Db, tell: Tell): Parts {
    return { db, tell, run: this.#run, call: this.#call!, now: this.#deps.now() };
  }

  /** The whole answer is there: what it means for the run, in one transaction. */
  async #settle(db: Db, tell: Tell, taken: CallUsage): Promise<Turn | null> {
    await this.#look(db);
    if (this.#run.expires_at <= this.#deps.now()) throw new RunEnds({ status: 'expired' });
    this.#run = await endCall(db, this.#run, this.#call!, taken);
    const usage = usageOf(taken.prompt_tokens, taken.completion_tokens);
    const settled = { answer: this.#answer!, usage, opened: this.#opened };
    const consequence = await settleAnswer(this.#parts(db, tell), settled);
    if (consequence.type === 'end') return this.#end(db, tell, consequence.ending);
    return consequence.type === 'use' ? consequence : this.#askClient(db, tell, exchangesOf(consequence.step));
  }

  /** Nobody holds a lease while the client works; when it has not answered in time, the run expires. */
  async #askClient(db: Db, tell: Tell, exchanges: readonly Exchange[]): Promise<null> {
    const action: RequiredAction = {
      type: 'submit_tool_outputs',
      submit_tool_outputs: { tool_calls: exchanges.filter(({ type }) => type === 'function').map(asked) },
    };
    const change = { status: 'requires_action', required_action: JSON.stringify(action) };
    this.#run = await changeRun(db, this.#run, change);
    tell('thread.run.requires_action', shownRun(this.#run));
    await this.#lease.reschedule(db, { afterMs: Math.max(0, this.#run.expires_at - this.#deps.now()) });
    return null;
  }

  /** Carries out what the gateway does itself; what is the client's to do comes after it. */
  async #useTools(step: RunStepRow): Promise<Turn | null> {
    const { store, builtIns } = this.#deps;
    const run = this.#run;
    const exchanges = exchangesOf(step);
    const details = detailsOf(step);
    const shown = details.type === 'tool_calls' ? [...details.tool_calls] : [];
    const before = (await stepsOf(store.db, run.id)).filter(({ id }) => id < step.id).flatMap(exchangesOf).length;
    for (const [index, exchange] of exchanges.entries()) {
      if (!isBuiltIn(exchange.type) || exchange.output !== null) continue;
      const builtIn =
        builtIns[exchange.type] ?? failRun('server_error', `This gateway has no ${exchange.type} any more.`);
      const result = await builtIn.carryOut({
        id: exchange.id,
        ordinal: before + index,
        arguments: exchange.arguments,
        ...placeOf(run),
        runId: run.id,
        run: bodyOf(run),
        signal: this.#signal,
      });
      this.#signal.throwIfAborted();
      shown[index] = result.shown;
      const delta = outputsDelta(index, result.shown);
      if (delta) this.#journal.piece(step.call, 'thread.run.step.delta', stepDelta(step.id, [delta]));
      exchanges[index] = { ...exchange, output: result.output, citables: result.citables };
    }
    return this.#journal.commit((db, tell) => this.#settleTools(db, tell, { step, shown, exchanges }));
  }

  async #settleTools(
    db: Db,
    tell: Tell,
    { step, shown, exchanges }: { step: RunStepRow; shown: ToolCall[]; exchanges: Exchange[] },
  ): Promise<Turn | null> {
    await this.#look(db);
    const used: RunStepRow = {
      ...step,
      details: JSON.stringify({ type: 'tool_calls', tool_calls: shown }),
      exchange: JSON.stringify(exchanges),
    };
    if (exchanges.some(({ output }) => output === null)) {
      await putStep(db, used);
      return this.#askClient(db, tell, exchanges);
    }
    const done = { status: 'completed', completed_at: this.#deps.now() };
    const usage = JSON.stringify(await usageOfStep(db, step));
    const completed = await putStep(db, { ...used, ...done, usage });
    tell('thread.run.step.completed', shownStep(completed, this.#run));
    return this.#nextTurn(db, tell);
  }

  /** The numbers of the provider; without them, what was sent and said is counted here. Nothing for a call never made. */
  async #usage(): Promise<CallUsage> {
    const answer = this.#answer;
    if (answer?.usage) return { ...usageOf(answer.usage.prompt, answer.usage.completion), isEstimated: false };
    if (!this.#prompt || !answer || (answer.isEmpty && answer.finish === null))
      return { ...usageOf(0, 0), isEstimated: false };
    const [said] = await this.#deps.tokens.count(bodyOf(this.#run).model, [answer.said]);
    return { ...usageOf(await this.#prompt.tokens(), said!), isEstimated: true };
  }

  /** What went wrong, or was asked for, decides how the run ends; what only this node suffers is left to the next one. */
  async #endBy(error: unknown): Promise<void> {
    const { reason } = this.#lease.signal;
    if (error instanceof LeaseLost || reason instanceof LeaseLost || reason instanceof ShuttingDown) throw error;
    const isCancelled = reason instanceof WorkCancelled;
    let ending: Ending | null = error instanceof RunEnds ? error.ending : null;
    if (this.#expired.signal.aborted) ending = { status: 'expired' };
    if (isCancelled) ending = { status: 'cancelled' };
    if (!ending) throw error;
    const usage = await this.#usage();
    await this.#journal.commit(
      async (db, tell) => {
        if (!(await this.#look(db))) return this.#leave(db);
        const isLate = this.#run.status === 'cancelling' && ending.status !== 'expired';
        if (this.#call) this.#run = await endCall(db, this.#run, this.#call, usage);
        return this.#end(db, tell, isLate ? { status: 'cancelled' } : ending);
      },
      { evenWhenCancelled: true },
    );
  }

  async #end(db: Db, tell: Tell, ending: Ending): Promise<null> {
    await endRun(db, this.#run, ending, { tell, now: this.#deps.now() });
    return this.#leave(db);
  }

  async #leave(db: Db): Promise<null> {
    await this.#lease.done(db);
    return null;
  }
}

const asked = ({ id, name, arguments: text }: Exchange) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: text },
});

function explainMissing(error: unknown): never {
  const isGone = error instanceof GatewayError && error.status === 401;
  if (isGone) failRun('server_error', CALLER_IS_GONE);
  throw error;
}

const LOST_TWICE = 'The gateway was interrupted twice while it called the model.';
const TOO_MANY_CALLS = `The model called tools ${MOST_CALLS} times without coming to an end.`;
const CALLER_IS_GONE = 'The API key, user or machine that began this run was removed or has expired.';
