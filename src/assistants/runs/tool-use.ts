import type { WorkProofs } from '../../relay/work-proofs.ts';
import type { RunRow, RunStepRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { outputsDelta } from './answer.ts';
import { type BuiltInResult, type BuiltInTools, isBuiltIn, placeOf } from './built-in.ts';
import { usageOfStep } from './calls.ts';
import { failRun } from './failures.ts';
import { callsOf, type QuestionDeps } from './question.ts';
import { putStep, stepsOf } from './rows.ts';
import { bodyOf } from './run.ts';
import { detailsOf, type Exchange, exchangesOf, type ToolCall } from './step.ts';
import { type AddSpan, toolSpans, traceOf } from './tracing.ts';

export interface ToolUseDeps {
  readonly run: RunRow;
  readonly store: Store;
  readonly builtIns: BuiltInTools;
  readonly proofs: Pick<WorkProofs, 'open'>;
  readonly principalOf: QuestionDeps['principalOf'];
  readonly signal: AbortSignal;
  /** What a call has brought about, for those who watch. */
  readonly onOutput: (delta: object) => void;
  /** Null: nothing is traced. */
  readonly addSpan: AddSpan | null;
  readonly now: () => number;
}

/** What came of the calls of a step that are the gateway's to carry out; the client's still have no output. */
export interface ToolUse {
  readonly step: RunStepRow;
  readonly shown: readonly ToolCall[];
  readonly exchanges: readonly Exchange[];
}

/** Carries out what the gateway does itself. */
export async function useTools(step: RunStepRow, deps: ToolUseDeps): Promise<ToolUse> {
  const { run, store, signal, onOutput, addSpan, now } = deps;
  const trace = addSpan && traceOf(run);
  const exchanges = exchangesOf(step);
  const details = detailsOf(step);
  const shown = details.type === 'tool_calls' ? [...details.tool_calls] : [];
  const before = (await stepsOf(store.db, run.id)).filter(({ id }) => id < step.id).flatMap(exchangesOf).length;
  for (const [index, exchange] of exchanges.entries()) {
    if (!isBuiltIn(exchange.type) || exchange.output !== null) continue;
    const builtIn =
      deps.builtIns[exchange.type] ?? failRun('server_error', `This gateway has no ${exchange.type} any more.`);
    const { id, arguments: text } = exchange;
    const call = { id, ordinal: before + index, arguments: text, runId: run.id, run: bodyOf(run), signal };
    const caller = { ...callsOf(run, deps.proofs), who: () => deps.principalOf(run) };
    const { proven } = caller;
    const startedAt = now();
    const used = (result: BuiltInResult | null) => {
      if (!addSpan || !trace) return;
      for (const span of toolSpans(trace, exchange, { ordinal: call.ordinal, startedAt, endedAt: now(), result }))
        addSpan(span);
    };
    const result = await builtIn.carryOut({ ...call, ...placeOf(run), proven, caller }).catch((error) => {
      used(null);
      throw error;
    });
    used(result);
    signal.throwIfAborted();
    shown[index] = result.shown;
    const delta = outputsDelta(index, result.shown);
    if (delta) onOutput(delta);
    exchanges[index] = { ...exchange, output: result.output, citables: result.citables };
  }
  return { step, shown, exchanges };
}

/** The step with what came of it: completed, unless the client is still to do something. */
export async function storeToolUse(db: Db, { step, shown, exchanges }: ToolUse, now: number): Promise<RunStepRow> {
  const used: RunStepRow = {
    ...step,
    details: JSON.stringify({ type: 'tool_calls', tool_calls: shown }),
    exchange: JSON.stringify(exchanges),
  };
  if (exchanges.some(({ output }) => output === null)) return putStep(db, used);
  const usage = JSON.stringify(await usageOfStep(db, step));
  return putStep(db, { ...used, status: 'completed', completed_at: now, usage });
}
