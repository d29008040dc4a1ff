import type { RunCallRow, RunRow, RunStepRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import { patiently } from '../../work/patiently.ts';
import { type Lease, LeaseLost, ShuttingDown, WorkCancelled } from '../../work/work.ts';
import { type Answer, messageDelta, stepDelta } from './answer.ts';
import type { RunBus } from './bus.ts';
import { type CallUsage, endCall, lastCallOf, openedBy, repeatCall, startCall } from './calls.ts';
import type { DeltaWriter } from './delta-writer.ts';
import { type Ending, endRun, failure } from './ending.ts';
import { forgetPieces, type Tell } from './events.ts';
import { RunEnds } from './failures.ts';
import { Journal } from './journal.ts';
import { type Piece, readAnswer } from './model-answer.ts';
import { openMessage, openToolStep, type Parts } from './parts.ts';
import { prepareQuestion, type Question, type QuestionDeps, sendQuestion, usageSoFar } from './question.ts';
import { changeRun, openStepOf, runById } from './rows.ts';
import { isActive, type RequiredAction, shownRun } from './run.ts';
import { settleAnswer } from './settling.ts';
import { type Exchange, exchangesOf, shownStep } from './step.ts';
import { storeToolUse, type ToolUse, useTools } from './tool-use.ts';
import { type AddSpan, runSpan } from './tracing.ts';

export interface ExecutionDeps extends QuestionDeps {
  readonly bus: RunBus;
  readonly deltas: DeltaWriter;
  readonly now: () => number;
  /** Null: nothing is traced. */
  readonly addSpan: AddSpan | null;
  /** A call was made that may have been made before. */
  readonly onRepeated: () => void;
}

/** A model that calls tools for ever is stopped. */
const MOST_CALLS = 64;
/** How often a call is made whose outcome is unknown. */
const MOST_ATTEMPTS = 2;
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
  /** Whether this attempt has told of the images in front of its message. */
  #hasShown = false;
  #question: Question | null = null;
  /** As it ended, once that is committed. */
  #ended: RunRow | null = null;

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
    const span = this.#deps.addSpan && this.#ended && runSpan(this.#ended);
    if (span) this.#deps.addSpan?.(span);
  }

  /** Finds out where the run stands, whichever node had it before. */
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
    const start = { runId: this.#run.id, threadId: this.#run.thread_id, fence, now: this.#deps.now() };
    const last = await lastCallOf(db, this.#run.id);
    if (last?.state === 'started') {
      // The same fence: this transaction was committed before, but its answer was lost on the way.
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
    if (last?.number === MOST_CALLS) return this.#end(db, tell, failure('server_error', TOO_MANY_CALLS));
    return { type: 'ask', call: await startCall(db, last, start) };
  }

  /** One call of the model. */
  async #ask(call: RunCallRow): Promise<Turn | null> {
    if (call.attempt > 1) this.#deps.onRepeated();
    this.#call = call;
    this.#hasShown = false;
    const question = await patiently(this.#signal, () => prepareQuestion(this.#run, call, this.#deps));
    const { answer } = question;
    this.#question = question;
    const response = await sendQuestion(question, this.#deps, this.#signal);
    this.#signal.throwIfAborted();
    for await (const piece of readAnswer(response)) await this.#hear(piece, call, answer);
    await this.#tellText(answer.endText(), call);
    const usage = await usageSoFar(question, this.#deps);
    const turn = await this.#journal.commit((db, tell) => this.#settle(db, tell, answer, usage));
    this.#opened = null;
    this.#call = null;
    this.#question = null;
    return turn;
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
    const images = this.#hasShown ? [] : this.#question!.answer.imageDeltas;
    this.#hasShown = true;
    if (images.length > 0)
      this.#journal.piece(call.number, 'thread.message.delta', messageDelta(call.message_id, images));
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
  async #settle(db: Db, tell: Tell, answer: Answer, taken: CallUsage): Promise<Turn | null> {
    await this.#look(db);
    if (this.#run.expires_at <= this.#deps.now()) throw new RunEnds({ status: 'expired' });
    this.#run = await endCall(db, this.#run, this.#call!, taken);
    const consequence = await settleAnswer(this.#parts(db, tell), { answer, taken, opened: this.#opened });
    if (consequence.type === 'end') return this.#end(db, tell, consequence.ending);
    return consequence.type === 'use' ? consequence : this.#askClient(db, tell, exchangesOf(consequence.step));
  }

  /** No node holds a lease while the client works; if the client has not answered in time, the run expires. */
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
    const onOutput = (delta: object) =>
      this.#journal.piece(step.call, 'thread.run.step.delta', stepDelta(step.id, [delta]));
    const use = await useTools(step, { ...this.#deps, run: this.#run, signal: this.#signal, onOutput });
    return this.#journal.commit((db, tell) => this.#settleTools(db, tell, use));
  }

  async #settleTools(db: Db, tell: Tell, use: ToolUse): Promise<Turn | null> {
    await this.#look(db);
    const step = await storeToolUse(db, use, this.#deps.now());
    if (step.status !== 'completed') return this.#askClient(db, tell, use.exchanges);
    tell('thread.run.step.completed', shownStep(step, this.#run));
    return this.#nextTurn(db, tell);
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
    const usage = await usageSoFar(this.#question, this.#deps);
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
    this.#ended = await endRun(db, this.#run, ending, { tell, now: this.#deps.now() });
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

const LOST_TWICE = 'The gateway was interrupted twice while it called the model.';
const TOO_MANY_CALLS = `The model called tools ${MOST_CALLS} times without coming to an end.`;
