import { GatewayError } from '../../core/errors.ts';
import type { Principal, WorkCaller } from '../../core/principal.ts';
import type { CallModel } from '../../relay/internal.ts';
import type { WorkProofs } from '../../relay/work-proofs.ts';
import type { RunCallRow, RunRow, RunStepRow } from '../../storage/schema.ts';
import type { Mark } from './annotations.ts';
import { Answer } from './answer.ts';
import { isBuiltIn, placeOf } from './built-in.ts';
import type { CallUsage } from './calls.ts';
import { citablesIn, citationMark } from './citations.ts';
import { failRun } from './failures.ts';
import { buildPrompt, type Prompt, type PromptDeps } from './prompt.ts';
import { stepsOf } from './rows.ts';
import { bodyOf, usageOf } from './run.ts';
import { detailsOf, type ToolCall } from './step.ts';
import { parentOfCalls } from './tracing.ts';

export interface QuestionDeps extends PromptDeps {
  readonly callModel: CallModel;
  readonly proofs: Pick<WorkProofs, 'open'>;
  /** Throws 401 when the caller that began the run is gone or has expired. */
  readonly principalOf: (caller: WorkCaller) => Promise<Principal>;
}

/** What one call asks the model, for whom, and what has come of it so far. */
export interface Question {
  readonly run: RunRow;
  readonly who: Principal;
  readonly prompt: Prompt;
  readonly answer: Answer;
}

const ROUTE = '/v1/threads/:thread_id/runs';
const CALLER_IS_GONE = 'The API key, user or machine that began this run was removed or has expired.';

/** Everything that is needed before the model is called; nothing has left the gateway yet. */
export async function prepareQuestion(run: RunRow, call: RunCallRow, deps: QuestionDeps): Promise<Question> {
  const { tools, parallel_tool_calls } = bodyOf(run);
  const builtIn = new Set<string>(tools.map(({ type }) => type).filter(isBuiltIn));
  const answer = new Answer({
    typeOf: (name) => (builtIn.has(name) ? (name as ToolCall['type']) : 'function'),
    isParallel: parallel_tool_calls,
    marks: await marksOf(run, builtIn, deps),
    images: builtIn.has('code_interpreter') ? imagesShown(await stepsOf(deps.store.db, run.id), call.number) : [],
  });
  const who = await deps.principalOf(run).catch(explainMissing);
  return { run, who, prompt: await buildPrompt(run, call, deps), answer };
}

export function sendQuestion(
  { run, who, prompt }: Question,
  { callModel, proofs }: Pick<QuestionDeps, 'callModel' | 'proofs'>,
  signal: AbortSignal,
) {
  return callModel({
    ...callsOf(run, proofs),
    who,
    path: '/chat/completions',
    body: prompt.body,
    hopesForUsage: true,
    signal,
  });
}

/** What all calls of models have that are made for a run. */
export function callsOf(run: RunRow, proofs: QuestionDeps['proofs']) {
  const {
    'x-gateway-trace-id': traceId = run.id,
    traceparent: _,
    tracestate: __,
    ...headers
  } = JSON.parse(run.headers) as Record<string, string>;
  const proven = proofs.open(run.id, run.proofs);
  return { headers, proven, traceId, trace: parentOfCalls(run), sessionId: run.thread_id, route: ROUTE };
}

/** The numbers of the provider; without them, what was sent and said is counted here. Nothing for a call never made. */
export async function usageSoFar(
  question: Question | null,
  { tokens }: Pick<PromptDeps, 'tokens'>,
): Promise<CallUsage> {
  if (question?.answer.usage) {
    const { prompt, completion } = question.answer.usage;
    return { ...usageOf(prompt, completion), isEstimated: false };
  }
  if (!question || (question.answer.isEmpty && question.answer.finish === null))
    return { ...usageOf(0, 0), isEstimated: false };
  const { run, prompt, answer } = question;
  const [said] = await tokens.count(bodyOf(run).model, [answer.said]);
  return { ...usageOf(await prompt.tokens(), said!), isEstimated: true };
}

/** What code has shown since the last message of the run, in its order. */
function imagesShown(steps: readonly RunStepRow[], call: number): string[] {
  const before = steps.filter((step) => step.call < call).map(detailsOf);
  const said = before.findLastIndex(({ type }) => type === 'message_creation');
  return before
    .slice(said + 1)
    .flatMap((details) =>
      details.type === 'tool_calls'
        ? details.tool_calls.flatMap((used) => (used.type === 'code_interpreter' ? used.code_interpreter.outputs : []))
        : [],
    )
    .flatMap((output) => (output.type === 'image' ? [output.image.file_id] : []));
}

/** What in the text of the model refers to what it was shown, and to what it has made. */
async function marksOf(run: RunRow, builtIn: ReadonlySet<string>, { store, builtIns }: PromptDeps): Promise<Mark[]> {
  const marks: Mark[] = [];
  if (builtIn.has('file_search')) marks.push(citationMark(citablesIn(await stepsOf(store.db, run.id))));
  if (builtIn.has('code_interpreter')) marks.push(...((await builtIns.code_interpreter?.marks?.(placeOf(run))) ?? []));
  return marks;
}

function explainMissing(error: unknown): never {
  const isGone = error instanceof GatewayError && error.status === 401;
  if (isGone) failRun('server_error', CALLER_IS_GONE);
  throw error;
}
