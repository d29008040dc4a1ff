import type { RunStepRow } from '../../storage/schema.ts';
import type { Answer } from './answer.ts';
import { isBuiltIn } from './built-in.ts';
import type { CallUsage } from './calls.ts';
import { type Ending, failure } from './ending.ts';
import { finishCutToolStep, finishMessage, type Parts, storeLateMessage, storeToolStep, withdraw } from './parts.ts';
import { bodyOf, usageOf } from './run.ts';

/** What a whole answer means for its run. */
export type Consequence =
  | { readonly type: 'end'; readonly ending: Ending }
  /** There are calls that the gateway carries out itself. */
  | { readonly type: 'use'; readonly step: RunStepRow }
  | { readonly type: 'ask-client'; readonly step: RunStepRow };

export interface Settled {
  readonly answer: Answer;
  readonly taken: CallUsage;
  /** What those who watch were told has begun, by this attempt or one before it. */
  readonly opened: 'message' | 'tools' | null;
}

const FILTERED = 'The content filter of the provider stopped the answer.';

/** Puts what the model said where it belongs. */
export async function settleAnswer(parts: Parts, settled: Settled): Promise<Consequence> {
  const { answer } = settled;
  if (answer.fault) return ends(failure('server_error', answer.fault));
  const isCalling = answer.exchanges.length > 0 && answer.finish !== 'length';
  return isCalling ? settleCalls(parts, settled) : settleText(parts, settled);
}

async function settleCalls(parts: Parts, { answer, taken, opened }: Settled): Promise<Consequence> {
  const usage = shownUsage(taken);
  if (answer.hasText && opened === 'tools') await storeLateMessage(parts, answer, usage);
  else if (answer.hasText)
    await finishMessage(parts, { answer, usage, isOpen: opened === 'message', incomplete: null });
  else if (opened === 'message') await withdraw(parts, opened);
  const step = await storeToolStep(parts, answer, opened === 'tools');
  const overrun = overrunOf(parts, taken);
  if (overrun) {
    await finishCutToolStep(parts, answer, usage);
    return ends(overrun);
  }
  return { type: answer.exchanges.some(({ type }) => isBuiltIn(type)) ? 'use' : 'ask-client', step };
}

async function settleText(parts: Parts, { answer, taken, opened }: Settled): Promise<Consequence> {
  const usage = shownUsage(taken);
  const isCut = answer.finish === 'length';
  const isFiltered = answer.finish === 'content_filter';
  const hasCutCalls = answer.exchanges.length > 0;
  if (opened === 'tools' && hasCutCalls) await finishCutToolStep(parts, answer, usage);
  else if (opened === 'tools') await withdraw(parts, opened);
  // What was cut or filtered before its first word is no message; an answer that is empty and whole is one.
  if (answer.hasText || !(isCut || isFiltered)) {
    const incomplete = isCut ? 'max_tokens' : isFiltered ? 'content_filter' : null;
    await finishMessage(parts, { answer, usage, isOpen: opened === 'message', incomplete });
  } else if (opened === 'message') await withdraw(parts, opened);
  if (isCut) return ends({ status: 'incomplete', reason: 'max_completion_tokens' });
  if (isFiltered && !answer.hasText) return ends(failure('invalid_prompt', FILTERED));
  return ends(overrunOf(parts, taken) ?? { status: 'completed' });
}

/**
 * How a run ends of which its provider reports more tokens than the client allowed; the sums of the run have this call
 * in them. An estimate of the gateway's own is rather too high, and ends no run.
 */
function overrunOf({ run }: Parts, { isEstimated }: CallUsage): Ending | null {
  const { max_completion_tokens: mostSaid, max_prompt_tokens: mostAsked } = bodyOf(run);
  if (isEstimated) return null;
  if (mostSaid !== null && run.completion_tokens > mostSaid)
    return { status: 'incomplete', reason: 'max_completion_tokens' };
  if (mostAsked !== null && run.prompt_tokens > mostAsked) return { status: 'incomplete', reason: 'max_prompt_tokens' };
  return null;
}

const shownUsage = ({ prompt_tokens, completion_tokens }: CallUsage) => usageOf(prompt_tokens, completion_tokens);

const ends = (ending: Ending): Consequence => ({ type: 'end', ending });
